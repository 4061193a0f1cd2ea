"""vLLM's part of a plan: the gates and the pool for the settings that it will really use."""

from __future__ import annotations

from typing import Any

from packaging.version import Version

from kvgate.kvcache.size import Sizing, size
from kvgate.plan.checkpoint import refused_model
from kvgate.plan.draft import Draft
from kvgate.plan.transfer import manager_off
from kvgate.plan.values import count, refused_values
from kvgate.plan.vllm_gates import gates_of
from kvgate.plan.vllm_size import arguments, held_weights, offloaded_gib

__all__ = ["draft_lacks", "fill"]

# Up to this release the environment names a backend; later ones don't read it
# (vllm 0.15.0 envs.py has it no more).
_ENVIRONMENT_UNTIL = (0, 15)

# What moves memory in ways that the pool model doesn't follow: with one of these the need is told,
# but whether it fits is not.
_UNCOUNTED = {
    "num_gpu_blocks_override": "the number of blocks is set by hand",
    "enable_lora": "LoRA adapters take memory that kvgate doesn't count",
}


def fill(draft: Draft, kv_cache_memory: int | None) -> None:
    """Ask the gates and the sizing; what they can't say goes to the draft's unknowns."""
    draft.problems += refused_values(draft.deployment, draft.release)
    version = draft.deployment.version or _asked(draft)
    if version is not None:
        draft.problems += refused_model(draft.deployment, version, draft.arch, draft.gpu)
    draft.forced_backend = _forced(draft)
    if draft.arch is None or draft.release is None:
        draft.lack("gates", draft_lacks(draft, "model", "version"))
    else:
        _gates(draft)
    # Pools are known of releases before the catalogue's first, whose gates aren't.
    if draft.arch is None or _asked(draft) is None:
        draft.lack("size", draft_lacks(draft, "model", "version"))
    else:
        _size(draft, kv_cache_memory)


def _gates(draft: Draft) -> None:
    if draft.gpu is None:
        draft.lack("gates", draft_lacks(draft, "gpu"))
        return
    arch, gpu, release = draft.arch, draft.gpu, draft.release
    assert arch is not None
    assert release is not None
    draft.gates = draft.attempt(
        "gates", lambda: gates_of(arch, gpu, release, draft.settings, draft.forced_backend)
    )


def _size(draft: Draft, kv_cache_memory: int | None) -> None:
    get, arch = draft.settings.get, draft.arch
    assert arch is not None
    memory = kv_cache_memory or count(draft.settings, "kv_cache_memory_bytes")
    uncounted = [why for name, why in _UNCOUNTED.items() if get(name)]
    if _has_own_draft(get("speculative_config")):
        uncounted.append("the draft model's weights and cache are not counted")
    if (count(draft.settings, "prefill_context_parallel_size") or 1) > 1:
        uncounted.append("what prefill context parallelism divides is not counted")
    gpu = draft.gpu
    if uncounted:
        draft.lack("size", f"whether it fits: {'; '.join(uncounted)}")
        gpu, memory = None, None
    weights = draft.attempt("weights", lambda: _weights(draft)) if gpu is not None else None
    _note_groups(draft)

    def ask(length: int | None) -> Sizing:
        given = arguments(draft.settings, _asked(draft))
        return size(
            arch, gpu=gpu, engine=f"vllm=={_asked(draft)}", weights_bytes=weights,
            **{**given, "max_model_len": length, "kv_cache_memory": memory},
        )  # fmt: skip

    found = draft.attempt("size", lambda: ask(count(draft.settings, "max_model_len")))
    if found is not None and found.fits is False and get("max_model_len") in (-1, "auto"):
        # vLLM then takes the longest that its check admits, so that is the length it runs with.
        refused = found.pool is not None and found.pool.refusal is not None
        longest = found.pool.admitted if found.pool is not None and refused else None
        if longest:
            found = draft.attempt("size", lambda: ask(longest))
            draft.assumed.append(f"the automatic length comes to {longest:,} tokens here")
    draft.sizing = found


def _note_groups(draft: Draft) -> None:
    """Where the model has groups, what turned the hybrid manager off."""
    off = manager_off(draft.settings, _asked(draft))
    if off is None or draft.arch is None:
        return
    why, certain = off
    if len({group.layer for group in draft.arch.groups}) > 1:
        draft.assumed.append(
            f"sized without the hybrid KV cache manager: {why}"
            if certain
            else f"sized with the hybrid KV cache manager, which may be off: {why}"
        )


def _asked(draft: Draft) -> Version | None:
    return draft.release.asked if draft.release is not None else draft.deployment.version


def _weights(draft: Draft) -> tuple[int, ...]:
    assert draft.arch is not None
    offloaded = offloaded_gib(draft.settings)
    if offloaded:
        draft.assumed.append(f"{offloaded} GiB of weights stay in host memory (--cpu-offload-gb)")
    return held_weights(draft.arch, draft.settings)


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


def _has_own_draft(config: Any) -> bool:
    return isinstance(config, dict) and bool(config.get("model"))
