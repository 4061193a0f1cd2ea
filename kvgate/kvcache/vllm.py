"""vLLM's answer to a sizing question: its defaults, its pages, its pool."""

from __future__ import annotations

from dataclasses import dataclass

from kvgate.architecture.layers import Attention, NoCache
from kvgate.architecture.model import Architecture
from kvgate.catalog.formats import kv_format
from kvgate.errors import InputError, nearest
from kvgate.kvcache.answer import PoolAnswer, Range
from kvgate.kvcache.choice import choose_format, model_dtype, plain_layers
from kvgate.kvcache.grouping import group_layers
from kvgate.kvcache.page import Demand
from kvgate.kvcache.pool import VllmPool, vllm_pool
from kvgate.kvcache.request import Request
from kvgate.kvcache.reserve import Reserve, available
from kvgate.kvcache.vllm_pages import PagePlan, Setup, default_block_size, plan_pages
from kvgate.kvcache.vllm_rules import VllmRules, batch_defaults, vllm_rules
from kvgate.units import format_bytes

__all__ = ["Defaults", "VllmAnswer", "vllm_answer", "vllm_defaults"]

# Tokens of one video for Gemma 4, which must fit in one batch: 32 frames of 78 tokens.
_GEMMA4_VIDEO = 32 * 78


@dataclass(frozen=True, slots=True)
class Defaults:
    """vLLM's settings after its own defaults, and what was assumed for them."""

    max_num_batched_tokens: int
    max_num_seqs: int
    gpu_memory_utilization: float
    prefix_caching: bool
    mamba_mode: str
    in_flight: int
    assumptions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VllmAnswer:
    """The generic answer, with vLLM's own pool and the reserve behind it (None without a GPU)."""

    answer: PoolAnswer
    pool: VllmPool
    reserve: Reserve | None
    defaults: Defaults


def vllm_answer(request: Request) -> VllmAnswer:
    """The pool vLLM makes of a request that gives a GPU or the KV memory per rank.

    Raises InputError where a default cannot be known without a GPU, and where vLLM has no such
    combination.
    """
    rules = vllm_rules(request.version)
    defaults = vllm_defaults(request, rules)
    plan = _plan(request, rules, defaults)
    demand = Demand(
        request.max_model_len, defaults.in_flight, request.dcp, request.encoder_tokens or 0
    )
    groups = group_layers(plan.layers, rules, hybrid=_hybrid_manager(request, rules))

    def pool_of(memory: list[int]) -> VllmPool:
        return vllm_pool(
            plan, rules, memory, demand, num_layers=request.arch.num_layers, groups=groups
        )

    reserve = None
    if request.memory is not None:
        given = list(request.memory)
        if len(given) not in (1, request.pp):
            raise InputError(
                f"{len(given)} memory figures for {request.pp} pipeline stages",
                hint="give one figure, or one per stage",
            )
        stages = given if len(given) == request.pp else given * request.pp
        pool = pool_of(stages)
        memory = Range.exact(min(given))
    else:
        reserve = available(request, rules, defaults.max_num_batched_tokens, defaults.max_num_seqs,
                            defaults.gpu_memory_utilization)  # fmt: skip
        memory = reserve.kv
        stages = _by_stage(request, memory.likely)
        pool = pool_of(stages)
    admitted, longest = pool.limits()
    lines = [*plan.lines, *pool.lines]
    if reserve is not None:
        lines = [*reserve.lines, *_stage_line(stages), *lines, *_spread(memory, pool_of, request)]
    answer = PoolAnswer(
        memory=memory, block_size=pool.block_size, blocks=pool.blocks, tokens=pool.tokens,
        max_concurrency=pool.concurrency, longest=longest, fits=pool.holds,
        refusal=pool.refusal, lines=tuple(lines),
        starts_anyway=_why_it_starts(request, rules, pool), admitted=admitted,
        assumptions=(*defaults.assumptions, *plan.assumptions,
                     *(reserve.assumptions if reserve is not None else ())),
    )  # fmt: skip
    return VllmAnswer(answer, pool, reserve, defaults)


def vllm_defaults(request: Request, rules: VllmRules) -> Defaults:
    """vLLM's settings for a request, where the user gave none.

    Raises InputError for a utilisation outside 0 to 1 and for an unknown Mamba cache mode.
    """
    notes: list[str] = []
    tokens, seqs = _batch(request, rules, notes)
    utilization = request.gpu_memory_utilization
    if utilization is None:
        utilization = rules.gpu_memory_utilization
    if not 0 < utilization <= 1:
        raise InputError(f"gpu_memory_utilization is {utilization}; it must be above 0, up to 1")
    has_states = _has_states(request.arch)
    prefix = request.prefix_caching
    if prefix is None:
        prefix = not has_states or (rules.hybrid_prefix_caching and bool(request.arch.head_sizes()))
    mode = _mamba_mode(request, rules, prefix)
    return Defaults(
        max_num_batched_tokens=tokens, max_num_seqs=seqs, gpu_memory_utilization=utilization,
        prefix_caching=prefix, mamba_mode=mode if has_states else "none",
        in_flight=tokens * _batches(request, rules), assumptions=tuple(notes),
    )  # fmt: skip


