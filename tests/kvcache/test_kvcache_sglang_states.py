"""SGLang's budget where speculation needs room for states, where nothing is left, and by chunk."""

from __future__ import annotations

from typing import Any

import pytest

from kvgate.architecture import model
from kvgate.errors import InputError
from kvgate.kvcache import size
from kvgate.kvcache.choice import choose_format
from kvgate.kvcache.sglang import SglangPool, sglang_pool
from kvgate.kvcache.sglang_cells import sglang_cells
from kvgate.kvcache.sglang_options import (
    SglangOptions,
    chunked_prefill_default,
    mem_fraction_static,
)
from kvgate.units import GiB

_HYBRID = model("Qwen/Qwen3-Next-80B-A3B-Instruct")
_DENSE = model("Qwen/Qwen3-8B")
_STATE = sglang_cells(
    _HYBRID, choose_format(_HYBRID, engine="sglang"), tp=4, model_dtype="bfloat16", ssm_dtype="auto"
).state


def _pool(arch: Any, available: float, fraction: float = 0.5, **options: Any) -> SglangPool:
    # Half of 64 GiB stays free: what is left of the available memory is the budget.
    return sglang_pool(
        arch, choose_format(arch, engine="sglang"),
        SglangOptions(mem_fraction_static=fraction, **options), tp=4, context=8192, page=1,
        pre_load_gib=64.0, available_gib=available, memory_mib=81559,
    )  # fmt: skip


def _spent(pool: SglangPool, rest: float) -> int:
    """How many states the budget lacks."""
    lacking = rest * GiB - pool.budget
    assert abs(lacking / _STATE - round(lacking / _STATE)) < 1e-4
    return round(lacking / _STATE)


def test_told_slots_take_one_more_than_they_are() -> None:
    pool = _pool(_HYBRID, 48.0, max_mamba_cache_size=40)
    assert pool.slots == 40
    assert _spent(pool, 16.0) == 41
    limited = _pool(_HYBRID, 48.0, max_mamba_cache_size=40, max_running_requests=4)
    assert _spent(limited, 16.0) == 41


@pytest.mark.parametrize(
    ("limit", "requests"),
    [(4, 4), (None, 8), (100, 8)],  # 40 slots, 5 a request, are 8 requests; 48 where none is told
)
def test_drafts_keep_a_state_for_each_token_of_each_request(
    limit: int | None, requests: int
) -> None:
    pool = _pool(
        _HYBRID, 60.0, max_mamba_cache_size=40, max_running_requests=limit,
        speculative_algorithm="EAGLE", speculative_num_draft_tokens=3,
    )  # fmt: skip
    assert pool.slots == 40
    assert _spent(pool, 28.0) == 41 + (requests + 1) * 3


def test_without_a_radix_cache_a_request_has_one_slot() -> None:
    pool = _pool(_HYBRID, 60.0, disable_radix_cache=True, max_running_requests=16)
    assert (pool.slots, pool.slots_per_request, _spent(pool, 28.0)) == (16, 1, 17)
    drafting = _pool(
        _HYBRID, 60.0, disable_radix_cache=True, max_running_requests=16,
        speculative_algorithm="EAGLE", speculative_num_draft_tokens=2,
    )  # fmt: skip
    assert (drafting.slots, _spent(drafting, 28.0)) == (16, 17 + 17 * 2)


def test_a_budget_of_nothing_is_an_error_and_a_small_one_is_not() -> None:
    for available in (32.0, 31.0):
        none = _pool(_DENSE, available)
        assert none.error is not None
        assert none.tokens == 0
    little = _pool(_DENSE, 32.5)
    assert little.error is None
    assert little.budget == GiB // 2
    assert little.tokens == GiB // 2 // (36 * 2 * 2 * 128 * 2)


