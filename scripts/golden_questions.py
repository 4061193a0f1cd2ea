"""The questions of the tests' golden tables, without their answers, for the bench to ask."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kvgate.attention.sglang import Model, Query
from kvgate.attention.sglang.rows import flags_of

__all__ = ["of_sglang", "of_vllm"]

GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden"


def of_sglang(version: str) -> list[Query]:
    """One question for every distinct outcome of a release, of models, GPUs and options."""
    header, *lines = (GOLDEN / "sglang-selector.jsonl").read_text(encoding="utf-8").splitlines()
    said = json.loads(header)
    models = {name: Model(**facts) for name, facts in said["models"].items()}
    found = []
    for line in lines:
        name, sm, values, _ = json.loads(line)
        row = {k: v for k, v in zip(said["asked"], values, strict=False) if v is not None}
        major, minor = map(int, sm.split("."))
        flags, memory = flags_of(row), said["gpu_mib"][sm]
        found.append(Query(models[name], (major, minor), f"sglang=={version}", flags, memory))
    return found


def of_vllm(version: str) -> list[dict[str, Any]]:
    """The rows of one release's table, as the batch form takes them."""
    body = json.loads((GOLDEN / f"attention_vllm_{version}.json").read_text(encoding="utf-8"))
    rows = []
    for line in body["rows"]:
        _, sm, size, kv, *rest = line.split(" ")
        row: dict[str, Any] = {"v": version, "sm": sm, "head_size": int(size), "kv": kv}
        for part in rest:
            name, given, value = part.partition("=")
            row[name] = (int(value) if value.isdigit() else value) if given else True
        rows.append(row)
    return rows
