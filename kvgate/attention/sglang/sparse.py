"""Sparse MLA (DSA): DeepSeek V3.2 and GLM-5. Backend, page, KV dtype and kernels are its own."""

from __future__ import annotations

from kvgate.attention.sglang.state import State

__all__ = ["is_sparse", "kernel_keys", "sparse_mla", "sparse_mla_backend"]


def is_sparse(state: State) -> bool:
    """Whether SGLang runs the model with its sparse MLA backend."""
    return state.model.index_topk is not None and state.rules.among(
        "sparse_mla", state.architecture
    )


def _family(state: State) -> bool:
    return is_sparse(state) and state.rules.among("deepseek", state.architecture)


def sparse_mla_backend(state: State) -> None:
    """The backend where the user set none, and a page size that no user changes."""
    if not _family(state):
        return
    if state.was_set == "nothing":
        old = not any(b == "dsa" for b in state.rules.choices("attention_backend"))
        state["attention_backend"] = "nsa" if old else "dsa"
    page = 64 * state.model.index_pool
    if not _page_inline(state):
        state.warn("w.sparse_mla.page", page_size=page)
        state.change("page_size", page, "sparse MLA takes no other", said=True)


def sparse_mla(state: State) -> None:
    """The threshold and sharding warnings, then the KV dtype, then the kernels of each phase."""
    if not _family(state):
        return
    forced = state.rules.has("w.sparse_mla.threshold_forced") and "Glm" in state.architecture
    if forced and state.blackwell:
        state.warn("w.sparse_mla.threshold_forced")
    else:
        topk = state.model.index_topk
        state.warn(
            "w.sparse_mla.threshold",
            SGLANG_DSA_PREFILL_DENSE_ATTN_KV_LEN_THRESHOLD=topk,
            SGLANG_NSA_PREFILL_DENSE_ATTN_KV_LEN_THRESHOLD=topk,
        )
    _sharding(state)
    if _page_inline(state):
        state.warn("w.sparse_mla.page", page_size=64)
        state.change("page_size", 64, "sparse MLA takes no other", said=True)
    _kv_dtype(state)
    _kernels(state)


def _sharding(state: State) -> None:
    tp, dp = state["tp_size"], state["attn_dp_size"] or state["dp_size"] or 1
    if tp // dp > 1:
        state.warn(
            "w.sparse_mla.tp", attn_dp_size=dp, dp_size=dp, tp_size=tp,
            attn_tp_size=tp // dp,
        )  # fmt: skip


def _kv_dtype(state: State) -> None:
    dtype = state["kv_cache_dtype"]
    if dtype == "auto":
        if any(state[key] for key in kernel_keys(state)):
            state.warn("w.sparse_mla.say_kv")
        dtype = "fp8_e4m3" if state.major >= 10 else "bfloat16"
        state["kv_cache_dtype"] = dtype
        state.warn("w.sparse_mla.kv", kv_cache_dtype=dtype)
    if dtype == "bf16":
        dtype = "bfloat16"
    if dtype not in ("bfloat16", "fp8_e4m3"):
        raise state.refuse("sparse_mla.kv")
    state["kv_cache_dtype"] = dtype


def _kernels(state: State) -> None:
    prefill_key, decode_key = kernel_keys(state)
    fp8 = state["kv_cache_dtype"] == "fp8_e4m3"
    if (
        state.rules.has("w.sparse_mla.kernels_glm")
        and state.architecture == "GlmMoeDsaForCausalLM"
        and state.major == 12
        and fp8
    ):
        prefill = decode = "flashinfer_sparse_mla"
        state[prefill_key] = state[prefill_key] or prefill
        state[decode_key] = state[decode_key] or decode
        state.warn("w.sparse_mla.kernels_glm", backend=prefill)
        return
    if fp8:
        auto = any(state.rules.does(f"flashmla_auto{of}") for of in ("", "_nsa", "_dsa"))
        below = ("flashmla_auto" if auto else "flashmla_kv", "flashmla_kv")
        prefill, decode = ("trtllm", "trtllm") if state.major >= 10 else below
    else:
        prefill, decode = "flashmla_sparse", "trtllm" if state.major >= 10 else "fa3"
    state[prefill_key] = state[prefill_key] or prefill
    state[decode_key] = state[decode_key] or decode
    chosen_prefill, chosen_decode = state[prefill_key], state[decode_key]
    state.warn(
        "w.sparse_mla.kernels", prefill=chosen_prefill, decode=chosen_decode,
        nsa_prefill_backend=chosen_prefill, nsa_decode_backend=chosen_decode,
    )  # fmt: skip


def _page_inline(state: State) -> bool:
    return state.rules.place("w.sparse_mla.page") == state.rules.place("w.sparse_mla.threshold")


def kernel_keys(state: State) -> tuple[str, str]:
    """The release's own names of the two options that choose a sparse model's kernels."""
    name = "dsa" if "dsa_prefill_backend" in state.rules.options else "nsa"
    return f"{name}_prefill_backend", f"{name}_decode_backend"
