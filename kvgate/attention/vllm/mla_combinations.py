"""``supports_combination`` of vLLM's MLA backends, dense and sparse, by its class."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kvgate.attention.query import Query

if TYPE_CHECKING:
    from kvgate.attention.vllm.release import Device

__all__ = ["MLA_COMBINATIONS"]

_HALF = ("auto", "float16", "bfloat16")


def flash_attn_mla(device: Device, query: Query) -> str | None:
    """``mla/flashattn_mla.py`` (0.13): FlashAttention 3 on Hopper."""
    if 3 in device.fa_supported and query.sm[0] == 9:
        return None
    return "FlashAttention MLA not supported on this device"


def flash_attn_mla_sparse(device: Device, query: Query) -> str | None:
    """``mla/flashattn_mla_sparse.py`` (0.25)."""
    if query.kv_cache_dtype not in _HALF:
        return "FlashAttention MLA Sparse currently supports only FP16/BF16 KV cache"
    reason = flash_attn_mla(device, query)
    if reason:
        return reason
    if query.dcp > 1:
        return "FlashAttention MLA Sparse does not support DCP for now"
    if query.index_topk is None:
        return "FlashAttention MLA Sparse requires model with index_topk"
    return None


def flash_attn_mla_sparse_fa4(device: Device, query: Query) -> str | None:
    """``mla/flashattn_mla_sparse.py`` (0.33): its own conditions, then FLASHINFER_MLA_SPARSE's."""
    if query.index_topk is None or query.index_topk % 128:
        return f"FA4 sparse MLA requires index_topk % 128 == 0, got {query.index_topk}"
    # Without MLA the configuration has none of these keys.
    widths = (query.kv_lora_rank, query.qk_rope_head_dim) if query.mla else (None, None)
    if widths != (512, 64):
        return (
            f"FA4 sparse MLA requires (kv_lora_rank, qk_rope_head_dim) == (512, 64), got {widths}"
        )
    # Under DCP the queries of all ranks are gathered, and 128 heads take another kernel.
    counts = (8, 16, 32, 64) if query.dcp > 1 else (8, 16, 32, 64, 128)
    if query.num_heads * query.dcp not in counts:
        return (
            f"FA4 sparse MLA requires {counts} gathered query heads, "
            f"got num_heads={query.num_heads} * dcp_size={query.dcp}"
        )
    return _flashinfer_sparse_sm10(device, query, "FLASH_ATTN_MLA_SPARSE_FA4")


def flashmla(device: Device, query: Query) -> str | None:
    """``mla/flashmla.py`` (0.13) and what ``ops/flashmla.py`` says of the device."""
    if not query.sparse:
        if query.sm[0] != 9:
            return "FlashMLA Dense is only supported on Hopper devices."
    elif query.sm[0] not in (9, 10):
        blackwell = "Blackwell DC" if device.version >= (0, 24) else "Blackwell"
        return f"FlashMLA Sparse is only supported on Hopper and {blackwell} devices."
    return None


def flashmla_sparse(device: Device, query: Query) -> str | None:
    """``mla/flashmla_sparse.py``: NVFP4 from 0.30, heads of 512 (no RoPE) from 0.31."""
    v, kv, major = device.version, query.kv_cache_dtype, query.sm[0]
    if v >= (0, 31) and query.head_size == 512:
        takes = (*_HALF, "fp8_ds_mla") if v >= (0, 32) else _HALF
        if kv not in takes or major != 9:
            formats = "bf16 or fp8_ds_mla" if v >= (0, 32) else "bf16"
            return (
                f"FLASHMLA_SPARSE supports head_size 512 only with {formats} kv-cache on SM90 "
                f"(NoPE), got kv_cache_dtype={kv}, "
                f"capability=DeviceCapability(major={major}, minor={query.sm[1]})"
            )
        if query.qk_rope_head_dim != 0 or not query.mla:
            return "FLASHMLA_SPARSE supports head_size 512 only for rope-free (NoPE) models"
    if v >= (0, 30) and kv == "nvfp4_ds_mla" and major != 10:
        return f"FLASHMLA_SPARSE only supports the {kv} kv-cache dtype on SM100 (Blackwell)"
    return None


def flashinfer_mla(device: Device, query: Query) -> str | None:
    """``mla/flashinfer_mla.py``: one width without RoPE in 0.15, more in 0.18 and 0.19."""
    v, nope = device.version, query.qk_nope_head_dim if query.mla else 1
    if v >= (0, 19):
        takes = [64, 128, 192]
    elif v >= (0, 18):
        takes = [64, 128]
    else:
        if v >= (0, 15) and nope != 128:
            return f"FlashInfer MLA kernel requires qk_nope_head_dim == 128, but got {nope}"
        return None
    if nope not in takes:
        return f"FlashInfer MLA kernel requires qk_nope_head_dim in {takes}, but got {nope}"
    return None


def flashinfer_mla_sparse(device: Device, query: Query) -> str | None:
    """``mla/flashinfer_mla_sparse.py`` (0.17): SM10x kernels of TRT-LLM."""
    return _flashinfer_sparse_sm10(device, query, "FLASHINFER_MLA_SPARSE")


