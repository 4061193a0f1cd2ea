"""What released models need: growing bytes, window-capped bytes, states, and copies over ranks."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from kvgate.architecture import Architecture, model, parse
from kvgate.errors import InputError
from kvgate.kvcache import needs
from kvgate.units import GiB, KiB, MiB

_ROOT = Path(__file__).resolve().parents[2]
_CONFIGS = _ROOT / "../shared/data/configs"
_GOLDEN = _ROOT / "tests/golden/kvcache-needs.jsonl"
_ROWS = [json.loads(line) for line in _GOLDEN.read_text(encoding="utf-8").splitlines()]


@cache
def _arch(name: str) -> Architecture:
    try:
        return model(name)
    except InputError:
        path = _CONFIGS / f"{name.replace('/', '--')}.json"
        if not path.exists():
            pytest.skip("the shared facts are not beside this checkout")
        return parse(json.loads(path.read_text(encoding="utf-8")), id=name)


def _rounds_to(value: float, printed: float) -> bool:
    text = f"{printed}"
    digits = len(text.split(".")[1]) if "." in text else 0
    return bool(abs(value - printed) <= 0.5 * 10**-digits + 1e-9)


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: row["model"])
def test_a_released_model_needs_what_the_table_says(row: dict[str, Any]) -> None:
    need = needs(_arch(row["model"]), kv_cache_dtype=row["dtype"])
    found = {
        "grow_kib": need.bytes_per_token / KiB,
        "window_mib": need.window_bytes_per_sequence / MiB,
        "state_mib": need.state_bytes_per_sequence / MiB,
        "gib_128k": need.sequence_bytes(131_072) / GiB,
    }
    wrong = {
        key: (value, row[key])
        for key, value in found.items()
        if row[key] is not None and not _rounds_to(value, row[key])
    }
    assert wrong == {}


def test_the_table_covers_every_attention_family() -> None:
    kinds = {
        group.layer.kind
        for row in _ROWS
        if (_CONFIGS / "INDEX.md").exists()
        for group in _arch(row["model"]).groups
    }
    if not kinds:
        pytest.skip("the shared facts are not beside this checkout")
    assert kinds >= {
        "full", "sliding", "chunked", "mla", "compressed", "gdn", "mamba1", "mamba2", "kda",
        "lightning", "short_conv",
    }  # fmt: skip


def test_two_kv_heads_are_copied_on_four_ranks() -> None:
    arch = model("Qwen/Qwen3-Next-80B-A3B-Instruct")
    one, four, eight = (needs(arch, tp=tp) for tp in (1, 4, 8))
    assert one.bytes_per_token == 24 * KiB
    assert four.bytes_per_token_per_rank == eight.bytes_per_token_per_rank == 12 * KiB
    full = next(g for g in four.groups if g.kind == "full")
    assert full.copies == 2
    assert four.bytes_per_token == one.bytes_per_token


def test_a_latent_is_held_by_every_rank() -> None:
    need = needs(model("deepseek-ai/DeepSeek-V3"), tp=8)
    assert need.bytes_per_token_per_rank == need.bytes_per_token == 61 * 1152
    assert need.groups[0].copies == 8


def test_decode_context_parallelism_splits_the_tokens() -> None:
    whole = needs(model("moonshotai/Kimi-K2-Instruct"), tp=8)
    split = needs(model("moonshotai/Kimi-K2-Instruct"), tp=8, dcp=8)
    assert split.bytes_per_token_per_rank * 8 == whole.bytes_per_token_per_rank


def test_a_pipeline_stage_holds_its_own_layers() -> None:
    arch = model("meta-llama/Llama-3.1-8B-Instruct")
    assert needs(arch, pp=4).bytes_per_token_per_rank == 8 * 4 * KiB
    assert needs(arch, pp=3).bytes_per_token_per_rank == 11 * 4 * KiB


def test_a_sliding_layer_stops_growing_at_its_window() -> None:
    need = needs(model("google/gemma-3-27b-it"))
    short, at, long = (need.sequence_bytes(n) for n in (512, 1024, 2048))
    assert at == 2 * short
    assert long - at == 1024 * need.bytes_per_token
    assert need.window_bytes_per_sequence == 416 * MiB


def test_draft_layers_count_only_where_speculation_asks_for_them() -> None:
    arch = model("deepseek-ai/DeepSeek-V3")
    assert arch.draft is not None
    plain, drafted = needs(arch), needs(arch, speculative=1)
    assert drafted.bytes_per_token - plain.bytes_per_token == 1152
    assert any(group.draft for group in drafted.groups)


def test_sglang_keeps_states_in_float32_where_vllm_takes_the_models_dtype() -> None:
    arch = model("Qwen/Qwen3-Next-80B-A3B-Instruct")
    assert needs(arch, engine="vllm").state_bytes_per_sequence == 39_518_208
    assert needs(arch, engine="sglang").state_bytes_per_sequence == 77_266_944


def test_the_formula_has_the_numbers_in_place() -> None:
    group = needs(model("meta-llama/Llama-3.1-8B-Instruct")).groups[0]
    assert group.formula == (
        "32 layers x 8 KV heads x 512 B (bf16: 128 K + 128 V) = 128.00 KiB/token"
    )
    assert any(key.startswith("num_key_value_heads") for key in group.because)


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        ({"tp": 3}, "tensor parallel size 3 does not divide"),
        ({"tp": 0}, "tensor parallel size must be at least 1"),
        ({"pp": 99}, "pipeline parallel size 99"),
        ({"tp": 8, "dcp": 3}, "does not divide tensor parallel size 8"),
        ({"tp": 8, "dcp": 2}, "needs tensor parallel size 16 or more"),
    ],
)
def test_sizes_that_do_not_divide_are_named(sizes: dict[str, int], says: str) -> None:
    with pytest.raises(InputError, match=says):
        needs(model("meta-llama/Llama-3.1-8B-Instruct"), **sizes)  # type: ignore[arg-type]


def test_a_cached_answer_belongs_to_the_same_question() -> None:
    arch = model("meta-llama/Llama-3.1-8B-Instruct")
    assert needs(arch) is needs(arch)
    assert needs(arch) is not needs(arch, kv_cache_dtype="fp8")
    assert needs(arch, version=Version("0.19.0")).bytes_per_token == needs(arch).bytes_per_token


@pytest.mark.parametrize(
    ("tp", "often"),
    [
        (1, ""),
        (4, "K and V held once, index keys 4 times over 4 ranks"),
        (8, "K and V held 2 times, index keys 8 times over 8 ranks"),
    ],
)
def test_index_keys_are_held_by_every_rank_and_heads_are_not(tp: int, often: str) -> None:
    need = needs(model("MiniMaxAI/MiniMax-M3"), tp=tp)
    (indexed,) = (group for group in need.groups if group.index_copies is not None)
    assert indexed.held(tp) == often
    (plain,) = (group for group in need.groups if group.index_copies is None)
    assert plain.held(tp) == ("held 2 times over 8 ranks" if tp == 8 else "")
