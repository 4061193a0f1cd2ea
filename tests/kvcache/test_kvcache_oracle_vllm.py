"""vLLM 0.33.0's own page sizes, per-request needs and grouping, row by row."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from kvgate.architecture import (
    MLA,
    Architecture,
    Attention,
    GatedDeltaNet,
    Indexer,
    KimiDelta,
    LayerGroup,
    Lightning,
    Mamba1,
    Mamba2,
    ShortConv,
    StateLayer,
)
from kvgate.catalog.formats import kv_format
from kvgate.kvcache.choice import KvChoice, choose_format
from kvgate.kvcache.grouping import group_layers
from kvgate.kvcache.page import Demand, Page
from kvgate.kvcache.pool import vllm_pool
from kvgate.kvcache.states import StateDtypes, state_tensors
from kvgate.kvcache.vllm_pages import Setup, plan_pages
from kvgate.kvcache.vllm_rules import vllm_rules

_ROOT = Path(__file__).resolve().parents[2]
_ORACLE = _ROOT / "../shared/oracle/kvspec_0.33.0.jsonl"
_GOLDEN = _ROOT / "tests/golden/kvcache-vllm-0.33.0.jsonl"
_RULES = vllm_rules(Version("0.33.0"))

Row = dict[str, Any]


def _rows(path: Path) -> list[Row]:
    if not path.exists():
        pytest.skip("the shared facts are not beside this checkout")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _model(groups: list[tuple[Any, list[int]]], model_type: str = "test") -> Architecture:
    layers = max(index for _, indices in groups for index in indices) + 1
    return Architecture(
        id="test", model_type=model_type, architectures=("Test",),
        groups=tuple(LayerGroup(layer, tuple(ids), ()) for layer, ids in groups),
        num_layers=layers, hidden_size=4096, vocab_size=None, query_heads=32, dtype="bfloat16",
        max_position_embeddings=1 << 20,
    )  # fmt: skip


def _setup(arch: Architecture, row: Row, **over: Any) -> Setup:
    kv = row.get("kv", "auto")
    choice = over.pop("choice", None) or choose_format(arch, kv_cache_dtype=kv)
    return Setup(
        rules=_RULES, choice=choice, tp=1, block_size=row.get("block_size", 16),
        max_model_len=row.get("max_model_len", 131072), model_type=arch.model_type,
        model_dtype="bfloat16", **over,
    )  # fmt: skip


def _full(kv_heads: int, head: int, value: int | None = None, **over: Any) -> Attention:
    return Attention("full", 32, kv_heads, head, value or head, **over)


def _sliding(kv_heads: int, head: int, window: int) -> Attention:
    return Attention("sliding", 32, kv_heads, head, head, window=window)


def _latent(size: int, *, sparse: bool = False) -> MLA:
    rope = 0 if size == 512 else 64
    return MLA(128, size - rope, rope, 128, 128, sparse=sparse)


def _page(row: Row) -> tuple[int, int, int]:
    """(page bytes, bytes of a request, blocks of a request) of a one-layer row."""
    length = row.get("max_model_len", 131072)
    demand = Demand(length, row.get("max_in_flight", 0), row.get("dcp", 1))
    match row["kind"]:
        case "full_attention" | "full_attention_diffkv":
            layer: Any = _full(row["num_kv_heads"], row["head_size"], row.get("head_size_v"))
        case "sliding_window":
            layer = _sliding(row["num_kv_heads"], row["head_size"], row["sliding_window"])
            flight = row["max_num_batched_tokens"] * row["max_concurrent_batches"]
            demand = Demand(row["max_model_len"], flight)
        case "chunked_local":
            layer = Attention(
                "chunked", 32, row["num_kv_heads"], row["head_size"], row["head_size"],
                window=row["attention_chunk_size"],
            )  # fmt: skip
        case _:
            layer = _latent(row["head_size"], sparse="SPARSE" in row["backend"])
    arch = _model([(layer, [0])])
    kv = row["kv"]
    choice = None
    if row["kind"] == "mla_attention":
        # The row says which backend writes; the choice would follow the GPU.
        name = "bf16" if kv in ("auto", "bfloat16") else kv
        choice = KvChoice(kv, kv_format(name), "the row's own")
    plan = plan_pages(arch, _setup(arch, row, choice=choice))
    page = plan.layers[0][1]
    blocks = page.blocks(demand)
    return page.bytes_, blocks * page.bytes_, blocks


def _state(row: Row) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Ours and vLLM's shapes, page bytes and bytes of a request, of a state row."""
    name = row["name"]
    layers: dict[str, StateLayer] = {
        "GDN": GatedDeltaNet(16, 32, 128, 128, 4),
        "KDA": KimiDelta(32, 128, 4),
        "Mamba2": Mamba2(96, 80, 128, 8, 4),
        "linear_attn": Lightning(64, 128),
        "short_conv": ShortConv(2048, 3),
        "mamba1": Mamba1(8192, 16, 4),
    }
    tp = int(re.search(r"tp(\d)", name)[1])  # type: ignore[index]
    layer = layers[name.split()[0]]
    kinds = [dtype.removeprefix("torch.") for dtype in row["dtypes"]]
    dtypes = StateDtypes(kinds[0], kinds[-1], "the row's own")
    tensors = state_tensors(layer, tp, speculative=3 if "num_spec=3" in name else 0)
    page = sum(dtypes.bytes_of(tensor) for tensor in tensors)
    states = 2 if row["mamba_cache_mode"] == "align" else 1
    memory = page * Page("state", 16, page, states=states).blocks(Demand(131_072, 0))
    shapes = [list(tensor.shape) for tensor in tensors]
    return (shapes, page, memory), (
        row["shapes"], row["page_size_bytes"], row["max_memory_usage_bytes"],
    )  # fmt: skip