def _batch(request: Request, rules: VllmRules, notes: list[str]) -> tuple[int, int]:
    """(max_num_batched_tokens, max_num_seqs) as asked, or as the engine sets them by itself."""
    tokens, seqs = request.max_num_batched_tokens, request.max_num_seqs
    for name, value in (("max_num_batched_tokens", tokens), ("max_num_seqs", seqs)):
        if value is not None and value < 1:
            raise InputError(f"{name} is {value}; it must be at least 1")
    if tokens is not None and seqs is not None:
        return tokens, seqs
    by_card = (8192, 1024)
    if request.gpu is not None:
        by_card = batch_defaults(rules, request.gpu.memory_bytes, request.gpu.name)
    elif tokens is None:
        notes.append("no GPU given: max_num_batched_tokens is taken to be 8192, as on an H100")
    rows = seqs if seqs is not None else by_card[1]
    if tokens is None:
        tokens = by_card[0]
        gemma = request.arch.mm_prefix and request.arch.model_type.startswith("gemma4")
        if gemma and rules.whole_images:
            tokens = max(tokens, _GEMMA4_VIDEO)
        tokens = min(tokens, rows * request.max_model_len)
    return tokens, seqs if seqs is not None else min(rows, tokens)


def _mamba_mode(request: Request, rules: VllmRules, prefix_caching: bool) -> str:
    """The Mamba cache mode that is asked for or follows; asked for without prefix caching, none."""
    mode = rules.mamba_mode(request.arch.model_type, prefix_caching, request.speculative)
    asked = request.mamba_cache_mode
    if asked is None:
        return mode
    modes = ("none", "align") if rules.version.release >= (0, 32) else ("none", "align", "all")
    if asked not in modes:
        raise InputError(
            f"vLLM {rules.version} has no mamba_cache_mode {asked!r}", hint=nearest(asked, modes)
        )
    # Asking for none leaves the choice to the engine.
    if not prefix_caching or asked == "none":
        return mode
    return rules.mamba_mode(request.arch.model_type, True, request.speculative, asked)


def _batches(request: Request, rules: VllmRules) -> int:
    """Batches that are scheduled and not yet settled at a time."""
    if not rules.in_flight:
        return 1
    if request.async_scheduling is False or not rules.async_by_default:
        return request.pp
    if request.pp > 1 and not _second_runner(request, rules):
        return request.pp
    return request.pp + 1


def _second_runner(request: Request, rules: VllmRules) -> bool:
    """Whether the V2 model runner serves this model: all of them from 0.29 on, before that the
    dense ones (and a few more that are not told apart here)."""
    if rules.version.release >= (0, 29):
        return True
    routed = any(part.role == "experts" for part in request.arch.parts)
    return not routed and not _has_states(request.arch)


def _plan(request: Request, rules: VllmRules, defaults: Defaults) -> PagePlan:
    arch = request.arch
    choice = choose_format(
        arch, engine="vllm", version=request.version, sm=request.sm,
        kv_cache_dtype=request.kv_cache_dtype, dtype=request.dtype,
    )  # fmt: skip
    runs_in, _ = model_dtype(arch, "vllm", request.dtype, request.sm)
    block = request.block_size
    if block is None:
        block = default_block_size(arch, rules, request.sm)
    if block < 1:
        raise InputError(f"block size {block} is impossible")
    return plan_pages(
        arch,
        Setup(
            rules=rules, choice=choice, tp=request.tp, block_size=block,
            max_model_len=request.max_model_len, model_type=arch.model_type, model_dtype=runs_in,
            sm=request.sm, mamba_mode=defaults.mamba_mode, ssm_dtype=request.ssm_dtype,
            speculative=request.speculative, plain=kv_format(runs_in),
            spared=plain_layers(arch, choice, request.skip_layers),
        ),
    )  # fmt: skip


def _hybrid_manager(request: Request, rules: VllmRules) -> bool:
    chunked = any(
        isinstance(g.layer, Attention) and g.layer.kind == "chunked" for g in request.arch.groups
    )
    if chunked and (not rules.chunked_hybrid or request.speculative):
        return False
    return request.hybrid


def _has_states(arch: Architecture) -> bool:
    plain = (
        "full", "sliding", "chunked", "cross", "mla", "compressed", "none", "stream_conv",
    )  # fmt: skip
    return any(
        not isinstance(group.layer, NoCache) and group.layer.kind not in plain
        for group in arch.groups
    )


def _why_it_starts(request: Request, rules: VllmRules, pool: VllmPool) -> str | None:
    """Why vLLM starts with a length that its pool does not hold; None where it does neither."""
    if pool.holds or pool.refusal is not None:
        return None
    counts = (
        "counts the first group only"
        if rules.needs_by_group and not rules.needs_all_groups
        else "counts fewer blocks than a request takes"
    )
    return f"vllm {request.version} starts, because its check {counts}"


def _by_stage(request: Request, memory: int) -> list[int]:
    """KV memory of a rank of each pipeline stage, where the one with most weights has ``memory``:
    what another stage holds less in weights, it has more for its cache."""
    if len(request.stage_weights) != request.pp or not memory:
        return [memory] * request.pp
    most = max(request.stage_weights)
    return [memory + most - held for held in request.stage_weights]


def _stage_line(stages: list[int]) -> list[str]:
    if len(set(stages)) == 1:
        return []
    told = ", ".join(format_bytes(size) for size in stages)
    return [f"what less weights leave is the cache's; KV memory by pipeline stage: {told}"]


def _spread(memory: Range, pool_of: object, request: Request) -> list[str]:
    if memory.known or not callable(pool_of):
        return []
    low, high = (pool_of(_by_stage(request, size)) for size in (memory.low, memory.high))
    return [
        f"from {format_bytes(memory.low)} to {format_bytes(memory.high)} of KV memory a GPU: "
        f"{low.tokens:,} to {high.tokens:,} tokens, {low.concurrency:.2f}x to "
        f"{high.concurrency:.2f}x"
    ]
