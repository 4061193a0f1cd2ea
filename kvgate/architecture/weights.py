"""How many parameters a model has, how many bytes they take, and how many of them a rank holds."""

from __future__ import annotations

from dataclasses import dataclass

from kvgate.architecture.model import Architecture
from kvgate.architecture.parts import Part
from kvgate.errors import InputError

__all__ = ["Weights", "weights", "weights_by_stage", "weights_per_rank"]

_DTYPE_BITS = {"float32": 32.0, "bfloat16": 16.0, "float16": 16.0}
# What an engine's own quantisation makes of a linear weight that the checkpoint keeps in 16 bits.
_ONLINE_BITS = {"fp8": 8.0, "int8": 8.0, "fp8_per_tensor": 8.0, "mxfp8": 8.25, "mxfp4": 4.25}
_VOCAB_PADDING = 64


@dataclass(frozen=True, slots=True)
class Weights:
    """All of a model's weights, one copy.

    ``basis`` says where the number comes from; ``not_counted`` what it leaves out. ``parameters``
    counts values, not the scales beside them (None where only bytes are known); ``bytes`` counts
    both.
    """

    parameters: int | None
    bytes: int
    basis: str
    not_counted: tuple[str, ...] = ()


def weights(
    architecture: Architecture,
    *,
    dtype: str | None = None,
    quantization: str | None = None,
    draft: bool = False,
    checkpoint_bytes: int | None = None,
) -> Weights:
    """The weights of a model, one copy.

    Gives bytes and parameters. Source: the safetensors index where it is given, else the parts that
    the config makes up.

    ``checkpoint_bytes``, from a safetensors index, beats counting. Otherwise ``dtype`` is what
    unquantised weights are loaded in (the checkpoint's by default, bfloat16 where it does not say),
    ``quantization`` an engine's own quantisation of a 16-bit checkpoint, and ``draft`` counts MTP
    layers too. Raises InputError where the model cannot be counted.
    """
    if checkpoint_bytes is not None:
        return Weights(
            architecture.parameters, checkpoint_bytes, "total_size of the safetensors index"
        )
    parts = _parts(architecture, draft=draft)
    plain = _plain_bits(architecture, dtype)
    return Weights(
        parameters=sum(part.parameters for part in parts),
        bytes=_bytes(parts, plain, quantization),
        basis="counted from the architecture",
        not_counted=architecture.not_counted,
    )


def weights_per_rank(
    architecture: Architecture,
    *,
    tp: int = 1,
    pp: int = 1,
    dp: int = 1,
    dtype: str | None = None,
    quantization: str | None = None,
    draft: bool = False,
    checkpoint_bytes: int | None = None,
) -> int:
    """Bytes of weights on the rank that holds most, as an engine's start-up log counts them.

    Columns and rows are split over ``tp`` ranks, KV heads replicated where there are fewer of them,
    MLA's down-projections, routers, indexers, norms and RoPE tables replicated, and layers split
    over ``pp`` stages. With ``dp`` attention replicas the routed experts are spread over all
    tp x dp ranks, as vLLM does. What an engine adds while it loads (RoPE tables, MLA's absorbed
    copies, padding of FP4 experts) is in it. ``checkpoint_bytes`` scales the count to what a
    safetensors index says. Raises InputError where the model cannot be counted, or ``tp`` not
    divide its KV heads.
    """
    return max(
        weights_by_stage(
            architecture,
            tp=tp,
            pp=pp,
            dp=dp,
            dtype=dtype,
            quantization=quantization,
            draft=draft,
            checkpoint_bytes=checkpoint_bytes,
        )
    )


