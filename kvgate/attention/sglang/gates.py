"""What a backend refuses or swaps while the arguments are resolved, after the backend is chosen."""

from __future__ import annotations

from kvgate.attention.sglang.pages import page_of
from kvgate.attention.sglang.state import State

__all__ = [
    "cutedsl_mla", "e5m2_swap", "eager_backends", "tokenspeed_mla", "trtllm_mha", "trtllm_mla",
]  # fmt: skip


def eager_backends(state: State) -> None:
    """torch_native and flex_attention run without CUDA graphs; flex takes no speculation."""
    backend = state["attention_backend"]
    if backend not in ("torch_native", "flex_attention"):
        return
    state.warn("w.graph.torch_native" if backend == "torch_native" else "w.graph.flex")
    state.decode_graph = state.prefill_graph = "disabled"
    if backend == "flex_attention" and state["speculative_algorithm"] is not None:
        raise state.refuse("flex.speculation")


def trtllm_mla(state: State) -> None:
    """trtllm_mla: Blackwell, and KV dtypes as spelled in its list (``bfloat16`` is not in it)."""
    if "trtllm_mla" not in (state["attention_backend"], state["decode_attention_backend"]):
        return
    if state.major not in state.rules.majors("trtllm_mla.sm"):
        raise state.refuse("trtllm_mla.sm")
    if state.rules.place("w.page.trtllm_mla") == state.rules.place("trtllm_mla.sm"):
        page_of(state, "trtllm_mla")
    if state["kv_cache_dtype"] not in state.rules.members("trtllm_mla.kv"):
        raise state.refuse("trtllm_mla.kv")


def tokenspeed_mla(state: State) -> None:
    """tokenspeed_mla, until cutedsl_mla took its name: Blackwell and FP8 KV."""
    if "tokenspeed_mla" not in (state["attention_backend"], state["decode_attention_backend"]):
        return
    if not state.rules.has("tokenspeed_mla.sm"):
        return
    if state.major not in state.rules.majors("tokenspeed_mla.sm"):
        raise state.refuse("tokenspeed_mla.sm")
    if state.rules.place("w.page.tokenspeed_mla") == state.rules.place("tokenspeed_mla.sm"):
        page_of(state, "tokenspeed_mla")
    if state["kv_cache_dtype"] not in state.rules.members("tokenspeed_mla.kv"):
        raise state.refuse("tokenspeed_mla.kv")


def cutedsl_mla(state: State) -> None:
    """cutedsl_mla decodes only, on SM100; its prefill becomes trtllm_mla."""
    if "cutedsl_mla" not in state.any_backend or not state.rules.has("cutedsl_mla.sm"):
        return
    if state["prefill_attention_backend"] == "cutedsl_mla":
        raise state.refuse("cutedsl_mla.prefill")
    if state.major not in state.rules.majors("cutedsl_mla.sm"):
        raise state.refuse("cutedsl_mla.sm")
    if state.rules.place("w.page.cutedsl_mla") == state.rules.place("cutedsl_mla.sm"):
        page_of(state, "cutedsl_mla")
    fits = state.rules.members("cutedsl_mla.kv")
    if fits and state["kv_cache_dtype"] not in fits:
        raise state.refuse("cutedsl_mla.kv")
    if state["prefill_attention_backend"] is None:
        state["prefill_attention_backend"] = "trtllm_mla"


def trtllm_mha(state: State) -> None:
    """trtllm_mha by SM, for prefill and decode apart."""
    prefill, decode = state.backends
    if prefill == "trtllm_mha":
        if state.major not in state.rules.majors("trtllm_mha.prefill_sm"):
            raise state.refuse("trtllm_mha.prefill_sm")
        fp8 = state["kv_cache_dtype"] == "fp8_e4m3"
        if state.major == 12 and fp8 and state.rules.has("trtllm_mha.prefill_fp8"):
            raise state.refuse("trtllm_mha.prefill_fp8")
    if decode == "trtllm_mha" and state.major not in state.rules.majors("trtllm_mha.decode_sm"):
        raise state.refuse("trtllm_mha.decode_sm")
    if state.rules.place("w.page.trtllm_mha") == state.rules.place("trtllm_mha.prefill_sm"):
        page_of(state, "trtllm_mha")


def e5m2_swap(state: State) -> None:
    """fa3 with an e5m2 cache becomes triton, so fa3's own SM check never speaks."""
    if state["attention_backend"] == "fa3" and state["kv_cache_dtype"] == "fp8_e5m2":
        state.warn("w.fa3_e5m2")
        state.change("attention_backend", "triton", "fa3 reads no fp8_e5m2", said=True)
