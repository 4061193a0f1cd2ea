"""Short convolutions with attention in between: LFM2 and LFM3."""

from __future__ import annotations

from kvgate.architecture.config import MOST_LAYERS, Config
from kvgate.architecture.family import Family, Types, defaults
from kvgate.architecture.heads import full_kept, sliding_kept
from kvgate.architecture.layout import Layout, Makers, by_type, said
from kvgate.architecture.states import short_conv

__all__ = ["TYPES", "lfm2"]


def lfm2(config: Config) -> Layout:
    """``layer_types`` of conv, full and sliding attention; older files list ``full_attn_idxs``."""
    layers = config.layers()
    config.ignore("conv_L_cache")
    makers: Makers = {
        "conv": lambda: short_conv(config),
        "full_attention": lambda: full_kept(config),
        "sliding_attention": lambda: sliding_kept(config),
    }
    types = config.words("layer_types", at_least=layers)
    if types is not None:
        config.ignore("full_attn_idxs")
        return by_type(config, "layer_types", types[:layers], makers)
    full = config.numbers("full_attn_idxs", most=MOST_LAYERS)
    if full is None:
        config.problem(f"{config.name('layer_types')} is missing")
        return []
    words = ["full_attention" if index in full else "conv" for index in range(layers)]
    return by_type(config, "full_attn_idxs", words, makers)


def unlisted(config: Config) -> Layout:
    """LFM2 itself: its class takes a file with neither list for attention in every layer."""
    if any(config.data.get(key) is not None for key in ("layer_types", "full_attn_idxs")):
        return lfm2(config)
    config.ignore("conv_L_cache")
    attend = said(full_kept(config), ("layer_types and full_attn_idxs are absent",))
    return [attend] * config.layers()


TYPES: Types = {
    "lfm2": Family(unlisted, defaults(8)),
    "lfm2_moe": Family(lfm2, defaults(8)),
    "lfm3": Family(lfm2, defaults(4, 128, 256)),
}
