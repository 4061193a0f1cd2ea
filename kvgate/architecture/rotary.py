"""The tables of sines and cosines that an engine keeps on every rank, one for each kind of RoPE.

They are no weights, but engines build them while they load a model and count them with it: a model
whose config promises ten million positions pays gigabytes for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kvgate.architecture.layers import MLA, Attention, CompressedAttention, LayerGroup

__all__ = ["table_elements"]

_MROPE_FACTOR = 4  # vllm 0.33.0 rotary_embedding/mrope.py: positions_factor


def table_elements(text: Mapping[str, Any], groups: Iterable[LayerGroup]) -> int:
    """Elements of all tables together, in the dtype that the model runs in."""
    longest = _int(text.get("max_position_embeddings")) or _int(text.get("n_positions"))
    if not longest or text.get("alibi") or "n_ctx" in text:
        return 0
    tables: dict[tuple[int, int, str], int] = {}
    for group in groups:
        layer = group.layer
        match layer:
            case MLA() | CompressedAttention():
                width, kind = layer.qk_rope_head_dim, "full_attention"
            case Attention(kind="cross"):
                continue
            case Attention():
                kind = "full_attention" if layer.kind == "full" else "sliding_attention"
                width = _width(text, layer.head_dim, kind)
            case _:
                continue
        scaling, label = _scaling(text, kind)
        rows = _rows(scaling, longest)
        tables[width, rows, label] = width * rows
    return sum(tables.values())


def _scaling(text: Mapping[str, Any], kind: str) -> tuple[Mapping[str, Any], str]:
    """The RoPE parameters of a kind of layer, one set for all or one for each kind, and whose."""
    for key in ("rope_parameters", "rope_scaling"):
        found = text.get(key)
        if isinstance(found, Mapping):
            own = found.get(kind)
            if isinstance(own, Mapping):
                return own, kind
            break
    # Gemma 3's older files scale the full layers only, and give the others a base of their own.
    if kind == "sliding_attention" and "rope_local_base_freq" in text:
        return {}, kind
    return (found, "") if isinstance(found, Mapping) else ({}, "")


def _width(text: Mapping[str, Any], head_dim: int, kind: str) -> int:
    scaling, _ = _scaling(text, kind)
    if scaling.get("rope_type") == "proportional":
        return head_dim
    rotary = _int(text.get("rotary_dim"))
    if rotary:
        return min(rotary, head_dim)
    factor = scaling.get("partial_rotary_factor", text.get("partial_rotary_factor"))
    if isinstance(factor, int | float) and not isinstance(factor, bool) and 0 < factor <= 1:
        return int(head_dim * factor)
    return head_dim


def _rows(scaling: Mapping[str, Any], longest: int) -> int:
    kind = scaling.get("rope_type", scaling.get("type"))
    original = _int(scaling.get("original_max_position_embeddings")) or 0
    factor = _factor(scaling)
    rows = longest
    if kind == "yarn" and original:
        rows = int(original * factor)
    elif kind in ("linear", "dynamic"):
        rows = int(longest * factor)
    elif kind in ("longrope", "su"):
        rows = longest + original
    return rows * (_MROPE_FACTOR if "mrope_section" in scaling else 1)


def _factor(scaling: Mapping[str, Any]) -> float:
    factor = scaling.get("factor")
    if isinstance(factor, int | float) and not isinstance(factor, bool) and 0 < factor < 10_000:
        return float(factor)
    return 1.0


def _int(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**40:
        return value
    return None
