"""The second gate: what the selector takes and a constructor or the first request refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from kvgate.attention.query import Query
from kvgate.attention.vllm.flash import flash_attention_version
from kvgate.attention.vllm.release import Device

__all__ = ["Refusal", "refuses", "reported"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A backend that is chosen and then fails.

    ``stage`` is when: ``layer`` (while the model is built), ``kv-cache`` (once memory is measured)
    or ``request`` (at the first one). ``text`` is the engine's, ``source`` where it was read.
    ``certain`` is False for what users reported but no release's code says.
    """

    backend: str
    stage: Literal["layer", "kv-cache", "request"]
    text: str
    source: str
    certain: bool = True


# First release whose check of DCP says it in full.
_LONG_TEXT_SINCE = (0, 20)
_TRITON = ("TRITON_ATTN", "TRITON_ATTN_DIFFKV")
# Query heads a rank below which FlashMLA sparse runs one FP8 batch for prefill and decode alike.
_MIXED_BATCH_HEADS = 32


def refuses(device: Device, query: Query, name: str) -> Refusal | None:
    """What the chosen backend raises, up to the first request; None where it takes the query."""
    if device.platform != "cuda":
        return None  # the guards of the implementations ask for CUDA first
    for rule in _RULES:
        found = rule(device, query, name)
        if found:
            return found
    return None


def _triton_formats(device: Device, query: Query, name: str) -> Refusal | None:
    """FP8 below SM89 and bfloat16 below SM80: a guard of its own since 0.24 (MLA: 0.26)."""
    kv, where = query.kv_cache_dtype, f"{query.device_name} (compute capability {query.capability})"
    mla = name == "TRITON_MLA"
    if not mla and name not in _TRITON:
        return None
    guarded = device.version >= ((0, 26) if mla else (0, 24))
    module = f"v1/attention/backends/{'mla/triton_mla' if mla else 'triton_attn'}.py"
    instead = "float16" if query.sm < (8, 0) else "bfloat16"
    if kv.startswith("fp8") and query.sm < (8, 9):
        if guarded:
            kind = "Triton MLA backend" if mla else "Triton attention backend"
            text = (
                f"ValueError: FP8 KV cache is not supported by the {kind} on {where}; native FP8 "
                f"(fp8e4nv) requires SM89+. Re-run with --kv-cache-dtype {instead}."
            )
            return Refusal(name, "layer", text, module)
        if kv != "fp8_e5m2":  # Triton has that format on every device
            text = (
                'ValueError("type fp8e4nv not supported in this architecture. '
                "The supported fp8 dtypes are ('fp8e4b15', 'fp8e5')\")"
            )
            return Refusal(
                name, "request", text, "https://github.com/vllm-project/vllm/issues/26431"
            )
    if kv == "bfloat16" and query.sm < (8, 0) and guarded:
        if mla:
            text = (
                f"ValueError: bfloat16 KV cache is not supported by the Triton MLA backend on "
                f"{where}; bfloat16 requires SM80+. Re-run with --kv-cache-dtype float16."
            )
        else:
            text = (
                f"ValueError: bfloat16 KV cache is not supported on {where}; bfloat16 requires "
                "SM80+. Re-run with --kv-cache-dtype float16."
            )
        return Refusal(name, "layer", text, module)
    return None


def _mla_features(device: Device, query: Query, name: str) -> Refusal | None:
    """MLA implementations take no window and no soft cap, whatever the selector said."""
    implementations = {
        "TRITON_MLA": "TritonMLAImpl",
        "FLASHMLA": "FlashMLAImpl",
        "FLASH_ATTN_MLA": "FlashAttnMLAImpl",
        "FLASHINFER_MLA": "FlashInferMLAImpl",
        "CUTLASS_MLA": "CutlassMLAImpl",
        "TOKENSPEED_MLA": "TokenspeedMLAImpl",
    }
    if name not in implementations or not (query.window or query.softcap):
        return None
    text = (
        f"NotImplementedError: {implementations[name]} does not support one of the following: "
        "alibi_slopes, sliding_window, logits_soft_cap"
    )
    return Refusal(name, "layer", text, "v1/attention/backends/mla/")


def _flex_features(device: Device, query: Query, name: str) -> Refusal | None:
    if name != "FLEX_ATTENTION" or not query.softcap:
        return None
    text = "NotImplementedError: FlexAttention does not support logits soft cap yet."
    return Refusal(name, "layer", text, "v1/attention/backends/flex_attention.py")


def _flashmla_sparse_dcp(device: Device, query: Query, name: str) -> Refusal | None:
    """Decode context parallelism in sparse MLA: FP8 records, one batch for all tokens (0.29)."""
    if name != "FLASHMLA_SPARSE" or query.dcp <= 1 or device.version < (0, 29):
        return None
    module = "v1/attention/backends/mla/flashmla_sparse.py"
    if query.kv_cache_dtype not in device.quantized:
        text = (
            "NotImplementedError: DCP for FlashMLA sparse requires an fp8_ds_mla kv-cache; "
            "the bf16 sparse path is not supported under DCP."
        )
        return Refusal(name, "layer", text, module)
    gathers = query.pcp > 1 and device.version >= (0, 30)
    if query.num_heads >= _MIXED_BATCH_HEADS and not gathers:
        text = (
            "NotImplementedError: DCP for FlashMLA sparse is only supported on the mixed-batch fp8 "
            f"path (num_heads < {_MIXED_BATCH_HEADS}); the separate prefill/decode path returns "
            "the LSE for decode tokens only, while the DCP merge needs it for every token"
        )
        return Refusal(name, "layer", text, module)
    return None


