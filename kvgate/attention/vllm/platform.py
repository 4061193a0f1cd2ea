"""What vLLM's CUDA platform set before the selector ran, up to 0.17: MLA's backend and block size.

From 0.18 the backends say their own block size. Source: ``platforms/cuda.py``,
check_and_update_config, 0.13.0 to 0.17.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from kvgate.architecture.layers import MLA
from kvgate.attention.vllm.blocks import DEFAULT_BLOCK
from kvgate.attention.vllm.release import Device

__all__ = ["forced_by_platform", "platform_block"]

_UNTIL = (0, 18)


def forced_by_platform(device: Device, layers: Sequence[MLA], backend: str | None) -> str | None:
    """The backend in force: on SM10x the platform sets one for dense MLA where nobody did."""
    if backend is not None or not layers or device.version >= _UNTIL:
        return backend
    if not device.capability.startswith("10.") or _is_sparse(layers):
        return backend
    if device.version < (0, 15):
        return "CUTLASS_MLA"
    return "FLASHINFER_MLA" if layers[0].qk_nope_head_dim == 128 else None


def platform_block(
    device: Device, layers: Sequence[MLA], backend: str | None, block_size: int | None
) -> int | None:
    """The block size the platform leaves, None where the release doesn't do it there.

    ``backend`` is what was in force before the platform looked: None where nobody chose.
    """
    if device.version >= _UNTIL:
        return None
    block = block_size or DEFAULT_BLOCK
    if not layers:
        return block
    hopper, sparse = device.capability.startswith("9."), _is_sparse(layers)
    chosen = forced_by_platform(device, layers, backend)
    if chosen is None:
        if device.capability.startswith("10.") and not sparse:
            chosen = "CUTLASS_MLA"
        elif hopper:
            chosen = "FLASHMLA"
    if chosen == "FLASHMLA" and hopper and block % 64:
        block = 64
    if chosen == "CUTLASS_MLA" and block % 128:
        block = 128
    if chosen == "FLASHINFER_MLA" and block != 32 and block % 64:
        block = 64
    if sparse and block != 64:
        takes_32 = backend == "FLASHINFER_MLA_SPARSE"
        block = 32 if takes_32 and block == 32 else 64
    return block


def _is_sparse(layers: Sequence[MLA]) -> bool:
    return any(layer.indexer is not None or layer.sparse for layer in layers)
