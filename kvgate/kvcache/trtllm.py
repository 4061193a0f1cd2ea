"""TensorRT-LLM's block pool: a fraction of what is free, in blocks of tokens.

Only pools of one kind of layer are modelled; windowed layers and states get pools of their own by
rules that kvgate has no source for.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvgate.architecture.layers import MLA, Attention, NoCache
from kvgate.errors import InputError
from kvgate.kvcache.answer import PoolAnswer, Range
from kvgate.kvcache.needs import needs
from kvgate.kvcache.request import Request
from kvgate.kvcache.reserve import visible_bytes
from kvgate.units import GiB, format_bytes

__all__ = ["TrtllmOptions", "trtllm_answer"]


@dataclass(frozen=True, slots=True)
class TrtllmOptions:
    """``free_gpu_memory_fraction`` and ``tokens_per_block`` of the KV cache configuration."""

    free_gpu_memory_fraction: float = 0.9
    tokens_per_block: int = 32

    def __post_init__(self) -> None:
        if not 0 < self.free_gpu_memory_fraction <= 1:
            raise InputError("free_gpu_memory_fraction must be above 0, up to 1")
        if self.tokens_per_block < 1:
            raise InputError("tokens_per_block must be at least 1")


def trtllm_answer(request: Request, options: TrtllmOptions | None) -> PoolAnswer:
    """The block pool for a model whose layers all keep every token.

    Raises InputError for windowed and state layers, and where no memory is given.
    """
    settings = options or TrtllmOptions()
    for group in request.arch.groups:
        layer = group.layer
        known = isinstance(layer, (MLA, NoCache)) or (
            isinstance(layer, Attention) and layer.kind == "full"
        )
        if not known:
            raise InputError(f"kvgate does not know TensorRT-LLM's pools for {layer.kind} layers")
    need = needs(
        request.arch, kv_cache_dtype=request.kv_cache_dtype, engine="tensorrt-llm",
        version=request.version, sm=request.sm, tp=request.tp, pp=request.pp, dcp=request.dcp,
        dtype=request.dtype,
    )  # fmt: skip
    memory, notes = _memory(request, settings)
    block = request.block_size or settings.tokens_per_block
    per_block = int(need.bytes_per_token_per_rank * block)
    blocks = [max(size, 0) // per_block for size in (memory.low, memory.likely, memory.high)]
    tokens = blocks[1] * block
    longest = tokens
    lines = [f"{format_bytes(memory.likely)} / ({block} tokens x "
             f"{format_bytes(need.bytes_per_token_per_rank)}) = {blocks[1]:,} blocks"]  # fmt: skip
    return PoolAnswer(
        memory=memory, block_size=block, blocks=blocks[1], tokens=tokens,
        max_concurrency=tokens / request.max_model_len, longest=longest,
        fits=request.max_model_len <= longest, lines=tuple(lines), assumptions=notes,
    )  # fmt: skip


def _memory(request: Request, settings: TrtllmOptions) -> tuple[Range, tuple[str, ...]]:
    if request.memory is not None:
        return Range.exact(min(request.memory)), ()
    if request.gpu is None or request.weights_bytes is None:
        raise InputError("no memory to build a pool from", hint="say --gpu or --kv-cache-memory")
    free = visible_bytes(request.gpu) - request.weights_bytes
    pool = [
        int((free - part * GiB) * settings.free_gpu_memory_fraction) for part in (6.0, 2.5, 0.8)
    ]
    return Range(*pool), ("0.8 to 6 GiB are taken by the runtime and its activations (estimate)",)
