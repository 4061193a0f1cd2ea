"""Block sizes of a vLLM backend: what its kernels read, what a user may set, what it prefers."""

from __future__ import annotations

from typing import Any

from kvgate.attention.query import Query
from kvgate.attention.vllm.release import Backend, Device
from kvgate.attention.vllm.tables import resolve

__all__ = ["accepts", "kernel_blocks", "preferred_block"]

DEFAULT_BLOCK = 16


def _keys(device: Device, query: Query) -> dict[str, str]:
    return {
        "sm": device.capability,
        "invariant": "1" if query.batch_inv else "0",
        "trtllm": query.trtllm,
        "fa": str(query.flash_attn_version) if query.flash_attn_version else "none",
        "kv": query.run_kv_cache_dtype or query.kv_cache_dtype,
        "head": str(query.model_head_size or query.head_size),
        "gqa": "1" if query.num_heads // max(1, query.num_kv_heads) > 1 else "0",
        "mm_prefix": "1" if query.mm_prefix else "0",
        "rswa": "1" if query.rswa else "0",
        "dcp": "1" if query.dcp > 1 else "0",
        "aiter": query.aiter,
    }


def kernel_blocks(device: Device, backend: Backend, query: Query) -> list[int | str] | None:
    """Kernel block sizes: a number is that size, ``%16`` any multiple of it; None where unknown."""
    blocks: list[int | str] | None = resolve(backend.tables.get("blocks"), _keys(device, query))
    return blocks


def accepts(device: Device, backend: Backend, query: Query, block_size: int) -> bool:
    """Whether the backend takes this block size from the user."""
    keys = _keys(device, query)
    rule: Any = resolve(backend.tables.get("accepts", "multiples"), keys)
    if rule != "multiples":
        return block_size in rule
    choices = device.entry["block_size_choices"]
    if choices and block_size not in choices:
        return False
    blocks = resolve(backend.tables.get("blocks"), keys) or []
    return any(block_size % int(str(size).lstrip("%")) == 0 for size in blocks)


def preferred_block(device: Device, backend: Backend, query: Query) -> int | None:
    """What the backend turns the default block size of 16 into; None where it isn't asked."""
    value: int | None = resolve(backend.tables.get("preferred"), _keys(device, query))
    return value
