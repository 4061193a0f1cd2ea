"""Deterministic inference: a backend of its own list, and no radix cache outside a shorter one."""

from __future__ import annotations

from kvgate.attention.sglang.state import State

__all__ = ["deterministic", "deterministic_late"]


def deterministic(state: State) -> None:
    """Since 0.5.12: before the automatic choice, so that its own choice holds."""
    if state["enable_deterministic_inference"] and not _late(state):
        _apply(state)


def deterministic_late(state: State) -> None:
    """Up to 0.5.11: after everything, so that an automatic backend counts as the user's."""
    if state["enable_deterministic_inference"] and _late(state):
        _apply(state)


def _late(state: State) -> bool:
    return not state.rules.since("0.5.12")


def _apply(state: State) -> None:
    state.warn("w.deterministic.sampling")
    latent = state.rules.among("deterministic_mla", state.architecture)
    backend = state["attention_backend"]
    if backend is None:
        blackwell = "triton" if latent else "flashinfer"
        backend = blackwell if state.major in (10, 12) else "fa3"
        state["attention_backend"] = backend
        state.warn("w.deterministic.backend", backend=backend)
    elif backend not in state.rules.choices("deterministic"):
        raise state.refuse("deterministic.backend")
    radix = state.rules.choices("deterministic_radix")
    if latent and backend not in radix:
        raise state.refuse("deterministic.mla")
    gate = "deterministic.fa4"
    if latent and backend == "fa4" and state.rules.has(gate):  # noqa: SIM102
        if state.major not in state.rules.majors(gate):
            raise state.refuse(gate)
    if backend not in radix:
        state["disable_radix_cache"] = True
        state.warn("w.deterministic.radix")
    if state["tp_size"] > 1:
        state.warn("w.deterministic.nccl")
