"""The last reason a vLLM backend can give: ``supports_combination``, which is code, not data.

One function per class that defines it. A release's catalogue entry says which class's a backend
uses, so a backend that inherits another's inherits its rule here too. Each reads the release's
version where the release's code did change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kvgate.attention.query import Query
from kvgate.attention.vllm.flash import flash_attention_version, supports_fp8_kv

if TYPE_CHECKING:
    from kvgate.attention.vllm.release import Device

__all__ = ["COMBINATIONS", "Rule"]

Rule = Callable[["Device", Query], "str | None"]

_PREFIX = (
    "mm_prefix (PrefixLM bidirectional attention) requires FlashAttention v4, "
    "which does not resolve for this head_size"
)


def nothing(device: Device, query: Query) -> str | None:
    """The base class's answer: no combination is refused."""
    return None


def flash_attn(device: Device, query: Query) -> str | None:
    """``backends/flash_attn.py``: sinks from 0.13, mm_prefix from 0.24, FP8 from 0.27."""
    return _flash_attn(device, query, query.mm_prefix)


def _flash_attn(
    device: Device, query: Query, mm_prefix: bool, kv_cache_dtype: str | None = None
) -> str | None:
    v, kv = device.version, kv_cache_dtype or query.kv_cache_dtype
    if query.sink and query.sm < (9, 0):
        return "sink not supported on compute capability < 9.0"
    if v >= (0, 31) and mm_prefix and kv in device.quantized and query.sm == (9, 0):
        return "SM90 FP8 KV with mm_prefix requires Triton"
    if v >= (0, 27) and kv in device.quantized:
        version = flash_attention_version(
            device,
            query,
            head_size=query.head_size,
            head_size_v=query.head_size,
            sinks=query.sink,
            block_size=query.block_size,
            takes_hd256=True,
        )
        if not supports_fp8_kv(device, query, version, query.head_size):
            if v >= (0, 31):
                return (
                    "FP8 KV cache requires FA3 on SM90, FA4 with head_size=512 on SM90, "
                    "or FA4 on SM100"
                )
            return "FP8 KV cache requires FA3 on SM90 or FA4 on SM100"
    if v >= (0, 24) and mm_prefix and _layer_version(device, query) != 4:
        return _PREFIX
    return None


def _layer_version(device: Device, query: Query) -> int | None:
    return flash_attention_version(
        device,
        query,
        head_size=query.head_size,
        sinks=query.sink,
        block_size=query.block_size,
        takes_hd256=True,
    )


def step5_dsa(device: Device, query: Query) -> str | None:
    """``models/step5/nvidia/sparse_attention.py``: FLASH_ATTN's, asked without a KV dtype."""
    return _flash_attn(device, query, query.mm_prefix, "auto")


def triton_flash_attn(device: Device, query: Query) -> str | None:
    """``backends/triton_flash_attn.py`` (0.30): Triton for images, FLASH_ATTN for text."""
    reason = _flash_attn(device, query, False)
    if reason is None:
        if device.version >= (0, 31):
            if _layer_version(device, query) not in (3, 4):
                reason = "causal route requires FlashAttention v3 or v4"
        elif _layer_version(device, query) != 4:
            reason = "causal route requires FlashAttention v4"
    return f"FLASH_ATTN: {reason}" if reason else None


def flashinfer(device: Device, query: Query) -> str | None:
    """``v1/attention/backends/flashinfer.py`` (0.32): what its FA2 kernels do to NVFP4."""
    if query.kv_cache_dtype.startswith("nvfp4") and query.sm[0] in (8, 9, 12):
        if query.head_size == 64:
            return "fa2 prefill misreads an NVFP4 KV cache at head_size 64"
        if query.sink:
            return "the sink prefill wrapper cannot read an NVFP4 KV cache"
    return None


def triton_flashinfer(device: Device, query: Query) -> str | None:
    """``backends/triton_flashinfer.py`` (0.30): Triton for images, FLASHINFER for text."""
    if device.version < (0, 32):
        return None
    reason = flashinfer(device, query)
    return f"FLASHINFER: {reason}" if reason else None


def b12x(device: Device, query: Query) -> str | None:
    """``v1/attention/backends/b12x.py`` (0.30); the b12x package is not part of an installation."""
    if query.dtype != "bfloat16":
        return "b12x currently requires bfloat16 queries"
    if query.kv_cache_dtype == "float16":
        return "b12x does not support float16 KV cache"
    if query.kv_cache_dtype in device.quantized and query.kv_cache_dtype not in ("fp8", "fp8_e4m3"):
        return "b12x currently supports only fp8/fp8_e4m3 quantized KV cache dtypes"
    return "Install the b12x backend with `pip install vllm[b12x]`"


def _mla_rules() -> dict[str, Rule]:
    from kvgate.attention.vllm.mla_combinations import MLA_COMBINATIONS

    return MLA_COMBINATIONS


COMBINATIONS: dict[str, Rule] = {
    "AttentionBackend": nothing,
    "FlashAttentionBackend": flash_attn,
    "Step5DSAAttentionBackend": step5_dsa,
    "TritonFlashAttentionBackend": triton_flash_attn,
    "FlashInferBackend": flashinfer,
    "TritonFlashInferBackend": triton_flashinfer,
    "B12xPagedAttentionBackend": b12x,
    **_mla_rules(),
}
