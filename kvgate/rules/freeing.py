"""Ways out of a refused attention backend: each is tried before it is advised."""

from __future__ import annotations

from collections.abc import Mapping

from kvgate.errors import InputError
from kvgate.plan.model import Plan
from kvgate.plan.vllm_gates import gates_of

__all__ = ["freed"]

_BACKEND = "--attention-backend"


def freed(plan: Plan, *ways: Mapping[str, str | None]) -> str:
    """The command of the first way with which a backend takes every layer and starts.

    A way is vLLM's flags with their new values, None for a flag that goes. Where none leads out, a
    sentence that says so; "" where the gates can't be asked.
    """
    if plan.arch is None or plan.gpu is None or plan.release is None:
        return ""
    for way in ways:
        if _changes_nothing(plan, way):
            continue
        settings = {**plan.settings, **{_name(flag): value for flag, value in way.items()}}
        forced = None if _BACKEND in way else plan.forced_backend
        try:
            found = gates_of(plan.arch, plan.gpu, plan.release, settings, forced)
        except InputError:
            continue  # the release has no such value
        if not found.error and not found.then_fails:
            return plan.with_flags(way)
    return f"another GPU: no backend of {plan.release} on {plan.gpu.name} takes this model"


def _changes_nothing(plan: Plan, way: Mapping[str, str | None]) -> bool:
    """Whether the plan has it so already; a backend may be forced by the environment too."""
    return all(
        plan.forced_backend is None if flag == _BACKEND else plan.get(_name(flag), "auto") == value
        for flag, value in way.items()
    )


def _name(flag: str) -> str:
    return flag.lstrip("-").replace("-", "_")
