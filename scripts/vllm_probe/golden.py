"""Keep a release's own answers in a small file, for the tests that run without it.

The file names each backend and each reason once, each distinct answer once, and then has one line
per row: which answer it got, compute capability, head size, KV dtype, and what else is set.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["keep"]

_ANSWERS = ("valid", "invalid", "forced_ok_extra", "fa", "selected", "error", "impl_init")


def keep(
    version: str, rows: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]], path: Path
) -> None:
    """Write rows and their answers. Texts that a harness made up, not the engine, are left out."""
    words: dict[str, int] = {}
    answers: dict[str, int] = {}
    lines = []

    def word(text: str) -> int:
        return words.setdefault(text, len(words))

    for row, told in rows:
        answer: dict[str, Any] = {}
        for name in _ANSWERS:
            if name not in told or str(told[name]).startswith("(harness)"):
                continue
            value = told[name]
            if name == "invalid":
                value = [[word(backend), [word(r) for r in why]] for backend, why in value.items()]
            elif isinstance(value, list):
                value = [word(text) for text in value]
            elif isinstance(value, str):
                value = word(value)
            answer[name] = value
        written = json.dumps(answer, separators=(",", ":"))
        lines.append(f"{answers.setdefault(written, len(answers))} {_short(row)}")
    body = {"version": version, "words": list(words), "answers": [json.loads(a) for a in answers]}
    head = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    text = ",\n".join(map(json.dumps, lines))
    path.write_text(f'{head[:-1]},"rows":[\n{text}\n]}}\n', encoding="utf-8")


def _short(row: Mapping[str, Any]) -> str:
    parts = [str(row["sm"]), str(row["head_size"]), str(row["kv"])]
    for name, value in row.items():
        if name in (*_ANSWERS, "v", "auto", "sm", "head_size", "kv") or value is False:
            continue
        parts.append(name if value is True else f"{name}={value}")
    return " ".join(parts)
