"""vLLM's part of a plan: the gates and the pool for the settings that it will really use."""

from __future__ import annotations

from typing import Any

from kvgate.attention import backends
from kvgate.kvcache.size import size
from kvgate.plan.build import Draft

__all__ = ["fill"]

# Up to this release the environment names a backend; later ones don't read it
# (vllm 0.15.0 envs.py has it no more).
_ENVIRONMENT_UNTIL = (0, 15)


def fill(draft: Draft, kv_cache_memory: int | None) -> None:
    """Ask the gates and the sizing; what they can't say goes to the draft's unknowns."""
    get = draft.settings.get
    force = draft.forced_backend = _forced(draft)
    text_only = bool(get("language_model_only")) or _no_images(get("limit_mm_per_prompt"))
    tp, dcp = get("tensor_parallel_size") or 1, get("decode_context_parallel_size") or 1
    common: dict[str, Any] = {
        "kv_cache_dtype": get("kv_cache_dtype") or "auto",
        "dtype": get("dtype") or "auto",
    }
    if draft.arch is None or draft.release is None:
        draft.lack("gates", draft_lacks(draft, "model", "version"))
        draft.lack("size", draft_lacks(draft, "model", "version"))
        return
    arch, spec = draft.arch, str(draft.release)
    if draft.gpu is None:
        draft.lack("gates", draft_lacks(draft, "gpu"))
    else:
        gpu = draft.gpu
        draft.gates = draft.attempt(
            "gates",
            lambda: backends(
                arch, gpu=gpu, engine=spec, force=force, block_size=get("block_size"),
                tp=tp, dcp=dcp, text_only=text_only, **common,
            ),
        )  # fmt: skip
    memory = kv_cache_memory or get("kv_cache_memory_bytes")
    draft.sizing = draft.attempt(
        "size",
        lambda: size(
            arch, gpu=draft.gpu, engine=spec, tp=tp, pp=get("pipeline_parallel_size") or 1,
            dcp=dcp, block_size=get("block_size"), max_model_len=_length(get("max_model_len")),
            max_num_batched_tokens=get("max_num_batched_tokens"),
            max_num_seqs=get("max_num_seqs"),
            gpu_memory_utilization=get("gpu_memory_utilization"), kv_cache_memory=memory,
            prefix_caching=get("enable_prefix_caching"),
            enforce_eager=bool(get("enforce_eager")),
            hybrid_kv_cache_manager=not get("disable_hybrid_kv_cache_manager"),
            speculative_tokens=_speculative(get("speculative_config")), **common,
        ),
    )  # fmt: skip


def draft_lacks(draft: Draft, *names: str) -> str:
    """The facts that are already known to be missing, of those named."""
    found = [u.lacks for u in draft.unknown if u.what in names]
    return "; ".join(dict.fromkeys(found)) or " or ".join(names)


def _forced(draft: Draft) -> str | None:
    config = draft.settings.get("attention_config")
    named = draft.settings.get("attention_backend")
    if named is None and isinstance(config, dict):
        named = config.get("backend")
    if named is None and draft.release is not None:
        asked = draft.release.asked.release[:2]
        if asked < _ENVIRONMENT_UNTIL:
            named = draft.deployment.env_value("VLLM_ATTENTION_BACKEND")
    if isinstance(named, str) and named.casefold() not in ("auto", ""):
        return named.upper()
    return None


def _no_images(limits: Any) -> bool:
    return isinstance(limits, dict) and bool(limits) and all(v == 0 for v in limits.values())


def _length(value: Any) -> int | None:
    # -1 and auto ask vLLM to find the longest that fits: sized at the model's own length.
    return value if isinstance(value, int) and value > 0 else None


def _speculative(config: Any) -> int:
    if not isinstance(config, dict):
        return 0
    tokens = config.get("num_speculative_tokens")
    return tokens if isinstance(tokens, int) and tokens > 0 else 0
