"""What must hold for any model: more context never costs less, more ranks never cost more, …"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packaging.version import Version

from kvgate.architecture import (
    MLA,
    Architecture,
    Attention,
    GatedDeltaNet,
    LayerGroup,
    Mamba2,
    NoCache,
)
from kvgate.catalog.formats import kv_formats
from kvgate.errors import InputError
from kvgate.kvcache import needs, size
from kvgate.units import GiB, format_bytes

_QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

_POWERS = st.sampled_from([1, 2, 4, 8, 16])
_HEADS = st.sampled_from([64, 96, 128, 192, 256, 512])
_VERSIONS = st.sampled_from(["0.11.0", "0.13.0", "0.19.0", "0.20.2", "0.26.0", "0.33.0"])


@st.composite
def _layers(draw: st.DrawFn) -> Attention | MLA | GatedDeltaNet | Mamba2 | NoCache:
    kind = draw(st.sampled_from(["full", "sliding", "chunked", "mla", "gdn", "mamba2", "none"]))
    head = draw(_HEADS)
    match kind:
        case "mla":
            return MLA(16, 512, 64, 128, 128)
        case "gdn":
            return GatedDeltaNet(16, 32, 128, 128, 4, state_dtype="float32")
        case "mamba2":
            return Mamba2(32, 64, 128, 8, 4)
        case "none":
            return NoCache("mlp")
        case "full":
            return Attention("full", 16, draw(_POWERS), head, head)
        case _:
            window = draw(st.sampled_from([128, 512, 1024, 4096]))
            return Attention(kind, 16, draw(_POWERS), head, head, window=window)  # type: ignore[arg-type]


@st.composite
def _models(draw: st.DrawFn) -> Architecture:
    kinds = draw(st.lists(_layers(), min_size=1, max_size=3, unique=True))
    groups, first = [], 0
    for layer in kinds:
        count = draw(st.integers(1, 24))
        groups.append(LayerGroup(layer, tuple(range(first, first + count)), ()))
        first += count
    return Architecture(
        id="any", model_type="any", architectures=("Any",), groups=tuple(groups), num_layers=first,
        hidden_size=1024, vocab_size=32_000, query_heads=16, dtype="bfloat16",
        max_position_embeddings=1 << 20,
    )  # fmt: skip


@given(_models(), st.integers(0, 1 << 20), st.integers(0, 4096))
@_QUICK
def test_more_context_never_costs_less(arch: Architecture, context: int, more: int) -> None:
    need = needs(arch)
    assert need.sequence_bytes(context) <= need.sequence_bytes(context + more)
    assert need.rank_sequence_bytes(context) <= need.rank_sequence_bytes(context + more)


@given(_models(), st.sampled_from([1, 2, 4, 8]), st.integers(1, 1 << 18))
@_QUICK
def test_more_ranks_never_cost_more_per_rank(arch: Architecture, tp: int, context: int) -> None:
    fewer, more = (needs(arch, tp=size).rank_sequence_bytes(context) for size in (tp, 2 * tp))
    assert more <= fewer
    # And all ranks together hold at least one copy.
    assert needs(arch, tp=tp).group_sequence_bytes(context) >= needs(arch).sequence_bytes(context)


@given(_models(), st.integers(1, 4), st.integers(1, 1 << 18))
@_QUICK
def test_stages_together_hold_the_whole_model(arch: Architecture, pp: int, context: int) -> None:
    if pp > arch.num_layers:
        return
    stages = needs(arch, pp=pp).stages
    total = sum(stage.sequence_bytes(context) for stage in stages)
    assert abs(total - needs(arch).sequence_bytes(context)) <= pp


@given(_models(), _VERSIONS, st.integers(1, 1 << 17))
@_QUICK
def test_the_engine_reserves_at_least_what_the_model_needs(
    arch: Architecture, version: str, context: int
) -> None:
    try:
        sizing = size(
            arch, engine=f"vllm=={version}", kv_cache_memory=900 * GiB, max_model_len=context
        )
    except InputError:
        return  # this version cannot give these pages one size
    assert sizing.pool is not None
    memory = 900 * GiB
    if sizing.pool.max_concurrency:
        reserved = memory / sizing.pool.max_concurrency
        assert sizing.needs.rank_sequence_bytes(context) <= reserved * (1 + 1e-9)


@given(_models(), _VERSIONS, st.integers(1, 1 << 16), st.integers(0, 1 << 16))
@_QUICK
def test_a_longer_limit_never_serves_more_at_once(
    arch: Architecture, version: str, context: int, more: int
) -> None:
    try:
        shorter, longer = (
            size(arch, engine=f"vllm=={version}", kv_cache_memory=900 * GiB, max_model_len=length)
            for length in (context, context + more)
        )
    except InputError:
        return
    assert (longer.max_concurrency or 0) <= (shorter.max_concurrency or 0)


@given(_models(), _VERSIONS, st.integers(1, 1 << 16))
@_QUICK
def test_exactly_the_needed_bytes_admit_exactly_that_sequence(
    arch: Architecture, version: str, context: int
) -> None:
    from kvgate.kvcache.request import Request
    from kvgate.kvcache.vllm import vllm_answer

    request = Request(
        arch=arch, gpu=None, engine="vllm", version=Version(version), tp=1, pp=1, dcp=1,
        kv_cache_dtype="auto", dtype="auto", ssm_dtype="auto", max_model_len=context,
        block_size=None, max_num_batched_tokens=2048, max_num_seqs=256,
        gpu_memory_utilization=None, memory=[900 * GiB], prefix_caching=None, weights_bytes=None,
        speculative=0, async_scheduling=None, hybrid=True, mamba_cache_mode=None,
        enforce_eager=False, encoder_tokens=None,
    )  # fmt: skip
    try:
        pool = vllm_answer(request).pool
    except InputError:
        return
    if not pool.needed:
        return
    # From 0.29 on the check sets one block aside.
    aside = pool.bytes_per_block if Version(version) >= Version("0.29") else 0
    for memory, fits in ((pool.needed + aside, True), (pool.needed + aside - 1, False)):
        again = vllm_answer(replace(request, memory=[memory]))
        assert (again.answer.refusal is None) is fits
        if fits:
            assert again.answer.admitted is None or again.answer.admitted >= context


@given(st.sampled_from(kv_formats()), st.sampled_from([32, 64, 128, 192, 256, 512]))
@_QUICK
def test_the_parts_of_a_format_add_up(fmt: object, width: int) -> None:
    from kvgate.catalog.formats import KvFormat

    assert isinstance(fmt, KvFormat)
    parts = sum(count for _, count in fmt.breakdown(width))
    if fmt.kind == "record":
        assert parts == fmt.record_bytes
    elif fmt.kind == "element":
        assert parts == fmt.latent_bytes(width)
        assert fmt.head_bytes(width, width) == 2 * parts
    else:
        assert fmt.head_bytes(width, width) >= 1


def test_a_count_in_words_is_the_count() -> None:
    assert format_bytes(139 * 2**20) == "139.00 MiB"
    with pytest.raises(InputError):
        needs(
            Architecture(
                id="x", model_type="x", architectures=(), groups=(), num_layers=1, hidden_size=1,
                vocab_size=None, query_heads=1, dtype=None, max_position_embeddings=None,
            )
        ).sequence_bytes(-1)  # fmt: skip
