"""Pipeline stages: which layers each one holds, as the engines split them."""

from __future__ import annotations

from functools import lru_cache

from kvgate.errors import InputError

__all__ = ["pipeline_stages"]


@lru_cache(maxsize=256)
def pipeline_stages(layers: int, pp: int) -> tuple[range, ...]:
    """The layer indices of each of ``pp`` stages.

    Layers left over go to the stages before the last one, from the back. Raises InputError when
    there are fewer layers than stages. Source: vllm 0.33.0, distributed/utils.py (get_pp_indices).

    >>> [len(stage) for stage in pipeline_stages(61, 4)]
    [15, 15, 16, 15]
    """
    if pp < 1 or layers < pp:
        raise InputError(
            f"{layers} layers cannot be split over pipeline parallel size {pp}",
            hint=f"use a size from 1 to {layers}",
        )
    counts = [layers // pp] * pp
    for back in range(2, layers % pp + 2):
        counts[-back] += 1
    stages = []
    first = 0
    for count in counts:
        stages.append(range(first, first + count))
        first += count
    return tuple(stages)
