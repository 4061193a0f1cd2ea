"""How many tokens a GPU can hold at most, whatever the engine: the bound that needs no release."""

from __future__ import annotations

from dataclasses import dataclass

from kvgate.errors import InputError
from kvgate.kvcache.reserve import visible_bytes
from kvgate.kvcache.size import size
from kvgate.plan.model import Plan

__all__ = ["Bound", "most_tokens"]


@dataclass(frozen=True, slots=True)
class Bound:
    """No more than ``tokens`` fit on a GPU: its share of memory, less the weights, by the bytes a
    token takes there.

    ``share`` is the part of the GPU's memory that the engine may use for weights and cache;
    all figures but the tokens are bytes.
    """

    tokens: int
    share: int
    weights: int
    per_token: float


def most_tokens(plan: Plan, fraction: float, dtype: str = "auto") -> Bound | None:
    """The bound for a fraction of the GPU's memory; None where model, GPU or weights aren't known.

    It leaves out activations, graphs and the driver's own memory, so that no release of an engine
    holds more.
    """
    if plan.arch is None or plan.gpu is None:
        return None
    try:
        sized = size(plan.arch, gpu=plan.gpu, tp=plan.tp, kv_cache_dtype=dtype)
    except InputError:
        return None
    weights = sized.weights.bytes_per_rank
    per_token = sized.needs.bytes_per_token_per_rank
    if weights is None or not per_token:
        return None
    share = int(visible_bytes(plan.gpu) * fraction)
    return Bound(max(int((share - weights) / per_token), 0), share, weights, per_token)