# Implementations that return the softmax's logarithm for decode, which DCP merges by; since when.
_RETURNS_LSE = {
    "FLASH_ATTN": (0, 13), "FLASH_ATTN_DIFFKV": (0, 13), "FLASHINFER": (0, 13),
    "FLASHMLA": (0, 13), "FLASH_ATTN_MLA": (0, 13), "CUTLASS_MLA": (0, 13), "TRITON_MLA": (0, 13),
    "FLASHINFER_MLA": (0, 25), "FLASHINFER_MLA_SPARSE": (0, 25), "TOKENSPEED_MLA": (0, 26),
}  # fmt: skip


def _dcp_needs_lse(device: Device, query: Query, name: str) -> Refusal | None:
    """Before the selector asked about DCP (0.29), ``cp_utils.py`` checked the built layers."""
    if query.dcp <= 1 or "use_dcp" in device.fields:
        return None
    if device.version >= _RETURNS_LSE.get(name, (99,)):
        return None
    backend = device.backend(name, query).cls
    implementation = f"{backend.removesuffix('Backend').removesuffix('TRTLLM')}Impl"
    if device.version >= _LONG_TEXT_SINCE:
        text = (
            "AssertionError: Decode Context Parallelism (DCP) requires attention implementations "
            f"to return the softmax LSE during decode, but {implementation} does not. Try a "
            "different backend by setting --attention-backend or disable DCP."
        )
    else:
        text = (
            "AssertionError: DCP requires attention impls to return the softmax lse for decode, "
            f"but the impl {implementation} does not return the softmax lse for decode."
        )
    return Refusal(name, "kv-cache", text, "v1/worker/cp_utils.py")


def _flashinfer_nvfp4(device: Device, query: Query, name: str) -> Refusal | None:
    """FlashInfer's NVFP4 cache outside SM10x cannot be split over ranks (0.32)."""
    if name != "FLASHINFER" or not query.kv_cache_dtype.startswith("nvfp4"):
        return None
    module = "v1/attention/backends/flashinfer.py"
    if query.dcp > 1 and query.sm[0] in (8, 9, 12) and device.version >= (0, 32):
        text = "NotImplementedError: The DCP prefill wrapper cannot read NVFP4 block scales."
        return Refusal(name, "kv-cache", text, module)
    if query.non_causal and device.version >= (0, 32):
        text = (
            "NotImplementedError: FlashInfer non-causal attention is not supported with "
            "NVFP4 KV cache."
        )
        return Refusal(name, "request", text, module)
    return None


def _fa2_width(device: Device, query: Query, name: str) -> Refusal | None:
    """Heads wider than 256 that resolve to FlashAttention 2, which has no such kernel (0.20)."""
    if name not in ("FLASH_ATTN", "FLASH_ATTN_DIFFKV") or query.head_size <= 256:
        return None
    version = flash_attention_version(
        device,
        query,
        head_size=query.head_size,
        head_size_v=query.head_size_v,
        sinks=query.sink,
        takes_hd256=True,
    )
    if version != 2:
        return None
    text = "RuntimeError: FlashAttention forward only supports head dimension at most 256"
    return Refusal(name, "request", text, "flash-attention, csrc/flash_attn/flash_api.cpp")


_RULES: tuple[Callable[[Device, Query, str], Refusal | None], ...] = (
    _triton_formats,
    _mla_features,
    _flex_features,
    _flashmla_sparse_dcp,
    _dcp_needs_lse,
    _flashinfer_nvfp4,
    _fa2_width,
)

# Shared memory a kernel may use per block, in bytes (CUDA C++ Programming Guide, table of
# technical specifications): what a Triton tile of wide heads has to fit into.
_SHARED_MEMORY = {7: 64 << 10, 12: 99 << 10}
_SHARED_MEMORY_EXACT = {(8, 0): 163 << 10, (8, 6): 99 << 10, (8, 9): 99 << 10}
_TRITON_TILE = 32 * 512 * 2 * 3  # bytes: queries, keys and values, 32 rows of 512 bf16 each


def reported(device: Device, query: Query, name: str) -> Refusal | None:
    """What users reported of this choice, without a release's code that says so."""
    if device.platform != "cuda":
        return None
    if name == "FLASHINFER" and query.head_size == 512:
        if query.sm[0] == 8:
            return Refusal(
                name, "request", "Unsupported max_mma_kv: 0",
                "https://github.com/vllm-project/vllm/pull/49917", certain=False,
            )  # fmt: skip
        if query.sm[0] == 10:
            return Refusal(
                name, "request", "a missing TRT-LLM kernel for 512-wide heads, with speculation",
                "https://github.com/vllm-project/vllm/issues/48082", certain=False,
            )  # fmt: skip
    room = _SHARED_MEMORY_EXACT.get(query.sm) or _SHARED_MEMORY.get(query.sm[0])
    if name in ("TRITON_ATTN", "FLEX_ATTENTION") and room and query.head_size >= 512:
        needed = _TRITON_TILE * query.head_size // 512
        if needed > room or (name == "FLEX_ATTENTION" and room < 128 << 10):
            return Refusal(
                name, "request",
                f"triton.runtime.errors.OutOfResources: out of resource: shared memory, "
                f"Required: {needed}, Hardware limit: {room}. Reducing block sizes or "
                f"'num_stages' may help.",
                "https://github.com/vllm-project/vllm/pull/39018", certain=False,
            )  # fmt: skip
    return None
