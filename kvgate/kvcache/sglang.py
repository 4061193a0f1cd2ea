"""SGLang's pools: the budget, full and windowed tokens, state slots, and the request limit.

Source: sglang 0.5.23, srt/model_executor/pool_configurator.py and
srt/mem_cache/kv_cache_configurator.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from kvgate.architecture.layers import MLA, CompressedAttention
from kvgate.architecture.model import Architecture
from kvgate.catalog.formats import kv_format
from kvgate.errors import InputError
from kvgate.kvcache.choice import KvChoice
from kvgate.kvcache.sglang_cells import SglangCells, has_swa_pool, sglang_cells
from kvgate.kvcache.sglang_options import (
    SglangOptions,
    chunked_prefill_default,
    mem_fraction_static,
    runs_vision,
)
from kvgate.kvcache.sglang_v4 import v4_pool
from kvgate.units import GiB

__all__ = ["SglangPool", "sglang_pool"]

_SWA_EVICTION = 128


@dataclass(frozen=True, slots=True)
class SglangPool:
    """SGLang's pools on one rank.

    ``budget`` bytes are left for tokens; ``cell`` is the bytes a token of ``tokens``
    (``max_total_num_tokens``) costs, 0 where no layer keeps any. ``swa_tokens`` is the windowed
    layers' own pool, ``slots`` the state slots and ``slots_per_request`` what a request takes of
    them. ``error`` is the engine's message where it does not start, and then nothing after
    ``budget`` is set.
    """

    mem_fraction_static: float
    budget: int
    cell: float
    tokens: int = 0
    swa_tokens: int | None = None
    slots: int | None = None
    slots_per_request: int | None = None
    max_running_requests: int = 0
    extra: tuple[tuple[str, object], ...] = ()
    lines: tuple[str, ...] = ()
    error: str | None = None


def sglang_pool(
    arch: Architecture,
    choice: KvChoice,
    options: SglangOptions,
    *,
    tp: int,
    context: int,
    page: int,
    pre_load_gib: float,
    available_gib: float,
    memory_mib: int,
    pp: int = 1,
    model_dtype: str = "bfloat16",
    ssm_dtype: str = "auto",
) -> SglangPool:
    """The pools for a model whose free memory is known before and after loading its weights.

    ``context`` is the context length, ``page`` the page size after the backend's rewrites. Raises
    InputError where ``tp`` does not divide the model, and ``dp_size`` not ``tp``.
    """
    fraction = options.mem_fraction_static
    if fraction is None:
        fraction = mem_fraction_static(arch, options, memory_mib=memory_mib, tp=tp, pp=pp)
    compressed = any(isinstance(g.layer, CompressedAttention) for g in arch.groups)
    attention_tp, odd = divmod(tp, options.attention_dp)
    if odd:
        raise InputError(
            f"dp_size {options.attention_dp} does not divide tensor parallel size {tp}",
            hint="with --enable-dp-attention the data-parallel groups share the tensor ranks",
        )
    rest = available_gib - pre_load_gib * (1 - fraction)
    if runs_vision(arch):
        rest -= 100 / 1024
    if compressed and not options.disable_hybrid_swa_memory:
        return _compressed(
            arch, options, fraction, rest, page, context, pre_load_gib, available_gib
        )
    split = has_swa_pool(arch) and not options.disable_hybrid_swa_memory
    if split and choice.flag == "nvfp4":
        # That pool has no FP4 quantiser, so both pools keep plain bytes.
        choice = replace(choice, format=kv_format("fp8"))
    cells = sglang_cells(
        arch, choice, tp=attention_tp, model_dtype=model_dtype,
        ssm_dtype=ssm_dtype, split=not options.disable_hybrid_swa_memory,
    )  # fmt: skip
    slots = per_request = None
    if cells.state:
        slots, per_request, rest = _state_slots(cells, options, rest)
        if slots <= 0:
            return SglangPool(
                fraction, 0, 0.0, slots=slots,
                error="Not enough GPU memory for hybrid (mamba/linear-attention) state cache. "
                f"Computed max_mamba_cache_size={slots}",
            )  # fmt: skip
    if rest <= 0:
        return SglangPool(fraction, 0, 0.0, error=_no_memory(fraction, pre_load_gib, available_gib))
    budget = int(rest * GiB)
    pool = _token_pool(
        arch, choice, cells, options, fraction, budget, page, attention_tp, memory_mib
    )
    if pool.error is not None:
        return pool
    requests = _requests(options, pool.tokens, context, 256 if compressed else None)
    if slots is not None and per_request is not None:
        requests = min(requests, slots // per_request)
    lines = (*cells.lines, *pool.lines)
    if slots is not None:
        lines = (*lines, f"{slots:,} state slots, {per_request} a request")
    return replace(
        pool, slots=slots, slots_per_request=per_request, max_running_requests=requests, lines=lines
    )


def _token_pool(
    arch: Architecture,
    choice: KvChoice,
    cells: SglangCells,
    options: SglangOptions,
    fraction: float,
    budget: int,
    page: int,
    tp: int,
    memory_mib: int,
) -> SglangPool:
    drafts = options.speculative_draft_layers if options.speculative_algorithm else 0
    if not cells.split:
        whole = cells.full + _draft_cell(arch, cells, drafts)
        limit = budget // whole if whole else 1 << 62
        tokens = _floor(_capped(limit, options), page)
        line = f"{budget:,} B / {whole:,} B a token = {tokens:,} tokens (pages of {page})"
        if not whole:
            line = "no layer keeps anything by the token: the state slots bound the requests alone"
        return SglangPool(fraction, budget, whole, tokens, lines=(line,))
    per_layer = cells.full // cells.full_layers if cells.full_layers else 0
    full = cells.full + per_layer * drafts
    if options.disable_radix_cache and options.max_running_requests is not None and full:
        return _request_cap(cells, options, fraction, budget, full, page, memory_mib)
    ratio = options.swa_full_tokens_ratio or 0.8
    cell = full + ratio * cells.swa
    tokens = _floor(_capped(int(budget // cell), options), page)
    swa = _floor(int(tokens * ratio), page)
    if cells.window + page >= swa:
        return SglangPool(
            fraction, budget, cell,
            error=f"SWA pool ({swa} tokens) cannot hold even one request: "
            f"window {cells.window} + page {page}",
        )  # fmt: skip
    line = (
        f"{budget:,} B / ({full:,} + {ratio} x {cells.swa:,}) B a token = {tokens:,} full tokens, "
        f"{swa:,} windowed"
    )
    return SglangPool(fraction, budget, cell, tokens, swa_tokens=swa, lines=(line,))


def _request_cap(
    cells: SglangCells,
    options: SglangOptions,
    fraction: float,
    budget: int,
    full: int,
    page: int,
    memory_mib: int,
) -> SglangPool:
    """Radix cache off and requests limited: the windowed pool holds just what those can need."""
    drafts = options.speculative_num_draft_tokens or 1
    tail = cells.window + _SWA_EVICTION * drafts + page
    decode = page
    if options.speculative_algorithm:
        step = max(
            options.speculative_num_steps * options.speculative_eagle_topk,
            options.speculative_num_draft_tokens,
        )
        decode = 2 * step if not options.disable_overlap_schedule else step
    requests = max(1, (options.max_running_requests or 1) // options.attention_dp)
    chunk = options.chunked_prefill_size or chunked_prefill_default(memory_mib)
    flights = 1 if options.disable_overlap_schedule else 2
    cap = (tail + decode) * requests + flights * chunk + page
    swa = -(-cap // page) * page
    tokens = _floor((budget - swa * cells.swa) // full, page)
    if tokens <= 0:
        return SglangPool(
            fraction, budget, full,
            error=f"SWA pool cap ({swa} tokens, {swa * cells.swa / GiB:.2f} GiB) leaves no room "
            f"for the full KV pool within the available {budget / GiB:.2f} GiB.",
        )  # fmt: skip
    cell = full + (options.swa_full_tokens_ratio or 0.8) * cells.swa
    line = f"windowed pool fixed at {swa:,} tokens by the request limit; {tokens:,} full tokens"
    return SglangPool(fraction, budget, cell, tokens, swa_tokens=swa, lines=(line,))


def _draft_cell(arch: Architecture, cells: SglangCells, drafts: int) -> int:
    """What EAGLE or MTP draft layers add to a token: the target's bytes a layer, indexer apart."""
    if not drafts or not cells.full_layers:
        return 0
    sparse = [g for g in arch.groups if isinstance(g.layer, MLA) and g.layer.indexer is not None]
    if not sparse:
        return int(cells.full * drafts / cells.full_layers)
    layer = sparse[0].layer
    assert isinstance(layer, MLA)
    assert layer.indexer is not None
    index = layer.indexer.head_dim + 4 * -(-layer.indexer.head_dim // 128)
    indexed = sum(
        g.count for g in sparse if isinstance(g.layer, MLA) and not g.layer.shares_indexer
    )
    latents = cells.full - index * indexed
    return int(latents * drafts / cells.full_layers) + index * drafts


def _state_slots(cells: SglangCells, options: SglangOptions, rest: float) -> tuple[int, int, float]:
    """(slots, slots a request, GiB left): how much of the budget goes to states."""
    per_slot = cells.state
    per_request = _slots_per_request(options)
    speculative = options.speculative_num_draft_tokens if options.speculative_algorithm else 0
    limit = options.max_running_requests
    if limit is None and options.speculative_algorithm:
        limit = 48
    dp = options.attention_dp
    scratch = 0
    if options.max_mamba_cache_size is not None:
        slots = options.max_mamba_cache_size // dp
        if speculative and limit is not None:
            scratch = per_slot * (min(max(1, limit // dp), slots // per_request) + 1) * speculative
    elif options.disable_radix_cache and limit is not None:
        slots = max(1, limit // dp)
        if speculative:
            scratch = per_slot * (slots + 1) * speculative
    else:
        ratio = options.mamba_full_memory_ratio
        share = rest * ratio / (1 + ratio) * GiB
        if speculative and limit is not None:
            slots = int(
                (share - per_slot * (1 + speculative))
                // (per_slot * (1 + speculative / per_request))
            )
            scratch = per_slot * (min(max(1, limit // dp), slots // per_request) + 1) * speculative
        else:
            slots = int((share - per_slot) // per_slot)
    rest -= scratch / GiB
    return slots, per_request, rest - (slots + 1) * per_slot / GiB


def _slots_per_request(options: SglangOptions) -> int:
    if options.disable_radix_cache:
        return 1
    strategy = options.mamba_strategy
    if strategy == "auto":
        strategy = "no_buffer" if options.disable_overlap_schedule else "extra_buffer"
    if strategy == "extra_buffer":
        return 4 if options.disable_overlap_schedule else 5
    return 4 if strategy == "extra_buffer_lazy" else 3


def _requests(options: SglangOptions, tokens: int, context: int, by_hook: int | None) -> int:
    limit = options.max_running_requests or by_hook
    if limit is None and options.speculative_algorithm:
        limit = 48
    if limit is not None:
        return min(limit // options.attention_dp, tokens // 2)
    return min(max(min(int(tokens / context * 512), 4096), 2048), tokens // 2)


def _compressed(
    arch: Architecture,
    options: SglangOptions,
    fraction: float,
    rest: float,
    page: int,
    context: int,
    pre_load_gib: float,
    available_gib: float,
) -> SglangPool:
    if rest <= 0:
        return SglangPool(fraction, 0, 0.0, error=_no_memory(fraction, pre_load_gib, available_gib))
    budget = int(rest * GiB)
    limit = (options.max_running_requests or 256) // options.attention_dp
    sizes = v4_pool(
        arch, budget, page=page, requests=limit, ratio=options.swa_full_tokens_ratio or 0.1,
        speculative=options.speculative_algorithm is not None, limit=options.max_total_tokens,
    )  # fmt: skip
    return SglangPool(
        fraction, budget, sizes.bytes_per_full_token, sizes.full, swa_tokens=sizes.swa,
        max_running_requests=min(limit, sizes.full // 2), extra=sizes.extra(), lines=sizes.lines,
    )  # fmt: skip


def _capped(tokens: int, options: SglangOptions) -> int:
    # A limit above what was profiled only warns.
    return tokens if options.max_total_tokens is None else min(tokens, options.max_total_tokens)


def _floor(tokens: int, page: int) -> int:
    return tokens // page * page


def _no_memory(fraction: float, pre: float, available: float) -> str:
    if not pre:
        # The KV memory was given as such, and what comes before the tokens takes all of it.
        return "the states of the requests leave nothing of the given KV memory for tokens"
    least = 1 - available / pre
    return (
        "Loaded weights leave no GPU memory for the KV cache under "
        f"--mem-fraction-static={fraction}. Raise --mem-fraction-static above "
        f"{ceil(least * 1000) / 1000:.3f} (minimum viable = 1 - available/pre = {least:.4f}). "
        "If using speculative decoding, draft weights are now counted."
    )
