"""The automatic choice of an attention backend, when neither the user nor a model hook made one."""

from __future__ import annotations

from kvgate.attention.sglang.state import State

__all__ = ["default_backend", "fill"]


def _chain(state: State) -> bool:
    """No speculation topk set, or topk 1 with no page size above 1."""
    topk = state["speculative_eagle_topk"]
    return topk is None or (topk == 1 and state["page_size"] in (None, 1))


def default_backend(state: State) -> str:
    """The backend SGLang takes for the SM and the model's attention.

    Note the asymmetry: ``--speculative-eagle-topk 1`` with a page size moves both Hopper and
    Blackwell to flashinfer, and on SM100 so does an algorithm with no topk given.
    """
    if state.architecture == "WhisperForConditionalGeneration":
        return "flashinfer"
    if state.mla:
        return {9: "fa3", 10: "flashinfer"}.get(state.major, "triton")
    if state.major == 9 and _chain(state):
        return "fa3"
    algorithm = state["speculative_algorithm"]
    if (
        state.major == 10
        and _chain(state)
        and (
            algorithm is None
            or state["speculative_eagle_topk"] is not None
            or (state.rules.does("dflash_topk_one") and str(algorithm).upper() == "DFLASH")
        )
    ):
        asymmetric = state.model.asymmetric and state.rules.does("asymmetric_kv")
        return "fa4" if asymmetric else "trtllm_mha"
    if state.rules.does("sinks_avoid_flashinfer") and _sinks(state):
        return "triton"
    return "flashinfer"


def _sinks(state: State) -> bool:
    return state.model.sinks or state.rules.among("sinks", state.architecture)


def fill(state: State) -> None:
    """Equal split backends become the base backend; an unset base backend is chosen."""
    prefill = state["prefill_attention_backend"]
    if prefill is not None and prefill == state["decode_attention_backend"]:
        state["attention_backend"] = prefill
    elif state["attention_backend"] is None:
        state["attention_backend"] = default_backend(state)
