"""Bytes of weights on a rank: given, from a safetensors index, or counted; it says which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kvgate.architecture.model import Architecture
from kvgate.errors import InputError

__all__ = ["Weights", "weights_of"]


@dataclass(frozen=True, slots=True)
class Weights:
    """Bytes of weights: ``bytes_per_rank`` (None where nobody knows), and how they were found.

    ``by_stage`` are those of a rank of each pipeline stage, where they were counted.
    """

    bytes_per_rank: int | None
    basis: str
    by_stage: tuple[int, ...] = ()


def weights_of(
    arch: Architecture,
    *,
    given: int | Sequence[int] | None,
    checkpoint: int | None,
    tp: int,
    pp: int,
    dtype: str,
    quantization: str | None,
    draft: bool,
) -> Weights:
    """The weights of the rank that holds most.

    ``given`` bytes per rank (one figure, or one per pipeline stage) beat ``checkpoint``, the bytes
    of all of them, which beat counting.
    Raises InputError for negative bytes, and for figures that are not one per stage.
    """
    stages = (given,) if isinstance(given, int) else tuple(given or ())
    for name, size in (*(("", held) for held in stages), ("a checkpoint of ", checkpoint)):
        if size is not None and size < 0:
            raise InputError(f"{name}{size} bytes of weights are impossible")
    if stages:
        if len(stages) not in (1, pp):
            raise InputError(
                f"{len(stages)} figures of weights for {pp} pipeline stages",
                hint="give one figure, or one per stage",
            )
        return Weights(max(stages), "given", stages if len(stages) == pp else ())
    from kvgate.architecture.weights import weights_by_stage

    try:
        stages = weights_by_stage(
            arch, tp=tp, pp=pp, dtype=None if dtype == "auto" else dtype,
            quantization=quantization, draft=draft, checkpoint_bytes=checkpoint,
        )  # fmt: skip
    except InputError as error:
        if checkpoint is None:
            return Weights(None, f"unknown: {error.message}")
        return Weights(
            checkpoint // (tp * pp), "total_size of the safetensors index over all ranks"
        )
    counted = max(stages)
    if checkpoint is not None:
        return Weights(counted, "total_size of the safetensors index, split as counted", stages)
    left_out = f"; not counted: {', '.join(arch.not_counted)}" if arch.not_counted else ""
    return Weights(counted, f"counted from the architecture{left_out}", stages)
