"""What several rules ask of a plan: the engine's version, the GPU's generation, kinds of layers."""

from __future__ import annotations

from typing import Any

from packaging.version import Version

from kvgate.architecture.layers import MLA, Attention, StateLayer
from kvgate.architecture.model import Architecture
from kvgate.plan.model import Plan

__all__ = [
    "between", "engine_version", "is_latent", "is_sparse", "keeps_state", "major", "number",
    "on_amd", "option", "smallest_window", "state_strategy", "text", "truthy", "window_layers",
]  # fmt: skip

_TRUE = {"1", "true", "yes", "on", "enabled"}


def engine_version(plan: Plan) -> Version | None:
    """The version asked for; where none is named, the newest release of the catalogue, if any.

    An engine older than the catalogue has no release but still a version.
    """
    if plan.deployment.version is not None:
        return plan.deployment.version
    return plan.release.asked if plan.release is not None and plan.release.read else None


def between(plan: Plan, first: str | None = None, fixed: str | None = None) -> bool | None:
    """Whether the version lies in ``first`` (included) to ``fixed`` (left out); None if unknown."""
    version = engine_version(plan)
    if version is None:
        return None
    if first is not None and version < Version(first):
        return False
    return fixed is None or version < Version(fixed)


def major(plan: Plan) -> int | None:
    """The GPU's major compute capability; None where the GPU isn't known, and for AMD's."""
    return plan.gpu.sm[0] if plan.gpu is not None and plan.gpu.sm is not None else None


def on_amd(plan: Plan) -> bool:
    """Whether the GPU is known to be AMD's."""
    return plan.gpu is not None and plan.gpu.vendor.casefold() == "amd"


def is_latent(arch: Architecture) -> bool:
    """Whether any layer keeps a latent (MLA)."""
    return any(isinstance(group.layer, MLA) for group in arch.groups)


def is_sparse(arch: Architecture) -> bool:
    """Whether any layer is sparse MLA (DeepSeek V3.2, GLM-5)."""
    return any(isinstance(group.layer, MLA) and group.layer.sparse for group in arch.groups)


def window_layers(arch: Architecture) -> int:
    """How many layers look back over a window or a chunk only."""
    return sum(
        group.count
        for group in arch.groups
        if isinstance(group.layer, Attention) and group.layer.kind in ("sliding", "chunked")
    )


def smallest_window(arch: Architecture) -> int | None:
    """The smallest window of the model's layers, in tokens; None where there is none."""
    windows = [
        group.layer.window
        for group in arch.groups
        if isinstance(group.layer, Attention) and group.layer.kind in ("sliding", "chunked")
    ]
    return min((window for window in windows if window), default=None)


def keeps_state(arch: Architecture) -> bool:
    """Whether any layer keeps a state of fixed size (Mamba, gated delta net and the like)."""
    return any(isinstance(group.layer, StateLayer) for group in arch.groups)


def state_strategy(plan: Plan) -> str:
    """SGLang's strategy for the states of a hybrid, by its flag's name of today or of 0.5.19."""
    names = ("mamba_radix_cache_strategy", "mamba_scheduler_strategy")
    return next((text(plan.get(name)) for name in names if plan.get(name)), "auto")


def number(value: Any) -> int | None:
    """A whole number above zero, else None."""
    good = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return value if good else None


def text(value: Any) -> str:
    """A setting as folded text, "" where it isn't given."""
    return str(value).casefold() if value is not None else ""


def truthy(value: str | None) -> bool:
    """Whether an environment variable's text says yes."""
    return value is not None and value.strip().casefold() in _TRUE


def option(plan: Plan, *path: str) -> Any:
    """A value of TensorRT-LLM's file of options, by its keys; None where it isn't there."""
    found: Any = plan.deployment.config
    for key in path:
        found = found.get(key) if hasattr(found, "get") else None
    return found
