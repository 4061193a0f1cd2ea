"""Chunked local attention: Llama 4, where each n-th layer without RoPE attends to everything."""

from __future__ import annotations

from kvgate.architecture.config import Config
from kvgate.architecture.family import Family, Types, defaults
from kvgate.architecture.heads import attention, kept
from kvgate.architecture.layout import Kept, Layout, by_type

__all__ = ["TYPES", "llama4"]


def llama4(config: Config) -> Layout:
    """``layer_types`` if written out; else the layers that ``no_rope_layers`` marks 0 are full.

    Released files may leave ``no_rope_layers`` empty: then each ``no_rope_layer_interval``-th (4)
    layer has no RoPE. A null ``attention_chunk_size`` leaves all layers full.
    """
    layers = config.layers()
    chunk = config.whole("attention_chunk_size")
    marks = config.numbers("no_rope_layers", most=1)
    interval = config.whole("no_rope_layer_interval", default=4) or 4
    types = config.words("layer_types", at_least=layers)

    def full() -> Kept:
        return kept(config, attention(config))

    def chunked() -> Kept:
        if chunk is None:
            return kept(config, attention(config), "attention_chunk_size=null")
        layer = attention(config, "chunked", chunk)
        return kept(config, layer, *config.why("attention_chunk_size"))

    makers = {"full_attention": full, "chunked_attention": chunked}
    if types is not None:
        return by_type(config, "layer_types", types[:layers], makers)
    if marks:
        if len(marks) < layers:
            config.problem(
                f"{config.name('no_rope_layers')} has {len(marks)} entries for {layers} layers"
            )
            return []
        why: tuple[str, ...] = ("no_rope_layers",)
    else:
        marks = [int((index + 1) % interval != 0) for index in range(layers)]
        why = config.why("no_rope_layer_interval")
    named = {
        mark: tuple((layer, (*why, *rest)) for layer, rest in entry)
        for mark, entry in ((0, full()), (1, chunked()))
    }
    return [named[mark] for mark in marks[:layers]]


TYPES: Types = {"llama4_text": Family(llama4, defaults(8, 128))}