def _flashinfer_sparse_sm10(device: Device, query: Query, name: str) -> str | None:
    v, nope = device.version, query.qk_nope_head_dim if query.mla else 1
    if v >= (0, 30) and query.pcp > 1 and query.dcp > 1:
        return (
            f"{name} does not support combined PCP+DCP; use FLASHMLA_SPARSE, which gathers each "
            "DCP KV shard before running the rank-local PCP prefill queries"
        )
    if v >= (0, 24) and query.kv_cache_dtype == "fp8_ds_mla":
        return f"{name} SM10 does not support fp8_ds_mla kv-cache dtype"
    if v >= (0, 30) and query.mla and query.qk_rope_head_dim == 0:
        if (nope, query.kv_lora_rank) != (256, 512):
            return (
                "FlashInfer native no-rope MLA requires qk_nope_head_dim=256 and "
                f"kv_lora_rank=512, but got qk_nope_head_dim={nope}, "
                f"kv_lora_rank={query.kv_lora_rank}"
            )
    elif v >= (0, 19):
        if nope not in (128, 192):
            return (
                "FlashInfer MLA Sparse kernel requires qk_nope_head_dim "
                f"in [128, 192], but got {nope}"
            )
    elif nope != 128:
        return f"FlashInfer MLA Sparse kernel requires qk_nope_head_dim == 128, but got {nope}"
    if query.index_topk is None:
        return "FlashInfer MLA Sparse requires model with index_topk config"
    return None


def flashinfer_mla_sparse_sm120(device: Device, query: Query) -> str | None:
    """``mla/flashinfer_mla_sparse.py`` (0.24): two generic checks again, then 2048 tokens."""
    name = "FLASHINFER_MLA_SPARSE_SM120"
    if query.dtype != "bfloat16":
        return "dtype not supported"
    if query.kv_cache_dtype not in ("auto", "fp8", "fp8_e4m3", "fp8_ds_mla"):
        return "kv_cache_dtype not supported"
    if query.index_topk is None:
        return f"{name} requires a model with index_topk config"
    if query.index_topk != 2048:
        return f"{name} requires index_topk=2048; got {query.index_topk}"
    return None


def flashinfer_mla_sparse_sm90(device: Device, query: Query) -> str | None:
    """``mla/flashinfer_mla_sparse_sm90.py`` (0.30)."""
    name = "FLASHINFER_MLA_SPARSE_SM90"
    if not query.sparse:
        return f"{name} requires sparse MLA"
    if query.kv_lora_rank != 512:
        return f"{name} requires kv_lora_rank=512"
    if query.qk_rope_head_dim not in (0, 64):
        return f"{name} requires qk_rope_head_dim in (0, 64)"
    return None


def tokenspeed_mla(device: Device, query: Query) -> str | None:
    """``mla/tokenspeed_mla.py`` (0.21): DeepSeek R1's widths only."""
    widths = (query.qk_nope_head_dim, query.qk_rope_head_dim, query.v_head_dim)
    if widths != (128, 64, 128):
        return (
            "tokenspeed_mla requires DeepSeek R1 MLA dimensions (qk_nope_head_dim=128, "
            f"qk_rope_head_dim=64, v_head_dim=128), got {widths}"
        )
    return None


def flashinfer_dsv4(device: Device, query: Query) -> str | None:
    """``deepseek_v4/nvidia/flashinfer_sparse.py`` (0.24); V4.1's class says the same (0.30)."""
    kv, name = query.kv_cache_dtype, "FLASHINFER_MLA_SPARSE_DSV4"
    if query.sm[0] == 10:
        if kv == "fp8_ds_mla":
            return f"{name} SM10x uses the plain per-tensor FP8 KV layout, not fp8_ds_mla"
        takes: tuple[str, ...] = ("auto", "bfloat16", "fp8", "fp8_e4m3")
    elif query.sm[0] == 12:
        takes = ("fp8", "fp8_e4m3", "fp8_ds_mla")
    else:
        return f"{name} requires SM10x or SM12x"
    return None if kv in takes else "kv_cache_dtype not supported"


MLA_COMBINATIONS: dict[str, Callable[[Device, Query], str | None]] = {
    "FlashAttnMLABackend": flash_attn_mla,
    "FlashAttnMLASparseBackend": flash_attn_mla_sparse,
    "FlashAttnMLASparseFA4Backend": flash_attn_mla_sparse_fa4,
    "FlashMLABackend": flashmla,
    "FlashMLASparseBackend": flashmla_sparse,
    "FlashInferMLABackend": flashinfer_mla,
    "FlashInferMLASparseBackend": flashinfer_mla_sparse,
    "FlashInferMLASparseTRTLLMBackend": flashinfer_mla_sparse,
    "FlashInferMLASparseSM120Backend": flashinfer_mla_sparse_sm120,
    "FlashInferMLASparseSM90Backend": flashinfer_mla_sparse_sm90,
    "TokenspeedMLABackend": tokenspeed_mla,
    "DeepseekV4FlashInferMLASparseBackend": flashinfer_dsv4,
}
