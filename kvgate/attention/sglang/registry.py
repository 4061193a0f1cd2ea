"""The backends' own gates: they speak after the weights are loaded and the pool is allocated."""

from __future__ import annotations

from kvgate.attention.sglang.state import State

__all__ = ["registry"]


def registry(state: State) -> None:
    """Create the decode backend, then the prefill backend where it differs, then wrap them."""
    prefill, decode = state.backends
    for backend in dict.fromkeys((decode, prefill)):
        _create(state, str(backend))
    _wrap(state)


def _create(state: State, backend: str) -> None:
    if backend == "fa3":
        if not (state.major == 9 or (state.major == 8 and not state.mla)):
            raise state.refuse("registry.fa3", "registry")
    elif backend in ("trtllm_mla", "cutedsl_mla", "tokenspeed_mla"):
        if not state.mla:
            raise state.refuse(f"registry.{backend}", "registry")
        _context_parallel(state, backend)
    elif backend in ("trtllm_mha", "hpc_ops"):
        if state.mla:
            raise state.refuse(f"registry.{backend}", "registry")
        if backend == "hpc_ops":
            _hpc_ops(state)
    elif backend == "llada2_cfg_flashinfer" and state.mla:
        raise state.refuse("registry.llada2", "registry")
    elif backend == "triton" and state.rules.among("encoder_decoder", state.architecture):
        raise state.refuse("registry.triton_cross", "registry")


def _hpc_ops(state: State) -> None:
    if state.rules.among("encoder_decoder", state.architecture):
        raise state.refuse("registry.hpc_ops_cross", "registry")
    if state["speculative_algorithm"] is not None:
        raise state.refuse("registry.hpc_ops_speculation", "registry")


def _context_parallel(state: State, backend: str) -> None:
    """Where the release says so: trtllm_mla can't decode for several ranks and speculate."""
    gate = "registry.dcp_speculation"
    wide = (state["dcp_size"] or 1) > 1 and state["speculative_algorithm"] is not None
    # A prefill side is created by the same function, which looks at the decode backend.
    both = backend == state.backends[1] == "trtllm_mla"
    if both and wide and state.rules.has(gate):
        raise state.refuse(gate, "registry")


def _wrap(state: State) -> None:
    """Gated delta net hybrids take some backends only on Blackwell."""
    if state.model.state != "gdn" or not state.blackwell:
        return
    rules = state.rules
    if not rules.has("registry.gdn"):
        _before_sets(state)
        return
    fits = rules.choices("hybrid_gdn_sm120" if state.major == 12 else "hybrid_gdn")
    # The release prints a set, in no fixed order; sorted here.
    listed = "{" + ", ".join(repr(name) for name in sorted(fits)) + "}"
    split = state["prefill_attention_backend"] and state["decode_attention_backend"]
    if rules.has("registry.gdn_one") and not split:
        if state["attention_backend"] not in fits:
            raise state.refuse(
                "registry.gdn_one", "registry", allowed=listed, attn_be=state["attention_backend"]
            )
    elif not set(state.backends) <= set(fits):
        raise state.refuse("registry.gdn", "registry", allowed=listed)


def _before_sets(state: State) -> None:
    """Up to 0.5.15 only ``--attention-backend`` is looked at, one list for all of Blackwell."""
    if not state.rules.has("registry.gdn_old"):
        state.unknown.append("which backends a gated delta net hybrid takes on Blackwell")
        return
    if state["attention_backend"] not in ("triton", "trtllm_mha", "fa4", "flashinfer"):
        raise state.refuse("registry.gdn_old", "registry")
