"""Attention with short convolutions on its streams: Inkling."""

from __future__ import annotations

from dataclasses import replace

from kvgate.architecture.config import MOST_LAYERS, Config
from kvgate.architecture.family import Family, Types, defaults
from kvgate.architecture.heads import MOST_HEADS, active_window, attention, kept
from kvgate.architecture.layers import Attention, StreamConv
from kvgate.architecture.layout import Kept, Layout, by_type

__all__ = ["TYPES", "inkling"]

_SLIDING, _FULL = "hybrid_sliding", "hybrid"


def inkling(config: Config) -> Layout:
    """``layer_types``, or ``local_layer_ids`` of windowed layers, which have ``swa_*`` heads.

    Every layer keeps the last tokens of four convolutions besides.
    """
    layers = config.layers()
    config.ignore("number_of_conv_states", "use_sconv", "mtp_local_layer_ids", "local_layer_ids")
    full, local = _kinds(config)
    types = config.words("layer_types", at_least=layers)
    if types is None:
        listed = config.numbers("local_layer_ids", most=MOST_LAYERS)
        if listed is None:
            every = config.defaults.get("every", 0)
            listed = [index for index in range(layers) if every and (index + 1) % every]
        types = [_SLIDING if index in set(listed) else _FULL for index in range(layers)]
    return by_type(config, "layer_types", types[:layers], {_FULL: lambda: full,
                                                           _SLIDING: lambda: local})  # fmt: skip


def _kinds(config: Config) -> tuple[Kept, Kept]:
    """A full and a windowed layer."""
    full = attention(config)
    key = "sliding_window_size" if config.data.get("sliding_window") is None else "sliding_window"
    window = active_window(config, key)
    heads = config.whole("swa_num_attention_heads", most=MOST_HEADS) or full.query_heads
    kv_heads = config.whole("swa_num_key_value_heads", most=MOST_HEADS) or full.kv_heads
    width = config.whole("swa_head_dim", most=MOST_HEADS) or full.head_dim
    for name, keys in (("v_head_dim", full.head_dim), ("swa_v_head_dim", width)):
        if config.whole(name, most=MOST_HEADS) not in (None, keys):
            config.problem(f"{config.name(name)} must be as wide as the keys, {keys}")
    local = replace(full, query_heads=heads, kv_heads=kv_heads, head_dim=width, v_head_dim=width)
    if window is not None:
        local = replace(local, kind="sliding", window=window)
    why = config.why(key, "swa_num_key_value_heads", "swa_head_dim")
    return (
        (*kept(config, full), _streams(config, full)),
        ((local, why), _streams(config, local)),
    )


def _streams(config: Config, layer: Attention) -> tuple[StreamConv, tuple[str, ...]]:
    key = "conv_kernel_size" if config.data.get("sconv_kernel_size") is None else (
        "sconv_kernel_size"
    )  # fmt: skip
    hidden = config.need("hidden_size", most=2**24)
    kernel = config.whole(key, least=2, most=MOST_HEADS, default=4) or 4
    if hidden % layer.kv_heads:
        config.problem(
            f"{config.name('hidden_size')}={hidden} is not a multiple of {layer.kv_heads} KV heads"
        )
    conv = StreamConv(layer.kv_heads, layer.head_dim, hidden, kernel)
    return conv, config.why("hidden_size", key)


def _draft(config: Config, layout: Layout, index: int) -> Kept:
    """Draft layers are full unless ``mtp_local_layer_ids`` names them."""
    full, local = _kinds(config)
    listed = config.numbers("mtp_local_layer_ids", most=MOST_LAYERS) or []
    return local if index in listed else full


_DRAFTS = ("num_mtp_layers", "num_nextn_predict_layers")

TYPES: Types = {
    "inkling_text": Family(
        inkling,
        defaults(
            8, 128, num_attention_heads=64, swa_num_attention_heads=64, swa_num_key_value_heads=16,
            swa_head_dim=128, sliding_window_size=512, every=6,
        ),
        draft=_DRAFTS,
        draft_layer=_draft,
    ),
    "inkling_model": Family(
        inkling, defaults(4, sliding_window_size=512), draft=_DRAFTS, draft_layer=_draft
    ),
}  # fmt: skip
