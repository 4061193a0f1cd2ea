"""DeepSeek V4 and V4.1: a raw window of latents in every layer, compressed entries in most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from kvgate.architecture.config import MOST_LAYERS, Config
from kvgate.architecture.family import Family, Types
from kvgate.architecture.heads import query_heads
from kvgate.architecture.layers import CompressedAttention, Indexer
from kvgate.architecture.layout import Kept, Layout

__all__ = ["TYPES", "compressed_layer", "ratios", "v4", "v41"]

# What newer transformers writes instead of the released files' compress_ratios.
_RATE = {
    "sliding_attention": 0,
    "compressed_sparse_attention": 4,
    "heavily_compressed_attention": 128,
}


def ratios(config: Config, layers: int) -> list[int]:
    """Tokens per compressed entry of each layer, drafts after the model's own; 0 keeps none."""
    listed = config.numbers("compress_ratios", at_least=layers)
    if listed is not None:
        config.ignore("layer_types", "compress_rates")
        return listed
    types = config.words("layer_types", at_least=layers)
    if types is None:
        config.problem(f"{config.name('compress_ratios')} is missing")
        return [0] * layers
    rates = dict(_RATE)
    written = config.inner("compress_rates")
    if written is not None:
        rates.update({key: written.need(key) for key in written.data})
    for position, word in enumerate(types):
        if word not in rates:
            config.problem(
                f"{config.name('layer_types')}[{position}] is {word!r}, which is no layer type of "
                f"this family (known: {', '.join(rates)})"
            )
    return [rates.get(word, 0) for word in types]


def compressed_layer(
    config: Config, ratio: int, version: Literal["v4", "v4.1"], *, indexed: bool
) -> CompressedAttention:
    """One layer; ``indexed`` where it keeps index keys to choose entries by."""
    head_dim = config.need("head_dim", most=65_536)
    rope = config.whole("qk_rope_head_dim", most=65_536)
    if rope is None:
        factor = config.number("partial_rotary_factor")
        rope = int(head_dim * factor) if factor else 64
        config.assume("qk_rope_head_dim", rope)
    config.ignore("num_key_value_heads", "q_lora_rank", "o_lora_rank", "o_groups", "v_head_dim")
    config.ignore("qk_nope_head_dim", "kv_lora_rank")
    topk = config.need("index_topk")
    width = config.need("index_head_dim", most=65_536)
    heads = config.need("index_n_heads", most=65_536)
    return CompressedAttention(
        query_heads=query_heads(config),
        head_dim=head_dim,
        qk_rope_head_dim=rope,
        window=config.need("sliding_window"),
        ratio=ratio,
        indexer=Indexer(head_dim=width, topk=topk, heads=heads) if indexed else None,
        version=version,
    )


def v4(config: Config) -> Layout:
    """DeepSeek V4: ratio 4 with an indexer, ratio 128 without, 0 for the window only."""
    layers = config.layers()
    config.ignore("compress_rope_theta")
    key = "compress_ratios" if config.data.get("compress_ratios") is not None else "compress_rates"
    made: dict[int, Kept] = {}
    for ratio in dict.fromkeys(listed := ratios(config, layers)[:layers]):
        if ratio not in (0, 4, 128):
            config.problem(f"{config.name(key)}: {ratio} is no ratio of this family (0, 4, 128)")
        layer = compressed_layer(config, ratio, "v4", indexed=ratio == 4)
        why = config.why("sliding_window", "head_dim")
        made[ratio] = ((layer, (f"{key}={ratio}", *why)),)
    return [made[ratio] for ratio in listed]


def v41(config: Config) -> Layout:
    """DeepSeek V4.1: ratio 1 or 2, kept by the layers of ``kv_source_layer_ids`` only.

    The layers after a source read its entries and keep their own window, which is what ratio 0
    keeps. Index keys are kept where a source is in ``index_source_layer_ids`` too.
    """
    layers = config.layers()
    config.ignore("compress_rope_theta", "candidate_source_layer_id", "candidate_topk_blocks")
    config.ignore("candidate_block_size")
    listed = ratios(config, layers)[:layers]
    sources = config.numbers("kv_source_layer_ids", most=MOST_LAYERS)
    indexed = config.numbers("index_source_layer_ids", most=MOST_LAYERS)
    if any(listed) and not (sources and indexed):
        config.problem(
            f"{config.name('kv_source_layer_ids')} and index_source_layer_ids are needed where "
            "compress_ratios are above 0"
        )
    layout: Layout = []
    for index, ratio in enumerate(listed):
        if ratio not in (0, 1, 2):
            config.problem(f"{config.name('compress_ratios')}[{index}]={ratio} is not 0, 1 or 2")
            return []
        keeps = ratio > 0 and index in (sources or ())
        why = (
            "compress_ratios=0" if not ratio else "reads the entries of a kv_source_layer_ids layer"
        )
        if keeps:
            why = f"compress_ratios={ratio}, in kv_source_layer_ids"
        layer = compressed_layer(
            config, ratio if keeps else 0, "v4.1", indexed=keeps and index in (indexed or ())
        )
        layout.append(((layer, (why, *config.why("sliding_window", "head_dim"))),))
    return layout


def _draft(version: Literal["v4", "v4.1"]) -> Callable[[Config, Layout, int], Kept]:
    """Draft layers stand after the model's own in ``compress_ratios``, and keep a window only."""

    def layer(config: Config, layout: Layout, index: int) -> Kept:
        ratio = 0
        listed = config.numbers("compress_ratios") if version == "v4" else None
        if listed is not None and len(layout) + index < len(listed):
            ratio = listed[len(layout) + index]
        kept = compressed_layer(config, ratio, version, indexed=ratio == 4)
        return ((kept, (f"compress_ratios={ratio}",)),)

    return layer


TYPES: Types = {
    "deepseek_v4": Family(v4, draft_layer=_draft("v4")),
    "deepseek_ref": Family(v4, draft_layer=_draft("v4")),
    "deepseek_v41": Family(v41, draft_layer=_draft("v4.1")),
    "deepseek_v41_text": Family(v41, draft_layer=_draft("v4.1")),
}
