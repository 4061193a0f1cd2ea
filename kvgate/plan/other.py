"""The part of a plan that TensorRT-LLM and llama.cpp get: what the model needs, no gates."""

from __future__ import annotations

from collections.abc import Mapping

from kvgate.kvcache.size import size
from kvgate.plan.build import Draft
from kvgate.plan.values import count
from kvgate.plan.vllm import draft_lacks

__all__ = ["fill"]


def fill(draft: Draft, kv_cache_memory: int | None) -> None:
    """Size the model's KV need; the engine's own pool only where its memory is given.

    llama.cpp's cache has a type for K and one for V; where they differ the need stays open.
    """
    engine = draft.deployment.engine
    draft.lack("gates", f"kvgate reads no gates of {engine}")
    if draft.arch is None:
        draft.lack("size", draft_lacks(draft, "model"))
        return
    arch, get = draft.arch, draft.settings.get
    length = next(
        (v for k in ("max_seq_len", "ctx_size", "n_ctx") if isinstance(v := get(k), int) and v > 0),
        None,
    )
    dtype = "auto"
    if engine == "llama.cpp":
        kinds = {str(get(name) or "f16").casefold() for name in ("cache_type_k", "cache_type_v")}
        if len(kinds) > 1:
            draft.lack("size", f"one figure for K and V of {' and '.join(sorted(kinds))}")
            return
        dtype = kinds.pop()
    elif engine == "tensorrt-llm":
        cache = draft.deployment.config.get("kv_cache_config")
        asked = cache.get("dtype") if isinstance(cache, Mapping) else None
        dtype = asked if isinstance(asked, str) and asked else "auto"
    draft.sizing = draft.attempt(
        "size",
        lambda: size(
            arch, engine=engine, max_model_len=length, kv_cache_memory=kv_cache_memory,
            tp=count(draft.settings, "tensor_parallel_size") or 1,
            pp=count(draft.settings, "pipeline_parallel_size") or 1, kv_cache_dtype=dtype,
        ),
    )  # fmt: skip
