"""What vLLM printed at start-up, on other people's machines: tokens, concurrency, refusals.

The golden table holds figures only: layers, settings, and what the engine printed. A KV memory
printed with two decimals leaves a window of tokens; the prediction must reach into it, within one
block.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kvgate.architecture import (
    MLA,
    Architecture,
    Attention,
    Draft,
    GatedDeltaNet,
    Indexer,
    LayerGroup,
    Mamba2,
    model,
)
from kvgate.kvcache import Sizing, size
from kvgate.units import GiB

_GOLDEN = Path(__file__).resolve().parents[1] / "golden/kvcache-logs.jsonl"
_ROWS = [json.loads(line) for line in _GOLDEN.read_text(encoding="utf-8").splitlines()]
_KINDS = {"f": "full", "s": "sliding", "c": "chunked"}


def _layer(entry: list[Any]) -> Any:
    kind, _, *n = entry
    match kind:
        case "f" | "s" | "c":
            heads, key, value, window = n
            return Attention(_KINDS[kind], 64, heads, key, value, window=window)  # type: ignore[arg-type]
        case "m":
            rank, rope, index = n
            indexer = Indexer(index, 2048) if index else None
            return MLA(64, rank, rope, 128, 128, indexer=indexer, sparse=bool(index))
        case "g":
            keys, values, width, conv, dtype = n
            return GatedDeltaNet(keys, values, width, width, conv, state_dtype=dtype)
        case _:
            heads, width, state, groups, conv, dtype = n
            return Mamba2(heads, width, state, groups, conv, state_dtype=dtype)


def _model(row: dict[str, Any]) -> Architecture:
    if "model" in row:
        return model(row["model"])
    groups, first = [], 0
    parallel = row.get("parallel", False)
    for entry in row["layers"]:
        start = 0 if parallel else first
        groups.append(LayerGroup(_layer(entry), tuple(range(start, start + entry[1])), ()))
        first = max(first, start + entry[1])
    draft = None
    if row.get("draft"):
        draft = Draft("mtp", (LayerGroup(_layer(row["draft"]), (first,), ()),))
    return Architecture(
        id=row["id"], model_type=row.get("type", "test"), architectures=(), groups=tuple(groups),
        num_layers=first, hidden_size=1, vocab_size=None, query_heads=64, dtype="bfloat16",
        max_position_embeddings=1 << 22, draft=draft,
    )  # fmt: skip


def _sizing(row: dict[str, Any], shift: float) -> Sizing:
    memory = row["gib"] if isinstance(row["gib"], list) else [row["gib"]]
    return size(
        _model(row), engine=f"vllm=={row['v']}", gpu=row.get("gpu"), tp=row.get("tp", 1),
        pp=row.get("pp", 1), dcp=row.get("dcp", 1), kv_cache_dtype=row.get("kv", "auto"),
        dtype=row.get("dtype", "auto"), max_model_len=row["len"],
        max_num_batched_tokens=row.get("batched"), prefix_caching=row.get("apc"),
        speculative_tokens=row.get("spec", 0), block_size=row.get("block"), weights_bytes=0,
        kv_cache_memory=[int((gib + shift) * GiB) for gib in memory],
    )  # fmt: skip


_POOLS = [row for row in _ROWS if "tokens" in row or "x" in row]


@pytest.mark.parametrize("row", _POOLS, ids=lambda r: r["id"])
def test_the_pool_is_what_vllm_printed(row: dict[str, Any]) -> None:
    low, high = (_sizing(row, shift).pool for shift in (-0.005, 0.005))
    assert low is not None
    assert high is not None
    if "tokens" in row:
        assert low.tokens is not None
        assert high.tokens is not None
        block = low.block_size or 16
        assert low.tokens - block <= row["tokens"] <= high.tokens + block
    if "x" in row:
        assert low.max_concurrency is not None
        assert high.max_concurrency is not None
        assert low.max_concurrency - 0.0051 <= row["x"] <= high.max_concurrency + 0.0051


@pytest.mark.parametrize("row", [r for r in _ROWS if "needed" in r], ids=lambda r: r["id"])
def test_the_refusal_is_what_vllm_printed(row: dict[str, Any]) -> None:
    low, high = (_sizing(row, shift).pool for shift in (-0.005, 0.005))
    assert low is not None
    assert high is not None
    assert low.refusal is not None
    assert f"({row['needed']} GiB KV cache is needed" in low.refusal
    if "longest" in row:
        assert low.longest is not None
        assert high.longest is not None
        assert low.longest - 16 <= row["longest"] <= high.longest + 16


def test_the_table_holds_every_predictable_log() -> None:
    assert sum("tokens" in row or "x" in row for row in _ROWS) >= 119
    assert sum("needed" in row for row in _ROWS) >= 5