@pytest.mark.parametrize(
    ("chunk", "graphs"),
    [(2048, 42), (2049, 50), (4096, 50), (4097, 58), (8192, 58), (8193, 74), (16384, 74),
     (32768, 74)],
)  # fmt: skip
def test_the_prefill_graphs_follow_the_chunk(chunk: int, graphs: int) -> None:
    def fraction(count: int | None) -> float:
        # Eight MiB a graph are a thousandth of this card, which is as fine as SGLang rounds.
        options = SglangOptions(chunked_prefill_size=chunk, prefill_graph_count=count)
        return mem_fraction_static(_DENSE, options, memory_mib=8000, tp=1)

    assert fraction(None) == fraction(graphs)
    assert fraction(graphs - 1) == pytest.approx(fraction(graphs) + 0.001, abs=1e-9)
    assert fraction(graphs + 1) == pytest.approx(fraction(graphs) - 0.001, abs=1e-9)


def test_data_parallel_attention_groups_must_divide_the_ranks() -> None:
    for groups in (3, 8):
        with pytest.raises(InputError, match=f"dp_size {groups} does not divide"):
            _pool(_DENSE, 48.0, enable_dp_attention=True, dp_size=groups)
    assert _pool(_DENSE, 48.0, enable_dp_attention=True, dp_size=4).error is None
    assert _pool(_DENSE, 48.0, dp_size=3).error is None  # replicas share nothing


def test_told_kv_memory_that_the_states_take_whole_is_refused_in_words() -> None:
    drafted = SglangOptions(
        speculative_algorithm="EAGLE", speculative_num_draft_tokens=8, max_mamba_cache_size=30
    )
    sizing = size(
        "Qwen/Qwen3-Next-80B-A3B-Instruct", engine="sglang", tp=4, kv_cache_memory=GiB,
        options=drafted,
    )  # fmt: skip
    assert sizing.fits is False
    assert sizing.pool is not None
    assert sizing.pool.refusal is not None
    assert "leave nothing of the given KV memory" in sizing.pool.refusal


def test_a_pipeline_stage_of_nothing_but_sharing_layers_is_refused() -> None:
    with pytest.raises(InputError, match="shares another stage's KV"):
        size("google/gemma-4-E2B-it", engine="sglang", pp=4, kv_cache_memory=8 * GiB)


def test_no_more_requests_run_than_half_the_tokens() -> None:
    pool = _pool(_DENSE, 48.0, max_total_tokens=101, max_running_requests=4000)
    assert (pool.tokens, pool.max_running_requests) == (101, 50)
    pool = _pool(_DENSE, 48.0, max_total_tokens=101)
    assert (pool.tokens, pool.max_running_requests) == (101, 50)


# SGLang 0.5.23's tiers by a card's MiB: the chunk, the largest decode graph below TP 4 and from it.
_TIERS = [
    (20_480, 2048, 8, 8), (35_840, 4096, 48, 160), (61_440, 4096, 32, 160),
    (92_160, 8192, 256, 512), (163_840, 8192, 256, 512), (400_000, 16_384, 512, 512),
]  # fmt: skip


@pytest.mark.parametrize(("below", "chunk", "small", "large"), _TIERS)
def test_a_card_just_below_a_tier_has_its_defaults_and_one_at_it_the_next(
    below: int, chunk: int, small: int, large: int
) -> None:
    first = max((tier[0] for tier in _TIERS if tier[0] < below), default=8000)
    for memory in (first, below - 1):
        assert chunked_prefill_default(memory) == chunk
        for tp, batch in ((3, small), (4, large)):
            told = SglangOptions(decode_graph_max_bs=batch)
            assert mem_fraction_static(
                _DENSE, SglangOptions(), memory_mib=memory, tp=tp
            ) == mem_fraction_static(_DENSE, told, memory_mib=memory, tp=tp)


@pytest.mark.parametrize(("memory", "least"), [(61_440, False), (61_441, True)])
def test_more_than_60_gib_keeps_at_least_10_gib_back(memory: int, least: bool) -> None:
    options = SglangOptions(chunked_prefill_size=2048, decode_graph=False, prefill_graph=False)
    fraction = mem_fraction_static(_DENSE, options, memory_mib=memory, tp=1)
    kept = 10_240 if least else 512 + 1.5 * 2048 + 128
    assert fraction == round((memory - kept) / memory, 3)
