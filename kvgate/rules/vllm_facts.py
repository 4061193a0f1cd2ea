"""What several rules of vLLM ask of a plan: its connector, its allocator, its size under changes.

Sources: vllm 0.9.2 to 0.33.0, config/vllm.py, distributed/kv_transfer/kv_connector/; each release
named here was read.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from kvgate.architecture.layers import Attention, CompressedAttention
from kvgate.architecture.model import Architecture
from kvgate.errors import InputError
from kvgate.kvcache.size import Sizing, size
from kvgate.plan import transfer
from kvgate.plan.model import Plan
from kvgate.plan.vllm_size import arguments, held_weights, unread
from kvgate.rules.facts import between, engine_version, keeps_state, window_layers

__all__ = [
    "GPU", "MODEL", "block_size", "connectors", "events_enabled", "gfx", "has_groups", "has_sinks",
    "latent_heads", "manager_off", "mixes_windows", "named_backend", "resized",
    "seen", "size_fault", "spec",
]  # fmt: skip

GPU = "the GPU (--gpu)"
MODEL = "the model's config"


def spec(plan: Plan) -> str:
    """The engine for `kvgate.size`: the version asked for, else the newest."""
    version = engine_version(plan)
    return f"vllm=={version}" if version is not None else "vllm"


def seen(plan: Plan) -> str:
    """The engine in a sentence: ``vLLM 0.33.0``."""
    version = engine_version(plan)
    return f"vLLM {version}" if version is not None else "vLLM"


def named_backend(plan: Plan, name: str) -> str:
    """What to change so that this attention backend runs: the flag, or before it the variable."""
    variable = "VLLM_ATTENTION_BACKEND"
    read = between(plan, fixed="0.15.0")
    if between(plan, fixed="0.13.0") or (read and variable in plan.deployment.env):
        return f"set {variable}={name}"
    return plan.with_flag("--attention-backend", name)


def gfx(plan: Plan) -> str | None:
    """AMD's name for the GPU's generation, ``gfx942``; None where it is none of AMD's."""
    return plan.gpu.arch if plan.gpu is not None and plan.gpu.vendor.casefold() == "amd" else None


def has_sinks(arch: Architecture) -> bool:
    """Whether any layer has attention sinks."""
    return any(isinstance(g.layer, Attention) and g.layer.sinks for g in arch.groups)


def mixes_windows(arch: Architecture) -> bool:
    """Whether some attention layers look back over a window only, and others over everything."""
    full = any(isinstance(g.layer, Attention) and g.layer.kind == "full" for g in arch.groups)
    return full and bool(window_layers(arch))


def has_groups(arch: Architecture) -> bool:
    """Whether vLLM keeps layers of several kinds in groups of their own (hybrid manager)."""
    compressed = any(isinstance(g.layer, CompressedAttention) for g in arch.groups)
    return compressed or mixes_windows(arch) or keeps_state(arch)


def latent_heads(plan: Plan) -> int | None:
    """Query heads of one rank of a model with latent attention; None where they don't divide."""
    if plan.arch is None or plan.arch.query_heads % plan.tp:
        return None
    return plan.arch.query_heads // plan.tp


def connectors(plan: Plan) -> tuple[str, ...]:
    """The KV connectors in use, those inside of a MultiConnector in its place."""
    return transfer.connectors(plan.settings, engine_version(plan))


def events_enabled(plan: Plan) -> bool:
    """Whether KV events are configured at all: up to 0.19 that alone has consequences."""
    return transfer.events_enabled(plan.settings)


def manager_off(plan: Plan) -> tuple[str, bool] | None:
    """Why the hybrid manager is off, and whether that is certain; None where it is on.

    Not certain means a connector that vLLM doesn't ship, or one whose own release decides.
    """
    return transfer.manager_off(plan.settings, engine_version(plan))


def resized(plan: Plan, **changes: Any) -> Sizing | None:
    """The plan's size with some arguments of `kvgate.size` changed; None where it can't be said."""
    try:
        return _size(plan, changes)
    except InputError:
        return None


def size_fault(plan: Plan) -> str:
    """Why the allocator of this release can't lay out the model, "" where it can."""
    try:
        # How much memory there is doesn't matter to that.
        _size(plan, {"kv_cache_memory": 1 << 40})
    except InputError as error:
        return error.message
    return ""


def _size(plan: Plan, changes: dict[str, Any]) -> Sizing | None:
    if plan.arch is None or unread(plan.settings) - changes.keys():
        return None
    asked = plan.release.asked if plan.release is not None else engine_version(plan)
    given = {"gpu": plan.gpu, "engine": spec(plan), **arguments(plan.settings, asked), **changes}
    if plan.gpu is not None and "weights_bytes" not in changes:
        # Where they aren't known, a pool that is given by its bytes is known all the same.
        with suppress(InputError):
            given["weights_bytes"] = held_weights(plan.arch, plan.settings, tp=given["tp"])
    return size(plan.arch, **given)


def block_size(plan: Plan) -> int | None:
    """Tokens of one attention block as vLLM will really use it; None where it can't be said."""
    pool = plan.sizing.pool if plan.sizing is not None else None
    if pool is not None:
        return pool.block_size
    # The block doesn't depend on how much memory there is.
    sized = resized(plan, kv_cache_memory=1 << 40)
    return sized.pool.block_size if sized is not None and sized.pool is not None else None
