"""TensorRT-LLM's block pool: a fraction of what is free, in blocks of tokens.

A window bounds what a layer attends to; what it keeps is another setting's business. Without
``max_attention_window`` the KV-cache manager keeps windowed layers whole, in one pool with the
rest; with it, each window has a pool of its own and an equal share of the memory. Source:
TensorRT-LLM at 001541ba, ``_torch/pyexecutor/resource_manager.py`` (KVCacheManager, and
calculate_max_num_blocks_for_vswa), read 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kvgate.architecture.layers import MLA, Attention, NoCache
from kvgate.errors import InputError
from kvgate.kvcache.answer import PoolAnswer, Range
from kvgate.kvcache.needs import Needs, needs
from kvgate.kvcache.request import Request
from kvgate.kvcache.reserve import nothing_left, visible_bytes
from kvgate.kvcache.stages import pipeline_stages
from kvgate.units import GiB, counted, format_bytes

__all__ = ["TrtllmOptions", "trtllm_answer"]


@dataclass(frozen=True, slots=True)
class TrtllmOptions:
    """The KV cache configuration: ``free_gpu_memory_fraction``, ``tokens_per_block``, and
    ``max_attention_window``, tokens by layer, repeated over the layers (none: keep all)."""

    free_gpu_memory_fraction: float = 0.9
    tokens_per_block: int = 32
    max_attention_window: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < self.free_gpu_memory_fraction <= 1:
            raise InputError("free_gpu_memory_fraction must be above 0, up to 1")
        if self.tokens_per_block < 1:
            raise InputError("tokens_per_block must be at least 1")
        if any(window < 1 for window in self.max_attention_window):
            raise InputError("max_attention_window must be tokens, at least 1 for each layer")


@dataclass(frozen=True, slots=True)
class _Pool:
    """The blocks of the layers that keep ``window`` tokens, on the rank with the fewest.

    No window is longer than the request, so that its blocks are what a request takes."""

    window: int
    layers: int
    bytes_per_token: float
    blocks: int

    def held(self, block: int) -> int:
        """Blocks that a request takes here."""
        return -(-self.window // block)


def trtllm_answer(request: Request, options: TrtllmOptions | None) -> PoolAnswer:
    """The pools of a model of attention layers, one for each window that is kept.

    Raises InputError for layers with a state, for cross-attention, where no layer keeps anything,
    and where no memory is given.
    """
    settings = options or TrtllmOptions()
    for group in request.arch.groups:
        layer = group.layer
        known = isinstance(layer, (MLA, NoCache)) or (
            isinstance(layer, Attention) and layer.kind != "cross"
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
    length = request.max_model_len
    vector = [min(length, w) for w in settings.max_attention_window] or [length]
    per_layer = _per_layer(need)
    pools = _pools(request, per_layer, vector, memory.likely, block)
    if not pools:
        raise InputError(f"no layer of {request.arch.id} keeps a KV cache: there is no pool")
    whole = max(pools, key=lambda pool: pool.window)
    tokens = whole.blocks * block
    longest: int | None = tokens
    if whole.window < length and all(p.blocks >= p.held(block) for p in pools):
        longest = None  # every layer forgets: no length fills the pool
    at_once = min(p.blocks / p.held(block) for p in pools)
    if len(pools) == 1 and whole.window == length:
        at_once = tokens / length

    def holds(size: int) -> bool:
        held = _pools(request, per_layer, vector, size, block)
        return all(p.blocks >= p.held(block) for p in held)

    windowed = any(
        isinstance(g.layer, Attention) and g.layer.kind != "full" for g in request.arch.groups
    )
    if windowed and not settings.max_attention_window:
        notes += (
            "windowed layers are kept whole, as TensorRT-LLM does without max_attention_window; "
            "a KV-cache manager of version 2 may derive the windows itself",
        )
    return PoolAnswer(
        memory=memory, block_size=block, blocks=sum(p.blocks for p in pools), tokens=tokens,
        max_concurrency=at_once, longest=longest, fits=at_once >= 1,
        refusal=None if memory.likely else nothing_left(request),
        undecided=holds(memory.low) != holds(memory.high),
        lines=tuple(_lines(pools, memory.likely, block)), assumptions=notes,
        extra=(("windows", {str(p.window): p.blocks for p in pools}),) if len(pools) > 1 else (),
    )  # fmt: skip


def _per_layer(need: Needs) -> dict[int, float]:
    """Bytes a token on one rank of each layer, windowed or not."""
    found: dict[int, float] = {}
    for group in need.groups:
        held = group.rank_growing + (group.rank_window_bytes / group.window if group.window else 0)
        found.update(dict.fromkeys(group.indices, held / group.count))
    return found


def _pools(
    request: Request, per_layer: Mapping[int, float], vector: list[int], memory: int, block: int
) -> list[_Pool]:
    """One pool for each window, with the fewest blocks that a pipeline stage has for it."""
    fewest: dict[int, _Pool] = {}
    for stage in pipeline_stages(request.arch.num_layers, request.pp):
        kept = [index for index in stage if index in per_layer]
        windows: dict[int, list[float]] = {}
        for place, index in enumerate(kept):
            windows.setdefault(vector[place % len(vector)], []).append(per_layer[index])
        for window, costs in windows.items():
            share = max(memory, 0) / len(windows)
            blocks = int(share / sum(costs)) // block
            if len(windows) == 1:
                blocks = max(memory, 0) // int(sum(costs) * block)
            pool = _Pool(window, len(costs), sum(costs), blocks)
            if window not in fewest or blocks < fewest[window].blocks:
                fewest[window] = pool
    return [fewest[window] for window in sorted(fewest)]


def _lines(pools: list[_Pool], memory: int, block: int) -> list[str]:
    each = counted(block, "token")
    if len(pools) == 1:
        (pool,) = pools
        return [f"{format_bytes(memory)} / ({each} x {format_bytes(pool.bytes_per_token)}) = "
                f"{counted(pool.blocks, 'block')}"]  # fmt: skip
    return [
        f"{counted(pool.layers, 'layer')} {'keeps' if pool.layers == 1 else 'keep'} "
        f"{counted(pool.window, 'token')}: "
        f"{format_bytes(memory)} / {len(pools)} / ({each} x {format_bytes(pool.bytes_per_token)}) "
        f"= {counted(pool.blocks, 'block')}"
        for pool in pools
    ]


def _memory(request: Request, settings: TrtllmOptions) -> tuple[Range, tuple[str, ...]]:
    if request.memory is not None:
        return Range.exact(min(request.memory)), ()
    if request.gpu is None or request.weights_bytes is None:
        raise InputError("no memory to build a pool from", hint="say --gpu or --kv-cache-memory")
    free = visible_bytes(request.gpu) - request.weights_bytes
    pool = [
        max(int((free - part * GiB) * settings.free_gpu_memory_fraction), 0)
        for part in (6.0, 2.5, 0.8)
    ]
    return Range(*pool), ("0.8 to 6 GiB are taken by the runtime and its activations (estimate)",)
