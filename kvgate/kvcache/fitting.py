"""What would make a length fit that does not: each way is tried out before it is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kvgate.errors import InputError
from kvgate.kvcache.answer import PoolAnswer
from kvgate.kvcache.needs import needs
from kvgate.kvcache.request import Request
from kvgate.kvcache.weight import Weights

__all__ = ["ways_to_fit"]

_EIGHT_BITS = {"llama.cpp": "q8_0", "sglang": "fp8_e4m3"}
_MOST_RANKS = 16


def ways_to_fit(
    request: Request,
    pool: PoolAnswer,
    answer: Callable[[Request], PoolAnswer],
    weights: Callable[[int], Weights],
) -> tuple[str, ...]:
    """Sentences that begin with ``to fit:``.

    ``answer`` gives the pool of a changed request, ``weights`` those of a rank of as many.
    """
    ways = [f"to fit: max_model_len {pool.longest:,}"] if pool.longest else []
    small = _EIGHT_BITS.get(request.engine, "fp8")
    tries = {f"kv_cache_dtype {small}": replace(request, kv_cache_dtype=small)}
    if request.engine == "vllm":
        tries["max_num_batched_tokens 2,048"] = replace(request, max_num_batched_tokens=2048)
    if request.engine == "vllm" and request.memory is None:
        tries["gpu_memory_utilization 0.95"] = replace(request, gpu_memory_utilization=0.95)
        tries["max_num_seqs 256"] = replace(request, max_num_seqs=256)
    ways += [way for name, changed in tries.items() if (way := _tried(name, changed, answer))]
    if request.memory is None and request.gpu is not None and request.engine != "llama.cpp":
        ranks = request.tp * 2
        while ranks <= _MOST_RANKS:
            held = weights(ranks)
            more = replace(
                request, tp=ranks, weights_bytes=held.bytes_per_rank, stage_weights=held.by_stage
            )
            way = _tried(f"tensor_parallel_size {ranks}", more, answer)
            if way:
                ways.append(way)
                break
            ranks *= 2
    return tuple(ways)


def _tried(name: str, changed: Request, answer: Callable[[Request], PoolAnswer]) -> str:
    try:
        needs(
            changed.arch, kv_cache_dtype=changed.kv_cache_dtype, engine=changed.engine,
            version=changed.version, sm=changed.sm, tp=changed.tp, pp=changed.pp, dcp=changed.dcp,
            dtype=changed.dtype, ssm_dtype=changed.ssm_dtype,
        )  # fmt: skip
        found = answer(changed)
    except InputError:
        return ""
    if not found.fits:
        return ""
    most = f"up to {found.longest:,} tokens" if found.longest is not None else "any length"
    return f"to fit: {name} (then {most})"
