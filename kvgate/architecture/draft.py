"""Draft layers that a checkpoint brings along for speculative decoding (MTP)."""

from __future__ import annotations

from dataclasses import replace

from kvgate.architecture.config import Config
from kvgate.architecture.family import Family
from kvgate.architecture.layers import MLA, Attention, CompressedAttention
from kvgate.architecture.layout import Kept, Layout, group
from kvgate.architecture.model import Draft

__all__ = ["draft"]

_MOST = 64


def draft(config: Config, family: Family, layout: Layout) -> Draft | None:
    """The draft of a model, None where the config counts no draft layers.

    Indices go on from the model's own layers. A draft layer keeps what the model's last attention
    layer keeps, with an indexer of its own, where its family does not say otherwise.
    """
    for key in family.draft:
        count = config.whole(key, least=0, most=_MOST)
        if count and layout:
            why = config.why(key)
            kept = [
                family.draft_layer(config, layout, index) if family.draft_layer else _last(layout)
                for index in range(count)
            ]
            own: Layout = [tuple((layer, (*why, *rest)) for layer, rest in one) for one in kept]
            return Draft("mtp", group([()] * len(layout) + own)) if any(own) else None
    return None


def _last(layout: Layout) -> Kept:
    """The last attention layer; of sparse MLA the last one with an indexer of its own."""
    indexer = next(
        (
            layer.indexer
            for kept in layout
            for layer, _ in kept
            if isinstance(layer, MLA) and layer.indexer
        ),
        None,
    )
    for kept in reversed(layout):
        for layer, _ in kept:
            if isinstance(layer, MLA):
                return ((replace(layer, indexer=indexer, shares_indexer=False), ()),)
            if isinstance(layer, Attention | CompressedAttention):
                return ((layer, ()),)
    return ()
