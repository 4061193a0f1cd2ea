"""SGLang's answer to a sizing question: page size, free memory, and the pools they give."""

from __future__ import annotations

from dataclasses import replace

from kvgate.architecture.layers import (
    MLA,
    Attention,
    CompressedAttention,
    GatedDeltaNet,
    KimiDelta,
)
from kvgate.architecture.model import Architecture
from kvgate.errors import InputError
from kvgate.kvcache.answer import PoolAnswer, Range
from kvgate.kvcache.choice import choose_format, model_dtype
from kvgate.kvcache.request import Request
from kvgate.kvcache.sglang import SglangPool, sglang_pool
from kvgate.kvcache.sglang_options import SglangOptions, runs_vision
from kvgate.kvcache.stages import pipeline_stages
from kvgate.units import GiB, MiB, format_bytes

__all__ = ["default_page_size", "sglang_answer"]


def default_page_size(arch: Architecture, sm: tuple[int, int] | None) -> tuple[int, str]:
    """(page size, why) of the backend SGLang takes when nobody names one (0.5.23)."""
    layers = [group.layer for group in arch.groups]
    if any(isinstance(layer, CompressedAttention) for layer in layers):
        return 256, "the dsv4 backend"
    if any(isinstance(layer, MLA) and layer.sparse for layer in layers):
        return 64, "the dsa backend"
    if sm is None or sm[0] != 10:
        return 1, "no backend of this GPU generation asks for pages"
    if any(isinstance(layer, (GatedDeltaNet, KimiDelta)) for layer in layers):
        return 1, "hybrids with linear attention take triton or flashinfer on SM10x"
    if any(isinstance(layer, Attention) and layer.sinks for layer in layers) and (
        not arch.model_type.startswith("gpt_oss")
    ):
        return 128, "fa4, because of attention sinks"
    if arch.model_type.startswith("deepseek_v2"):
        return 1, "flashinfer"
    return 64, "trtllm_mla" if any(isinstance(layer, MLA) for layer in layers) else "trtllm_mha"


def sglang_answer(request: Request, options: SglangOptions | None) -> PoolAnswer:
    """SGLang's answer to a sizing request.

    Raises InputError where neither a GPU nor free memory is given, and for decode context
    parallelism, which is not modelled.
    """
    settings = options or SglangOptions()
    if request.dcp > 1:
        raise InputError("kvgate does not model decode context parallelism in SGLang")
    if request.max_num_seqs is not None and settings.max_running_requests is None:
        settings = replace(settings, max_running_requests=request.max_num_seqs)
    if request.gpu_memory_utilization is not None and settings.mem_fraction_static is None:
        settings = replace(settings, mem_fraction_static=request.gpu_memory_utilization)
    memory_mib = settings.memory_mib or (request.gpu.memory_mib if request.gpu else None)
    arch = request.arch
    choice = choose_format(
        arch, engine="sglang", version=request.version, sm=request.sm,
        kv_cache_dtype=request.kv_cache_dtype, dtype=request.dtype,
    )  # fmt: skip
    page, why = default_page_size(arch, request.sm)
    if settings.page_size is not None or request.block_size is not None:
        page, why = settings.page_size or request.block_size or page, "asked for"
    notes = [f"page size {page}: {why}"]
    if memory_mib is None:
        if request.memory is None:
            raise InputError("no GPU and no KV memory given", hint="say --gpu")
        memory_mib = 81559
        notes.append("no GPU given: defaults as on an H100")
    if request.pp > 1:
        notes.append("pipeline stages in SGLang are modelled, not checked against the engine")
    runs_in, _ = model_dtype(arch, "sglang", request.dtype)

    def pool_of(available: float, pre: float) -> SglangPool:
        # Every stage is profiled; the smallest pool counts for all.
        return min(
            (stage_pool(part, available, pre) for part in _stages(arch, request.pp)),
            key=lambda pool: (pool.error is None, pool.tokens),
        )

    def stage_pool(part: Architecture, available: float, pre: float) -> SglangPool:
        return sglang_pool(
            part, choice, settings, tp=request.tp, pp=request.pp, context=request.max_model_len,
            page=page, pre_load_gib=pre, available_gib=available, memory_mib=memory_mib,
            model_dtype=runs_in, ssm_dtype=request.ssm_dtype,
        )  # fmt: skip

    if request.memory is not None:
        # The figure is the budget itself: nothing is left to subtract.
        settings = replace(settings, mem_fraction_static=1.0)
        margin = 100 / 1024 if runs_vision(arch) else 0.0
        pools = [pool_of(min(request.memory) / GiB + margin, 0.0)] * 3
        memory = Range.exact(min(request.memory))
    else:
        pools, line = _from_card(request, settings, memory_mib, pool_of)
        notes.append(line)
        memory = Range(*(pool.budget for pool in pools))
    return _answer(pools, memory, request, page, tuple(notes))


