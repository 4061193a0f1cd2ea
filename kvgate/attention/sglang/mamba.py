"""Hybrid models: the radix cache strategy of their state layers, and their decode kernel."""

from __future__ import annotations

from kvgate.attention.sglang.outcome import RefusedError
from kvgate.attention.sglang.state import State

__all__ = ["linear_decode", "mamba_radix", "mamba_radix_by_hook"]

_STRATEGY = "mamba_radix_cache_strategy"
_CHUNK = 64  # what the linear attention kernels cache at a time, where the config names no chunk


def mamba_radix(state: State) -> None:
    """Since 0.5.14: extra buffers where overlap or paging wants them, else no_buffer."""
    if not state.rules.has("mamba.no_buffer_overlap"):
        return
    name = state.architecture
    hybrid = state.rules.among("mamba_radix", name) or state.uses_mamba
    if not state.rules.lists("mamba_radix"):  # 0.5.14: the branch of each architecture says so
        hybrid = "mamba" in state.rules.hook(name, "nothing", state.major)
    if name == "GraniteMoeHybridForCausalLM":
        hybrid = state.model.state is not None
    if hybrid and not state["disable_radix_cache"]:
        state.uses_mamba = True
        if state[_STRATEGY] == "auto":
            paged = state["page_size"] is not None and state["page_size"] > 1
            overlap = not state["disable_overlap_schedule"]
            if (overlap or paged) and _supports_extra_buffer(state):
                state[_STRATEGY] = "extra_buffer"
            else:
                state[_STRATEGY] = "no_buffer"
                state["disable_overlap_schedule"] = True
    if not state.uses_mamba:
        if state.extra_buffer and state.rules.has("mamba.not_hybrid"):
            raise state.refuse("mamba.not_hybrid")
        return
    if state.extra_buffer:
        _extra_buffer(state)
    else:
        _no_buffer(state)


def _supports_extra_buffer(state: State) -> bool:
    known = state.rules.among("mamba_extra_buffer", state.architecture)
    return known and (state["linear_attn_backend"] or "triton") == "triton"


def _extra_buffer(state: State) -> None:
    if not _supports_extra_buffer(state):
        raise state.refuse("mamba.extra_buffer")
    every, tokens, page = (
        state["mamba_track_interval"] or 256,
        state["speculative_num_draft_tokens"],
        state["page_size"],
    )
    if tokens is not None and every < tokens:
        raise RefusedError("AssertionError: ", "resolve")
    if page is None:
        return
    if every % page:
        raise RefusedError("AssertionError: ", "resolve")
    if max(_CHUNK, page) % min(_CHUNK, page):
        raise state.refuse("mamba.chunk", chunk_size=_CHUNK)
    chunk = state["chunked_prefill_size"]
    if chunk is not None and 0 < chunk < max(_CHUNK, page):
        state.warn("w.mamba.chunk", mamba_cache_chunk_size=max(_CHUNK, page))


def _no_buffer(state: State) -> None:
    if state["page_size"] not in (1, None):
        raise state.refuse("mamba.no_buffer_page")
    if not state["disable_overlap_schedule"]:
        raise state.refuse("mamba.no_buffer_overlap")
    if state["attention_backend"] == "trtllm_mha":
        raise state.refuse("mamba.no_buffer_trtllm")


def mamba_radix_by_hook(state: State) -> None:
    """Up to 0.5.13 each hook said what its architecture supports, and no_buffer was the default."""
    gives = state.rules.hook(state.architecture, "nothing", state.major).get("mamba")
    if gives is None or state.rules.has("mamba.no_buffer_overlap"):
        return
    if state.architecture == "GraniteMoeHybridForCausalLM" and state.model.state is None:
        return
    if state.major == 10 and state["attention_backend"] is None:
        state["attention_backend"] = gives.get("sm100_default_attention_backend")
    if not gives.get("support_mamba_cache", True):
        state.warn("w.mamba.radix_off")
        state["disable_radix_cache"] = True
        return
    if state[_STRATEGY] == "extra_buffer":
        if not gives.get("support_mamba_cache_extra_buffer", True):
            raise state.refuse("mamba.extra_buffer")
        if state["disable_radix_cache"]:
            raise state.refuse("mamba.extra_buffer_radix")
        _tracked(state)
    elif not state["disable_radix_cache"]:
        _old_no_buffer(state, gives.get("fallback_attention_backend", "triton"))


def _tracked(state: State) -> None:
    page = state["page_size"]
    if page is not None and (state["mamba_track_interval"] or 256) % page:
        raise RefusedError(
            f"AssertionError: mamba_track_interval {state['mamba_track_interval']} must be "
            f"divisible by page_size {page}",
            "resolve",
        )


def _old_no_buffer(state: State, fallback: str) -> None:
    page = state["page_size"]
    if page not in (None, 1) and state.rules.has("w.mamba.page_one"):
        state.warn("w.mamba.page_one")
        state.change("page_size", 1, "no_buffer caches single tokens", said=True)
    if state["speculative_algorithm"] is not None:
        raise state.refuse("mamba.no_buffer_speculation")
    state.warn("w.mamba.overlap_off")
    state["disable_overlap_schedule"] = True
    if state["attention_backend"] == "trtllm_mha":
        state.warn("w.mamba.trtllm_radix", fallback_attention_backend=fallback)
        state["disable_radix_cache"] = True
        state["disable_overlap_schedule"] = False


def linear_decode(state: State) -> None:
    """The decode kernel of linear layers; flashinfer on SM100 and above wants a bfloat16 state."""
    bf16 = state["mamba_ssm_dtype"] == "bfloat16"
    chosen = state["linear_attn_decode_backend"]
    default = state.rules.does("linear_decode_default") or state.rules.does(
        "linear_decode_default_inline"
    )
    if chosen is None and state.major == 10 and bf16 and default:
        kimi = state.rules.does("kimi_linear_triton") and state.architecture in (
            "KimiLinearForCausalLM",
            "KimiK3ForConditionalGeneration",
        )
        chosen = state["linear_attn_decode_backend"] = "triton" if kimi else "flashinfer"
    decode = chosen or state["linear_attn_backend"]
    if decode == "flashkda" and state.rules.has("linear.flashkda"):
        if chosen == "flashkda":
            raise state.refuse("linear.flashkda")
        state["linear_attn_decode_backend"] = "triton"
    if decode == "flashinfer" and not bf16 and state.major >= 10:
        raise state.refuse("linear.decode")
