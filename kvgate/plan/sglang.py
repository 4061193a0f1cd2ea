"""SGLang's part of a plan: its own resolution of backends, pages and dtypes, and its pools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvgate.attention.sglang import Query, model_facts, resolve
from kvgate.kvcache.sglang_options import SglangOptions
from kvgate.kvcache.size import size
from kvgate.plan.draft import Draft
from kvgate.plan.vllm import draft_lacks

__all__ = ["fill"]

_OPTIONS = (
    "mem_fraction_static", "chunked_prefill_size", "max_running_requests", "max_total_tokens",
    "disable_radix_cache", "disable_overlap_schedule", "disable_hybrid_swa_memory",
    "swa_full_tokens_ratio", "mamba_full_memory_ratio", "max_mamba_cache_size",
    "enable_dp_attention",
)  # fmt: skip


def fill(draft: Draft, kv_cache_memory: int | None) -> None:
    """Resolve the arguments and size the pools; what can't be said goes to the unknowns."""
    if draft.arch is None or draft.release is None:
        draft.lack("gates", draft_lacks(draft, "model", "version"))
        draft.lack("size", draft_lacks(draft, "model", "version"))
        return
    arch, spec, gpu = draft.arch, str(draft.release), draft.gpu
    get = draft.settings.get
    if gpu is None or gpu.sm is None:
        draft.lack("gates", draft_lacks(draft, "gpu") if gpu is None else f"gates for {gpu.name}")
    else:
        query = Query(
            model_facts(arch), gpu.sm, spec, _flags(draft.settings), memory_mib=gpu.memory_mib
        )
        draft.outcome = draft.attempt("gates", lambda: resolve(query))
    outcome = draft.outcome
    options: dict[str, Any] = {n: get(n) for n in _OPTIONS if get(n) is not None}
    if outcome is not None and outcome.page_size is not None:
        options["page_size"] = outcome.page_size
    elif get("page_size"):
        options["page_size"] = get("page_size")
    dtype = outcome.kv_dtype if outcome and outcome.kv_dtype else get("kv_cache_dtype")
    draft.sizing = draft.attempt(
        "size",
        lambda: size(
            arch, gpu=gpu, engine=spec, tp=get("tp_size") or get("tensor_parallel_size") or 1,
            pp=get("pp_size") or 1, kv_cache_dtype=dtype or "auto",
            max_model_len=get("context_length"), kv_cache_memory=kv_cache_memory,
            options=SglangOptions(**options),
        ),
    )  # fmt: skip


def _flags(settings: Mapping[str, Any]) -> dict[str, object]:
    # The model is given as an architecture already, and its path is no option of the resolution.
    return {k: v for k, v in settings.items() if k not in ("model_path", "model") and v is not None}
