"""The part of a plan that TensorRT-LLM and llama.cpp get: what the model needs, no gates."""

from __future__ import annotations

from kvgate.kvcache.size import size
from kvgate.plan.build import Draft
from kvgate.plan.vllm import draft_lacks

__all__ = ["fill"]


def fill(draft: Draft, kv_cache_memory: int | None) -> None:
    """Size the model's KV need; the engine's own pool only where its memory is given."""
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
    draft.sizing = draft.attempt(
        "size",
        lambda: size(
            arch, engine=engine, tp=get("tp_size") or 1, max_model_len=length,
            kv_cache_memory=kv_cache_memory,
        ),
    )  # fmt: skip
