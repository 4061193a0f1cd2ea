"""Flipping a cell of SGLang's catalogue entry makes a row of the golden tables fail."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kvgate.attention.sglang import Query, pipeline, resolve
from kvgate.attention.sglang.model import Model
from kvgate.attention.sglang.release import Rules, rules
from kvgate.attention.sglang.rows import flags_of

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
VERSION = "0.5.23"
SAMPLE = 40
# Architectures whose hook is a rule of its own: the table's row only tells a reader of it.
_BY_RULE = (
    "Deepseek",
    "Glm",
    "KimiK3",
    "MiniMaxM3",
    "NemotronH",
    "Qwen3Next",
    "Qwen3VL",
    "Qwen3_5",
)


def _questions() -> list[Query]:
    """Every question of the golden tables; other tests hold the answers against the release's."""
    lines = (GOLDEN / "sglang-selector.jsonl").read_text(encoding="utf-8").splitlines()
    header = json.loads(lines[0])
    asked = []
    for line in lines[1:]:
        name, sm, values, _ = json.loads(line)
        row = {k: v for k, v in zip(header["asked"], values, strict=False) if v is not None}
        asked.append((name, sm, flags_of(row)))
    rest = (GOLDEN / "sglang-releases.jsonl").read_text(encoding="utf-8").splitlines()
    models = header["models"] | json.loads(rest[0])["models"]
    for line in rest[1:]:
        version, name, sm, flags, _ = json.loads(line)
        if version == VERSION:
            asked.append((name, sm, flags))
    found = []
    for name, sm, flags in asked:
        major, minor = map(int, sm.split("."))
        memory = header["gpu_mib"][sm]
        model = Model(**models[name])
        found.append(Query(model, (major, minor), f"sglang=={VERSION}", flags, memory))
    return found


def _cells(data: dict[str, Any], spoken: set[str], served: set[str]) -> Iterator[tuple[str, ...]]:
    """The cells that the questions reach.

    The rest (architectures whose config nobody gave us, and messages that no question draws out)
    is guarded by the digest of the whole entry alone.
    """
    for key in sorted(spoken):
        for inside in ("text", "sets"):
            if inside in data["texts"][key]:
                yield ("texts", key, inside)
    yield from (("texts", key, "majors") for key in sorted(spoken) if key.endswith("_sm"))
    for name in sorted(served & data["hooks"].keys()):
        if not name.startswith(_BY_RULE):
            yield ("hooks", name)
    for name in ("deterministic", "hybrid_gdn", "hybrid_gdn_sm120"):
        yield ("choices", name)
    for name in ("deepseek", "mamba_radix", "mla", "multimodal", "sparse_mla"):
        yield ("architectures", name)


def _flip(data: dict[str, Any], cell: tuple[str, ...]) -> None:
    section, key, *inside = cell
    if section == "hooks":
        for row in data["hooks"][key]:
            row["gives"] = {name: _other(value) for name, value in row["gives"].items()}
    elif not inside:
        data[section][key] = []
    elif inside[0] == "text":
        data["texts"][key]["text"] += "."
    elif inside[0] == "sets":
        sets = data["texts"][key]["sets"]
        data["texts"][key]["sets"] = {name: _other(value) for name, value in sets.items()}
    else:
        data["texts"][key]["majors"].pop()


def _other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    return value * 2 if isinstance(value, int) else f"{value}x"


def _mutant(known: Rules, cell: tuple[str, ...]) -> Rules:
    data = copy.deepcopy(known.data)
    _flip(data, cell)
    return replace(known, data=data)


def _notices(query: Query, told: str) -> bool:
    try:
        return str(resolve(query)) != told
    except (KeyError, IndexError, ValueError, TypeError):
        return True


def test_flipping_a_sampled_cell_makes_a_golden_row_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    known = rules(f"sglang=={VERSION}")
    spoken: set[str] = set()
    speak = Rules.text

    def listen(self: Rules, key: str, values: dict[str, Any]) -> str:
        spoken.add(key)
        return speak(self, key, values)

    questions = _questions()
    with monkeypatch.context() as patch:
        patch.setattr(Rules, "text", listen)
        told = [str(resolve(query)) for query in questions]
    cells = list(_cells(known.data, spoken, {query.model.architecture for query in questions}))
    assert len(cells) > 100
    for cell in random.Random(23).sample(cells, SAMPLE):
        mutant = _mutant(known, cell)
        monkeypatch.setattr(pipeline, "rules", lambda spec, mutant=mutant: mutant)
        seen = any(_notices(*pair) for pair in zip(questions, told, strict=True))
        assert seen, f"no golden row sees {cell}"