def _counts(row: Row) -> tuple[list[tuple[Any, list[int]]], dict[str, Any]]:
    """The layers that a ``model_capacity`` row stands for, and what its setup needs besides."""
    name, note = row["name"], row["note"]
    every = range(row["num_layers"])
    if name.startswith("llama"):
        return [(_full(8, 128), list(every))], {}
    if name.startswith("gpt-oss"):
        sliding = [i for i in every if i % 2 == 0]
        full = [i for i in every if i % 2]
        return [(_sliding(8, 64, 128), sliding), (_full(8, 64), full)], {}
    if name.startswith("gemma"):
        full = [i for i in every if i % 6 == 5]
        local = [i for i in every if i % 6 != 5]
        if "gemma-4" in name:
            return [(_sliding(16, 256, 1024), local), (_full(4, 512), full)], {}
        return [(_sliding(16, 128, 1024), local), (_full(16, 128), full)], {}
    if name.startswith("qwen3-next"):
        full = [i for i in every if i % 4 == 3]
        linear = [i for i in every if i % 4 != 3]
        mode = "align" if "align" in note else "none"
        layer = GatedDeltaNet(16, 32, 128, 128, 4, state_dtype="float32")
        tp = int(re.search(r"tp(\d)", name)[1])  # type: ignore[index]
        return [(layer, linear), (_full(2, 256), full)], {"mamba_mode": mode, "tp": tp}
    if name.startswith("kimi-linear"):
        full = [3, 7, 11, 15, 19, 23, 26]
        linear = [i for i in every if i not in full]
        return [(KimiDelta(32, 128, 4), linear), (_latent(576), full)], {"mamba_mode": "align"}
    if name.startswith("deepseek-v3.2"):
        sparse = MLA(128, 512, 64, 128, 128, indexer=Indexer(128, 2048), sparse=True)
        return [(sparse, list(range(row["num_layers"] // 2)))], {}
    if name.startswith("deepseek-v3"):
        return [(_latent(576), list(every))], {}
    full_count, window_count = (int(n) for n in re.findall(r"(\d+) (?:full|sw)", name))
    return [
        (_full(8, 64), list(range(full_count))),
        (_sliding(8, 64, 128), list(range(full_count, full_count + window_count))),
    ], {}


def _capacity(row: Row) -> tuple[Any, ...]:
    groups, over = _counts(row)
    arch = _model(groups)
    tp = over.pop("tp", 1)
    note = row["note"]
    kv = note.split()[0]
    if kv in ("auto", "bf16") or "=" in kv or "pads" in note or "padding" in note:
        kv = "auto"
    block = next(g["block_size"] for g in row["groups"] if g["type"] != "MambaSpec")
    if "skip" in note or "gemma-4" in row["name"]:
        block = 16
    if "mamba_mode" in over:
        block = 16
    choice = None
    if "FLASHINFER_MLA_SPARSE" in note:
        choice = KvChoice("fp8", kv_format("fp8"), "plain latents")
    spared = frozenset(groups[0][1]) if "skip" in note else frozenset()
    setup = Setup(
        rules=_RULES, choice=choice or choose_format(arch, kv_cache_dtype=kv), tp=tp,
        block_size=block, max_model_len=row["max_model_len"], model_type="test",
        model_dtype="bfloat16", plain=kv_format("bf16"), spared=spared, **over,
    )  # fmt: skip
    plan = plan_pages(arch, setup)
    pool = vllm_pool(
        plan, _RULES, [row["available_memory"]],
        Demand(row["max_model_len"], row["max_in_flight_tokens"]),
        num_layers=arch.num_layers,
        groups=group_layers(plan.layers, _RULES, hybrid=row["hybrid_manager"]),
    )  # fmt: skip
    shape = sorted(
        (len(g.layers), g.page.block_size, count)
        for g, count in zip(pool.groups, pool.blocks_per_request, strict=True)
    )
    return (pool.bytes_per_block, pool.blocks, pool.tokens, round(pool.concurrency, 6), shape)


def _expected(row: Row) -> tuple[Any, ...]:
    shape = sorted(
        (g["n_layers"], g["block_size"], g["blocks_per_max_len_req"]) for g in row["groups"]
    )
    return (row["bytes_per_block"], row["num_blocks"], row["kv_cache_size_tokens"],
            row["max_concurrency"], shape)  # fmt: skip


def _wrong(rows: list[Row]) -> tuple[list[Any], int]:
    wrong: list[Any] = []
    for row in rows:
        match row["kind"]:
            case "model_capacity":
                got, want = _capacity(row), _expected(row)
            case "mamba":
                got, want = _state(row)
            case "mla_indexer_v32":
                size = kv_format("indexer_fp8").record_bytes or 0
                got, want = (size * row["block_size"],), (row["page_size_bytes"],)
            case _:
                page, memory, blocks = _page(row)
                asked = row.get("max_memory_usage_bytes_131072", row.get("max_memory_usage_bytes"))
                got = (page, memory if asked is not None else None,
                       blocks if "max_admission_blocks" in row else None)  # fmt: skip
                want = (row["page_size_bytes"], asked, row.get("max_admission_blocks"))
        if got != want:
            wrong.append((row, got, want))
    return wrong, len(rows)


def test_every_page_size_and_capacity_is_vllms_own() -> None:
    wrong, rows = _wrong(_rows(_ORACLE))
    assert rows > 500
    assert wrong == []


def test_the_shipped_golden_rows_are_vllms_own() -> None:
    wrong, rows = _wrong([json.loads(line) for line in _GOLDEN.read_text().splitlines()])
    assert rows >= 200
    assert wrong == []