def weights_by_stage(
    architecture: Architecture,
    *,
    tp: int = 1,
    pp: int = 1,
    dp: int = 1,
    dtype: str | None = None,
    quantization: str | None = None,
    draft: bool = False,
    checkpoint_bytes: int | None = None,
) -> tuple[int, ...]:
    """Bytes of weights on one rank of each pipeline stage, first stage first.

    The arguments are those of `weights_per_rank`.
    """
    if min(tp, pp, dp) < 1:
        raise InputError(f"ranks are counted from 1, not tp={tp}, pp={pp}, dp={dp}")
    if pp > architecture.num_layers:
        raise InputError(
            f"{architecture.id} has {architecture.num_layers} layers, fewer than pp={pp}"
        )
    plain = _plain_bits(architecture, dtype)
    bounds = _bounds(architecture.num_layers, pp)
    sizes = [0.0] * pp
    parts = _parts(architecture, draft=draft)
    tied = not any(part.role == "head" for part in parts)
    for part in parts:
        share = _share(part, tp, architecture) * (dp if part.role == "experts" else 1)
        one = part.each / share * _bits(part, plain, quantization) / 8
        if part.layers:
            for stage, (first, last) in enumerate(bounds):
                final = stage == pp - 1
                held = sum(first <= i < last or (final and i >= last) for i in part.layers)
                sizes[stage] += one * held
            continue
        stages = {0} if part.role in ("embedding", "vision") else {pp - 1}
        if part.role == "rope":
            stages = set(range(pp))
        if part.role == "embedding" and part.split == "vocab" and tied:
            stages = {0, pp - 1}
        for stage in stages:
            sizes[stage] += one
    scale = 1.0
    if checkpoint_bytes is not None:
        # The file holds the drafts too, and none of what an engine adds.
        scale = checkpoint_bytes / _bytes(_parts(architecture, draft=True), plain, None)
    return tuple(round(size * scale) for size in sizes)


def _bytes(parts: list[Part], plain: float, quantization: str | None) -> int:
    return round(sum(part.parameters * _bits(part, plain, quantization) for part in parts) / 8)


def _parts(architecture: Architecture, *, draft: bool) -> list[Part]:
    if not architecture.parts:
        raise InputError(
            f"{architecture.id}: its weights cannot be counted from the config",
            hint="; ".join(architecture.not_counted) or "say how many bytes a GPU holds",
        )
    limit = architecture.num_layers
    kept = []
    for part in architecture.parts:
        own = tuple(index for index in part.layers if draft or index < limit)
        if own or not part.layers:
            kept.append(
                Part(part.role, part.each, own, part.split, part.heads, part.bits, part.linear)
            )
    return kept


def _plain_bits(architecture: Architecture, dtype: str | None) -> float:
    name = (dtype or architecture.dtype or "bfloat16").removeprefix("torch.")
    if name == "auto":
        name = architecture.dtype or "bfloat16"
    if name not in _DTYPE_BITS:
        raise InputError(f"unknown dtype {name!r}", hint=f"known: {', '.join(_DTYPE_BITS)}")
    # Engines run a float32 checkpoint in 16 bits unless told otherwise.
    return 16.0 if dtype is None and name == "float32" else _DTYPE_BITS[name]


def _bits(part: Part, plain: float, quantization: str | None) -> float:
    if part.bits is not None:
        return part.bits
    if quantization is not None and part.linear:
        return _ONLINE_BITS.get(quantization, plain)
    return plain


def _share(part: Part, tp: int, architecture: Architecture) -> float:
    """By how much a rank's share of a part is smaller than the whole."""
    match part.split:
        case "none":
            return 1.0
        case "heads":
            if part.heads % tp and tp % part.heads:
                raise InputError(
                    f"{part.heads} KV heads of {architecture.id} cannot be split over tp={tp}",
                    hint="engines refuse it: choose a tp that divides them, or a multiple of them",
                )
            return part.heads / max(1, part.heads // tp)
        case "vocab":
            rows = architecture.vocab_size or 0
            padded = -(-rows // _VOCAB_PADDING) * _VOCAB_PADDING if rows else 0
            return tp * rows / padded if padded else float(tp)
        case _:
            return float(tp)


def _bounds(layers: int, pp: int) -> list[tuple[int, int]]:
    """Layers of each stage as vLLM splits them: the rest goes to stages before the last."""
    sizes = [layers // pp] * pp
    for extra in range(layers % pp):
        sizes[-(extra + 2)] += 1
    bounds, first = [], 0
    for size in sizes:
        bounds.append((first, first + size))
        first += size
    return bounds
