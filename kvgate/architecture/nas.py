"""Models whose layers a search has thinned out one by one (Llama-Nemotron, DeciLM)."""

from __future__ import annotations

from kvgate.architecture.config import Config
from kvgate.architecture.family import Family, Types
from kvgate.architecture.heads import head_width, query_heads
from kvgate.architecture.layers import Attention, NoCache
from kvgate.architecture.layout import Kept, Layout

__all__ = ["TYPES", "deci", "deci_per_layer"]

_NOTHING: Kept = ((NoCache("no-op"), ("attention.no_op=true",)),)


def deci(config: Config) -> Layout:
    """``block_configs``: each layer has its own group size, a no-op, or a linear layer instead."""
    layers = config.layers()
    heads = query_heads(config)
    width = head_width(config, heads)
    config.ignore("num_key_value_heads", "intermediate_size")
    blocks = config.items("block_configs", at_least=layers)
    if blocks is None:
        config.problem(f"{config.name('block_configs')} is missing")
        return []
    layout: Layout = []
    for position, entry in enumerate(blocks[:layers]):
        path = f"{config.path}block_configs[{position}]."
        block = entry.get("attention") if isinstance(entry, dict) else None
        if not isinstance(block, dict):
            config.problem(f"{path}attention is missing")
            return []
        inner = Config(block, path=f"{path}attention.", problems=config.problems)
        layout.append(_block(inner, heads, width))
    return layout


def _block(block: Config, heads: int, width: int) -> Kept:
    if block.flag("no_op") or block.flag("replace_with_linear"):
        return _NOTHING
    for key in ("window_length", "num_sink_tokens", "sparsify"):
        if block.data.get(key):
            block.problem(f"{block.name(key)}={block.data[key]} is not supported")
    group = block.need("n_heads_in_group")
    if heads % group:
        block.problem(f"{block.name('n_heads_in_group')}={group} does not divide {heads} heads")
    kv_heads = max(1, heads // group)
    because = (f"block_configs.attention.n_heads_in_group={group}",)
    return ((Attention("full", heads, kv_heads, width, width), because),)


def deci_per_layer(config: Config) -> Layout:
    """DeciLM-7B: ``num_key_value_heads_per_layer``."""
    layers = config.layers()
    heads = query_heads(config)
    width = head_width(config, heads)
    listed = config.numbers("num_key_value_heads_per_layer", at_least=layers, least=1)
    if listed is None:
        config.problem(f"{config.name('num_key_value_heads_per_layer')} is missing")
        return []
    layout: Layout = []
    for kv_heads in listed[:layers]:
        if heads % kv_heads:
            config.problem(f"num_key_value_heads_per_layer: {kv_heads} does not divide {heads}")
        layer = Attention("full", heads, kv_heads, width, width)
        layout.append(((layer, (f"num_key_value_heads_per_layer={kv_heads}",)),))
    return layout


TYPES: Types = {"nemotron-nas": Family(deci), "deci": Family(deci_per_layer)}
