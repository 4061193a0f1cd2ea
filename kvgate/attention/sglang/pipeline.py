"""The rules in SGLang's order, and the answer to one question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kvgate.attention.sglang import (
    choice,
    constructor,
    deterministic,
    gates,
    graphs,
    hooks,
    mamba,
    moe,
    pages,
    quantized,
    registry,
    sparse,
    speculation,
    v4,
)
from kvgate.attention.sglang.aliases import backend_aliases
from kvgate.attention.sglang.limits import (
    cache_limits,
    check,
    decode_server,
    decode_server_late,
    hierarchical,
    pipeline_parallel,
)
from kvgate.attention.sglang.model import Model
from kvgate.attention.sglang.options import settings
from kvgate.attention.sglang.outcome import Later, Outcome, RefusedError
from kvgate.attention.sglang.release import rules
from kvgate.attention.sglang.state import State

__all__ = ["PIPELINE", "Query", "resolve"]

PIPELINE: tuple[Callable[[State], None], ...] = (
    backend_aliases,
    decode_server,
    graphs.parse,
    graphs.prefill_graph,
    hooks.model_hook,
    moe.moe_hook,
    sparse.sparse_mla_backend,
    v4.deepseek_v4,
    sparse.sparse_mla,
    moe.moe_sparse_mla,
    mamba.mamba_radix_by_hook,
    hooks.allowed,
    moe.moe_hook_late,
    mamba.mamba_radix,
    deterministic.deterministic,
    quantized.nvfp4_prefill,
    choice.fill,
    gates.eager_backends,
    pages.backend_pages,
    gates.trtllm_mla,
    gates.tokenspeed_mla,
    gates.cutedsl_mla,
    gates.trtllm_mha,
    gates.e5m2_swap,
    pages.fa4_page,
    graphs.trtllm_mla_prefill_graph,
    mamba.linear_decode,
    quantized.kv4,
    quantized.mxfp8,
    pages.default_page,
    hierarchical,
    moe.moe_gate,
    pipeline_parallel,
    speculation.speculate,
    decode_server_late,
    cache_limits,
    deterministic.deterministic_late,
    check,
)


@dataclass(frozen=True, slots=True)
class Query:
    """A model, a compute capability, a release, and options by destination or spelling.

    ``memory_mib`` is the GPU's memory as the driver reports it; where it is None, what depends on
    it is said to be unknown.
    """

    model: Model
    sm: tuple[int, int]
    engine: str = "sglang"
    flags: Mapping[str, object] = field(default_factory=dict)
    memory_mib: int | None = None


def resolve(query: Query) -> Outcome:
    """What SGLang makes of the query.

    Raises InputError for an unknown release or option. A value that the release's own argument
    parser refuses is an outcome, at stage ``argparse``.
    """
    said = rules(query.engine)
    try:
        asked, unknown = settings(said, query.flags)
    except RefusedError as refused:
        return Outcome(error=refused.text, stage=refused.stage)
    state = State(said, query.model, query.sm, query.memory_mib, asked)
    state.unknown += unknown
    try:
        for rule in PIPELINE:
            rule(state)
        kv_torch = quantized.torch_dtype(state)
        registry.registry(state)
    except RefusedError as refused:
        return Outcome(
            error=refused.text, stage=refused.stage, warnings=tuple(state.warnings),
            notes=tuple(state.notes), unknown=tuple(state.unknown),
        )  # fmt: skip
    return _outcome(state, kv_torch, constructor.refuses(state, kv_torch))


def _outcome(state: State, kv_torch: str, then_fails: tuple[Later, ...]) -> Outcome:
    prefill, decode = state.backends
    kernels = tuple(state[key] for key in sparse.kernel_keys(state))
    kv_dtype = state["kv_cache_dtype"]
    strategy = state["mamba_radix_cache_strategy"]
    runner = state["moe_runner_backend"]
    dequant = state["prefill_kv_cache_dequant_dtype"]
    breakable = graphs.breakable(state)
    return Outcome(
        prefill=prefill,
        decode=decode,
        page_size=state["page_size"],
        kv_dtype=kv_dtype,
        kv_torch=kv_torch,
        graph=(state.decode_graph, state.prefill_graph) if breakable else None,
        sparse=(kernels[0], kernels[1]) if all(kernels) else None,
        mamba_strategy=None if strategy == "auto" else strategy,
        linear_decode=state["linear_attn_decode_backend"],
        draft=state["speculative_draft_attention_backend"],
        moe_runner=None if runner == "auto" else runner,
        nvfp4_prefill=None if dequant == "auto" else dequant,
        hybrid_swa_off=bool(state["disable_hybrid_swa_memory"]),
        overlap_off=bool(state["disable_overlap_schedule"]),
        radix_off=bool(state["disable_radix_cache"]),
        warnings=tuple(state.warnings),
        notes=tuple(state.notes),
        unknown=tuple(state.unknown),
        then_fails=then_fails,
    )
