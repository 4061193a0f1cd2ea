"""Which FlashAttention version vLLM takes for a layer (``fa_utils.py``, get_flash_attn_version).

Its support per device is data; what it makes of head sizes and model features moved from release to
release and is written out here, checked against every release of the catalogue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvgate.attention.query import Query

if TYPE_CHECKING:
    from kvgate.attention.vllm.release import Device

__all__ = ["flash_attention_version", "supports_fp8_kv"]

# FlashAttention 4's kernel for 256-wide heads on SM10x and SM11x reads pages of so many tokens.
HD256_PAGE = 128


def flash_attention_version(
    device: Device,
    query: Query,
    *,
    head_size: int | None = None,
    head_size_v: int | None = None,
    sinks: bool = False,
    block_size: int | None = None,
    takes_hd256: bool = False,
) -> int | None:
    """2, 3 or 4; None where FlashAttention has nothing for the device.

    ``takes_hd256`` is whether the caller can use the kernel for 256-wide heads (the FLASH_ATTN
    backend can). The arguments are the caller's, since vLLM asks for a layer, and for the device
    alone, in different places. Source: 0.13.0 to 0.33.0, ``v1/attention/backends/fa_utils.py``.
    """
    v, major, supported = device.version, query.sm[0], device.fa_supported
    if major == 9 and 3 in supported:
        version = 3
    elif v >= (0, 17) and major == 10 and 4 in supported:
        version = 4
    else:
        version = 2
    if query.flash_attn_version is not None:
        version = query.flash_attn_version
    if version == 3 and (major >= 10 if v >= (0, 17) else major == 10):
        version = 4 if v >= (0, 17) and 4 in supported else 2
    # Hopper has both: 4 takes over what 3 has no kernel for.
    if version == 3 and major == 9 and 4 in supported:
        two_widths = head_size is not None and head_size_v not in (None, head_size)
        if (
            (v >= (0, 20) and sinks and two_widths)
            or (v >= (0, 21) and head_size is not None and head_size > 256)
            or (v >= (0, 24) and query.diffusion)
        ):
            version = 4
    if version == 4 and v >= (0, 18) and query.batch_inv:
        version = 2
    if version == 4 and _is_hd256(device, query, head_size, head_size_v):
        refused = _hd256_refuses(device, query, sinks, block_size)
        if not takes_hd256 or refused:
            version = 2
    if version == 4 and major >= 10 and not _fits_tensor_memory(device, head_size, head_size_v):
        version = 2
    return version if version in supported else None


def _is_hd256(device: Device, query: Query, head_size: int | None, head_size_v: int | None) -> bool:
    return (
        device.version >= (0, 29)
        and query.sm[0] in (10, 11)
        and head_size == 256
        and head_size_v in (None, 256)
    )


def _hd256_refuses(device: Device, query: Query, sinks: bool, block_size: int | None) -> bool:
    run_kv = query.run_kv_cache_dtype or query.kv_cache_dtype
    return bool(
        sinks
        or query.softcap
        or run_kv in device.quantized
        or (block_size is not None and block_size % HD256_PAGE)
        or query.mm_prefix
        or query.rswa
        or query.dcp > 1
    )


def _fits_tensor_memory(device: Device, head_size: int | None, head_size_v: int | None) -> bool:
    """Whether FlashAttention 4 has a kernel of this width on SM10x and newer."""
    if head_size is None or head_size <= 128 or device.version < (0, 17):
        return True
    if device.version >= (0, 29):
        return (head_size == 256 and head_size_v in (None, 256)) or (
            head_size == 192 and head_size_v == 128
        )
    if device.version >= (0, 27):
        only_in_0_27 = head_size == 256 and device.version < (0, 28)
        return only_in_0_27 or (head_size == 192 and head_size_v == 128)
    return device.version >= (0, 18) and head_size == 192


def supports_fp8_kv(device: Device, query: Query, version: int | None, head_size: int) -> bool:
    """Whether that FlashAttention version reads an FP8 KV cache at this head size (from 0.27)."""
    if query.kv_cache_dtype == "fp8_e5m2":
        return False
    major = query.sm[0]
    if major == 9:
        return version == 3 or (device.version >= (0, 31) and version == 4 and head_size == 512)
    return version == 4 and major == 10
