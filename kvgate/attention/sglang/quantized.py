"""Quantised KV caches: NVFP4, block-16 FP4 and MXFP8."""

from __future__ import annotations

from kvgate.attention.sglang.state import State

__all__ = ["kv4", "mxfp8", "nvfp4_prefill", "torch_dtype"]

_PREFILL = {"fp8_e4m3": "flashinfer", "nvfp4": "trtllm_mha"}
_DEQUANT = {backend: dtype for dtype, backend in _PREFILL.items()}
_FP4 = ("nvfp4", "fp4_mx_block16", "fp4_e2m1")
_TORCH = {
    "fp8_e4m3": "float8_e4m3fn",
    "fp8_e5m2": "float8_e5m2",
    "mxfp8": "float8_e4m3fn",
    "bf16": "bfloat16",
    "bfloat16": "bfloat16",
}


def nvfp4_prefill(state: State) -> None:
    """NVFP4 sets both split backends: trtllm_mha decodes; prefill reads NVFP4 (SM100) or FP8."""
    if not state.rules.has("nvfp4.prefill"):
        return
    asked = state["prefill_kv_cache_dequant_dtype"] or "auto"
    if state["kv_cache_dtype"] != "nvfp4":
        if asked != "auto":
            raise state.refuse("nvfp4.flag")
        return
    dtype = asked
    if asked == "auto":
        backend = state["prefill_attention_backend"] or state["attention_backend"]
        if backend is None:
            dtype = "nvfp4" if state.major == 10 else "fp8_e4m3"
        elif backend in _DEQUANT:
            dtype = _DEQUANT[backend]
        else:
            raise state.refuse("nvfp4.prefill", explicit_backend=backend)
    if dtype == "nvfp4" and state.major != 10:
        raise state.refuse("nvfp4.native")
    target, prefill = _PREFILL[dtype], state["prefill_attention_backend"]
    if prefill not in (None, target):
        raise state.refuse(
            "nvfp4.split", requested_dtype=dtype, target_prefill_backend=target,
            explicit_prefill_backend=prefill,
        )  # fmt: skip
    decode = state["decode_attention_backend"]
    if decode not in (None, "trtllm_mha"):
        raise state.refuse("nvfp4.decode", explicit_decode_backend=decode)
    state["prefill_attention_backend"] = target
    state["decode_attention_backend"] = "trtllm_mha"
    state["prefill_kv_cache_dequant_dtype"] = dtype


def kv4(state: State) -> None:
    """FP4 caches: the SM, the native layout's limits, then the lists of backends."""
    dtype = state["kv_cache_dtype"]
    if dtype not in _FP4:
        return
    prefill, decode = state.backends
    if dtype == "nvfp4" and state.rules.has("nvfp4.sm"):
        if state.major not in state.rules.majors("nvfp4.sm"):
            raise state.refuse("nvfp4.sm")
        if state["enable_unified_memory"] and state.rules.has("nvfp4.unified"):
            raise state.refuse("nvfp4.unified")
    native = dtype == "nvfp4" and state.major == 10 and "trtllm_mha" in (prefill, decode)
    if native and state.rules.has("nvfp4.spec_other"):
        _native_speculation(state)
        if state["disaggregation_mode"] != "null":
            raise state.refuse("nvfp4.pd")
        if state["enable_hierarchical_cache"] or state["enable_lmcache"]:
            raise state.refuse("nvfp4.tiers")
    mixed = (dtype, prefill, decode) == ("nvfp4", "flashinfer", "trtllm_mha")
    if prefill != decode and prefill != "fa4":
        if not (mixed and state.rules.has("nvfp4.prefill")):
            state.warn("w.kv4.mixed")
        return
    if prefill == "fa4":
        key, backend = ("kv4.fa4_mla" if state.mla else "kv4.fa4_mha"), decode
    else:
        key, backend = ("kv4.mla" if state.mla else "kv4.mha"), state["attention_backend"]
    if backend not in state.rules.members(key):
        raise state.refuse(key)


def _native_speculation(state: State) -> None:
    algorithm = state["speculative_algorithm"]
    if algorithm is None:
        return
    name = str(algorithm).upper()
    if name in state.rules.members("nvfp4.spec_dspark"):
        raise state.refuse("nvfp4.spec_dspark", speculative_algorithm=name)
    if name not in state.rules.members("nvfp4.spec_other"):
        raise state.refuse("nvfp4.spec_other", speculative_algorithm=name)
    if name == "NGRAM":
        if state["speculative_ngram_max_bfs_breadth"] != 1:
            raise state.refuse("nvfp4.ngram")
        return
    draft = state["speculative_draft_attention_backend"]
    if draft is None:
        state.warn("w.nvfp4.draft")
        state["speculative_draft_attention_backend"] = "trtllm_mha"
    elif draft != "trtllm_mha":
        raise state.refuse("nvfp4.draft", draft_backend=draft)


def mxfp8(state: State) -> None:
    """MXFP8 asks for a Blackwell major; no gate ties it to fa4, the only backend that reads it."""
    if state["kv_cache_dtype"] == "mxfp8" and state.rules.has("mxfp8.sm"):
        if state.major not in state.rules.majors("mxfp8.sm"):
            raise state.refuse("mxfp8.sm")
        if "fa4" not in state.backends and not state.mla:
            state.unknown.append(
                "whether the cache is read right: only fa4 reads MXFP8 scales, and no gate says so"
            )


def _compute(state: State) -> str:
    asked = state["dtype"]
    if state.architecture == "GptOssForCausalLM" and state.model.quantization == "mxfp4":
        return "bfloat16"
    if asked in (None, "auto"):
        return state.model.torch_dtype
    return {"half": "float16", "float": "float32"}.get(asked, str(asked))


def _checkpoint_fp8(state: State) -> bool:
    # A compressed-tensors checkpoint's own KV scheme is looked at since 0.5.19 only.
    looked = state.model.quantization != "compressed-tensors" or state.rules.since("0.5.19")
    return state.model.kv_fp8 and looked


def torch_dtype(state: State) -> str:
    """The element type of the pool; FP4 caches warn of accuracy here."""
    dtype = str(state["kv_cache_dtype"])
    if dtype == "auto":
        return "float8_e4m3fn" if _checkpoint_fp8(state) else _compute(state)
    if dtype in _FP4:
        state.warn("w.fp4_accuracy", server_args_kv_cache_dtype=dtype.upper())
        return "float4_e2m1fn_x2"
    return _TORCH[dtype]
