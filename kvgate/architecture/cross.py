"""Cross-attention to an encoder's tokens: Llama 3.2 Vision."""

from __future__ import annotations

from kvgate.architecture.config import MOST_LAYERS, Config
from kvgate.architecture.family import Family, Types, defaults
from kvgate.architecture.heads import attention, kept
from kvgate.architecture.layout import Layout

__all__ = ["TYPES", "mllama"]


def mllama(config: Config) -> Layout:
    """Layers of ``cross_attention_layers`` (0-based) attend to the image, the others to text."""
    layers = config.layers()
    crossing = set(config.numbers("cross_attention_layers", most=MOST_LAYERS) or ())
    outside = sorted(index for index in crossing if index >= layers)
    if outside:
        config.problem(
            f"{config.name('cross_attention_layers')} names layer {outside[0]} of {layers} layers"
        )
    why = config.why("cross_attention_layers")
    cross = kept(config, attention(config, "cross"), *why)
    full = kept(config, attention(config), *why)
    return [cross if index in crossing else full for index in range(layers)]


TYPES: Types = {"mllama_text_model": Family(mllama, defaults(8))}
