"""Add a released model to the catalogue, from its config.json.

    python scripts/add_model.py config.json --id org/name --source repo:path@commit --date DAY
    python scripts/add_model.py --batch FOLDER

A batch reads every ``<org>--<name>.json`` of a folder and the table of sources in its ``INDEX.md``,
and writes the catalogue anew. Only the facts that kvgate computes with are kept; the config itself
is not. ``notes.toml`` beside the entries lists other names, and files that are no released model.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from kvgate.architecture import parse, read_json
from kvgate.architecture.serial import dump
from kvgate.errors import InputError

_QUANTIZED = re.compile(r"FP8|FP4|NVFP4|AWQ|GPTQ|INT4|INT8|W4A16|W8A8", re.IGNORECASE)
CATALOG = Path(__file__).resolve().parent.parent / "kvgate" / "catalog" / "models"


def main() -> int:
    arguments = _arguments()
    notes = tomllib.loads((CATALOG / "notes.toml").read_text(encoding="utf-8"))
    try:
        if arguments.batch:
            return _batch(arguments.batch, notes)
        path = Path(arguments.config)
        quant = path.with_name("hf_quant_config.json")
        _write(
            arguments.id,
            _read(path),
            _read(quant) if quant.exists() else None,
            source=arguments.source,
            date=arguments.date,
        )
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    _write_index(notes)
    print(
        f"{arguments.id} is in the catalogue\n"
        "next: make test, approve the answers that it names, a line in changes/ (catalogue)"
    )
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("config", nargs="?", help="the model's config.json")
    parser.add_argument("--id", help="the model's Hugging Face id, org/name")
    parser.add_argument("--source", help="where the config was read: repo:path@commit")
    parser.add_argument("--date", help="when it was read: YYYY-MM-DD")
    parser.add_argument("--batch", type=Path, help="a folder of configs with an INDEX.md")
    arguments = parser.parse_args()
    if not arguments.batch:
        lacking = [n for n in ("config", "id", "source", "date") if not getattr(arguments, n)]
        if lacking:
            parser.error(f"without --batch, say {', '.join(lacking)}")
    return arguments


def _batch(folder: Path, notes: dict[str, Any]) -> int:
    index = (folder / "INDEX.md").read_text(encoding="utf-8")
    found = re.search(r"\d{4}-\d\d-\d\d", index)
    date = found.group() if found else ""
    refused = 0
    for path in sorted(folder.glob("*.json")):
        if path.name.endswith(".hf_quant_config.json"):
            continue
        model = path.stem.replace("--", "/", 1)
        if model in notes["skip"]:
            continue
        row = re.search(rf"^\| {re.escape(path.name)} \| ([^|]*) \|", index, re.MULTILINE)
        changed = notes["set"].get(model, {})
        nulls = {key: None for key, value in changed.items() if value == "null"}
        config = {**_read(path), **changed, **nulls}
        if "text_config" in changed:  # of a wrapper's text part, only what is wrong is set
            config["text_config"] = {**_read(path)["text_config"], **changed["text_config"]}
        try:
            _write(model, config, _beside(path), source=row.group(1) if row else "", date=date)
        except InputError as error:
            refused += 1
            print(f"refused: {error}", file=sys.stderr)
    _write_index(notes)
    return 2 if refused else 0


def _beside(path: Path) -> dict[str, Any] | None:
    """The quantisation file of a config in a batch: ``<org>--<name>.hf_quant_config.json``."""
    quant = path.with_suffix(".hf_quant_config.json")
    return _read(quant) if quant.exists() else None


def _read(path: Path) -> dict[str, Any]:
    return read_json(path.read_text(encoding="utf-8"), path=str(path))


def _write(
    model: str, config: dict[str, Any], quant: dict[str, Any] | None, *, source: str, date: str
) -> None:
    architecture = parse(config, id=model, hf_quant_config=quant)
    if architecture.quantization is None and _QUANTIZED.search(model):
        # ModelOpt writes the quantisation into a file of its own, which the source does not have.
        unread = (
            "its quantisation was not read: the weights' dtype and the KV cache's are the base "
            "model's here"
        )
        architecture = replace(
            architecture,
            parts=(),
            not_counted=("bytes of weights: its quantisation was not read",),
            notes=(*architecture.notes, unread),
        )
    entry = {"source": source, "date": date, "architecture": dump(architecture)}
    path = CATALOG / f"{model.replace('/', '--')}.json"
    path.write_text(_json(entry), encoding="utf-8")


def _write_index(notes: dict[str, Any]) -> None:
    """Every entry's id and its other names: what `kvgate.catalog.models` looks a name up in."""
    ids = sorted(
        (
            path.stem.replace("--", "/", 1)
            for path in CATALOG.glob("*.json")
            if path.stem != "index"
        ),
        key=str.casefold,
    )
    listed = {model: notes["aliases"].get(model, []) for model in ids}
    names = [name for others in notes["aliases"].values() for name in others]
    twice = sorted({name for name in names if name in listed or names.count(name) > 1})
    if twice:
        raise InputError(f"notes.toml gives {twice[0]} twice, or it has an entry of its own")
    for model in notes["aliases"]:
        if model not in listed:
            print(f"notes.toml gives other names for {model}, which has no entry", file=sys.stderr)
    (CATALOG / "index.json").write_text(_json({"models": listed}), encoding="utf-8")


def _json(value: Any) -> str:
    """One line for each group and each field, so that a change of one reads as one in a diff."""
    text = json.dumps(value, ensure_ascii=False, indent=1)
    lines = re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda m: f"[{_flat(m.group(1))}]", text)
    lines = re.sub(r"\{\n {4,}([^{}]*?)\s+\}", lambda m: f"{{{_flat(m.group(1))}}}", lines)
    return lines + "\n"


def _flat(text: str) -> str:
    return re.sub(r",\s*\n\s*", ", ", text)


if __name__ == "__main__":
    sys.exit(main())
