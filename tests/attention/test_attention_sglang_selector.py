"""SGLang 0.5.23 answers as its own argument resolution did."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kvgate.architecture import parse
from kvgate.attention.sglang.model import Model, model_facts
from kvgate.attention.sglang.rows import RESULTS, answer
from kvgate.errors import InputError

HERE = Path(__file__).resolve().parent
GOLDEN = HERE.parent / "golden" / "sglang-selector.jsonl"
SHARED = HERE.parents[1] / "../shared"
ENGINE = "sglang==0.5.23"


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _table() -> tuple[dict[str, Any], list[list[Any]]]:
    lines = GOLDEN.read_text(encoding="utf-8").splitlines()
    return json.loads(lines[0]), [json.loads(line) for line in lines[1:]]


def _models(header: dict[str, Any]) -> dict[str, Model]:
    return {name: Model(**facts) for name, facts in header["models"].items()}


def _said(row: dict[str, Any], model: Model, sm: str) -> dict[str, Any]:
    told = answer(row, model, sm, ENGINE)
    told.pop("unknown", None)
    told.pop("then_fails", None)  # the oracle built no backend
    return told


def test_every_distinct_outcome_of_the_release_is_ours() -> None:
    header, rows = _table()
    models, texts = _models(header), header["texts"]
    assert len(rows) > 1700
    for name, sm, asked, came in rows:
        row = {k: v for k, v in zip(header["asked"], asked, strict=False) if v is not None}
        told = _said({**row, "gpu_mib": header["gpu_mib"][sm]}, models[name], sm)
        columns = header["refusal" if isinstance(came[0], int) else "settings"]
        wanted = {k: v for k, v in zip(columns, came, strict=False) if v is not None}
        if "error" in told:
            told["error"] = texts.index(_short(told["error"]))
        if "warn" in told:
            told["warn"] = [texts.index(_short(text)) for text in told["warn"]]
        assert told == wanted, (name, sm, row)


def _oracle() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    path = SHARED / "oracle" / "sglang_selector_0.5.23.jsonl"
    if not path.exists():
        pytest.skip("the shared facts are not beside this checkout")
    with path.open(encoding="utf-8") as lines:
        header = json.loads(next(lines))
        for line in lines:
            yield header, json.loads(line)


def test_every_row_of_the_oracle_is_ours_on_every_sm() -> None:
    models = _models(_table()[0])
    equal = 0
    for header, row in _oracle():
        wanted = {name: row[name] for name in RESULTS if name in row}
        if "error" in wanted:
            wanted["error"] = header["errors"][wanted["error"]]
        if "warn" in wanted:
            wanted["warn"] = [header["warnings"][key] for key in wanted["warn"]]
        asked = {k: v for k, v in row.items() if k.endswith("_in") or k in ("spec", "ext")}
        for sm in row["sm"]:
            memory = {"gpu_mib": header["gpu_mib_by_sm"][sm]}
            assert _said(asked | memory, models[row["model"]], sm) == wanted, (row, sm)
            equal += 1
    assert equal > 21_000


def test_the_facts_of_the_table_are_what_the_parser_reads_from_the_configs() -> None:
    header, _ = next(_oracle())
    known = _models(_table()[0])
    compared = 0
    for name, model_id in header["models"].items():
        config = SHARED / "data" / "configs" / f"{model_id.replace('/', '--')}.json"
        if not config.exists():
            continue
        try:
            architecture = parse(json.loads(config.read_text(encoding="utf-8")), id=model_id)
        except InputError:
            continue  # said by the parser's own tests
        assert model_facts(architecture) == known[name], model_id
        compared += 1
    assert compared > 25
