"""Bytes of weights on a rank: given, from a safetensors index, or counted; it says which."""

from __future__ import annotations

from dataclasses import dataclass

from kvgate.architecture.model import Architecture
from kvgate.errors import InputError

__all__ = ["Weights", "weights_of"]


@dataclass(frozen=True, slots=True)
class Weights:
    """Bytes of weights: ``bytes_per_rank`` (None where nobody knows), and how they were found."""

    bytes_per_rank: int | None
    basis: str


def weights_of(
    arch: Architecture,
    *,
    given: int | None,
    checkpoint: int | None,
    tp: int,
    pp: int,
    dtype: str,
    quantization: str | None,
    draft: bool,
) -> Weights:
    """The weights of the rank that holds most.

    ``given`` bytes per rank beat ``checkpoint``, the bytes of all of them, which beat counting.
    Raises InputError for negative bytes.
    """
    for name, size in (("", given), ("a checkpoint of ", checkpoint)):
        if size is not None and size < 0:
            raise InputError(f"{name}{size} bytes of weights are impossible")
    if given is not None:
        return Weights(given, "given")
    from kvgate.architecture.weights import weights_per_rank

    try:
        counted = weights_per_rank(
            arch, tp=tp, pp=pp, dtype=None if dtype == "auto" else dtype,
            quantization=quantization, draft=draft, checkpoint_bytes=checkpoint,
        )  # fmt: skip
    except InputError as error:
        if checkpoint is None:
            return Weights(None, f"unknown: {error.message}")
        return Weights(
            checkpoint // (tp * pp), "total_size of the safetensors index over all ranks"
        )
    if checkpoint is not None:
        return Weights(counted, "total_size of the safetensors index, split as counted")
    left_out = f"; not counted: {', '.join(arch.not_counted)}" if arch.not_counted else ""
    return Weights(counted, f"counted from the architecture{left_out}")