def _stages(arch: Architecture, pp: int) -> list[Architecture]:
    """The model's layers by pipeline stage, stages without any left out."""
    if pp == 1:
        return [arch]
    parts = []
    for stage in pipeline_stages(arch.num_layers, pp):
        groups = (
            replace(group, indices=tuple(i for i in group.indices if i in stage))
            for group in arch.groups
        )
        held = tuple(group for group in groups if group.indices)
        if held:
            parts.append(replace(arch, groups=held))
    return parts


def _from_card(
    request: Request, settings: SglangOptions, memory_mib: int, pool_of: object
) -> tuple[list[SglangPool], str]:
    assert callable(pool_of)
    pre = settings.pre_load_gib
    available = settings.available_gib
    if available is not None:
        pre = pre if pre is not None else _visible(memory_mib)
        return [pool_of(available, pre)] * 3, "free memory as given"
    if request.weights_bytes is None:
        raise InputError(
            f"the weights of {request.arch.id} are not known", hint="say how many bytes a GPU holds"
        )
    pre = pre if pre is not None else _visible(memory_mib)
    after = pre - request.weights_bytes / GiB
    # Between the two readings lie the weights and what loading leaves behind.
    pools = [pool_of(after - left, pre) for left in (1.0, 0.3, 0.0)]
    return pools, (
        f"{pre:.2f} GiB free before loading and {after - 0.3:.2f} GiB after are estimates "
        "(driver and context keep about 1.5 % of the card)"
    )


def _visible(memory_mib: int) -> float:
    return memory_mib * MiB / GiB * 0.985


def _answer(
    pools: list[SglangPool], memory: Range, request: Request, page: int, notes: tuple[str, ...]
) -> PoolAnswer:
    low, likely, high = pools
    tokens = likely.tokens
    # Where no layer keeps a token, there is no pool of them to fill.
    counted = likely.error is not None or likely.cell > 0
    longest = (max(tokens - page, 0) if likely.error is None else 0) if counted else None
    spread: tuple[str, ...] = ()
    if counted and low.tokens != high.tokens:
        spread = (f"from {low.tokens:,} to {high.tokens:,} tokens over the range of memory",)
    concurrency = None
    if likely.error is None and request.max_model_len:
        concurrency = min(tokens / request.max_model_len, float(likely.max_running_requests))
    extra: list[tuple[str, object]] = [
        ("max_running_requests", likely.max_running_requests),
        ("mem_fraction_static", likely.mem_fraction_static),
    ]
    if likely.swa_tokens is not None:
        extra.append(("swa_tokens", likely.swa_tokens))
    if likely.slots is not None:
        extra.append(("state_slots", likely.slots))
    return PoolAnswer(
        memory=memory, block_size=page, blocks=tokens // page if page and counted else None,
        tokens=tokens if counted else None,
        max_concurrency=concurrency, longest=longest,
        fits=likely.error is None and (longest is None or request.max_model_len <= longest),
        refusal=likely.error,
        lines=(f"budget {format_bytes(likely.budget)}", *likely.lines, *spread),
        assumptions=notes, extra=(*extra, *likely.extra),
    )  # fmt: skip
