"""Models whose sliding layers have heads of their own: MiMo-V2, Step-3.5, 3.7 and 5."""

from __future__ import annotations

from dataclasses import replace

from kvgate.architecture.config import Config
from kvgate.architecture.family import Family, Types, defaults
from kvgate.architecture.heads import MOST_HEADS, active_window, attention, kept
from kvgate.architecture.layers import Attention
from kvgate.architecture.layout import Kept, Layout, by_type
from kvgate.architecture.sinks import by_flags, with_sinks

__all__ = ["TYPES", "mimo_v2", "step", "step5"]

_WORDS = ("full_attention", "sliding_attention")


def mimo_v2(config: Config) -> Layout:
    """``hybrid_layer_pattern``: 1 slides; keys and values of different width in both kinds.

    Files also carry ``attention_chunk_size``, which nothing in the model acts on.
    """
    layers = config.layers()
    config.ignore("attention_chunk_size", "sliding_window_size", "hybrid_block_size")
    full = attention(config)
    key = "sliding_window" if config.data.get("sliding_window") else "sliding_window_size"
    window = active_window(config, key)
    swa = {
        name: config.whole(f"swa_{name}", most=MOST_HEADS, default=default)
        for name, default in (
            ("num_attention_heads", full.query_heads),
            ("num_key_value_heads", full.kv_heads),
            ("head_dim", full.head_dim),
            ("v_head_dim", full.v_head_dim),
        )
    }
    local = Attention(
        "full" if window is None else "sliding",
        swa["num_attention_heads"] or 1,
        swa["num_key_value_heads"] or 1,
        swa["head_dim"] or 1,
        swa["v_head_dim"] or 1,
        window,
    )

    def attend() -> Kept:
        return ((full, (*kept(config, full)[0][1], *config.why("v_head_dim"))),)

    def slide() -> Kept:
        said = config.why(
            key, "swa_num_attention_heads", "swa_num_key_value_heads", "swa_head_dim",
            "swa_v_head_dim",
        )  # fmt: skip
        return ((local, said),)

    marks = config.numbers("hybrid_layer_pattern", at_least=layers)
    if marks is not None:
        config.ignore("layer_types")
        words = [str(mark) for mark in marks[:layers]]
        return by_type(config, "hybrid_layer_pattern", words, {"0": attend, "1": slide})
    types = config.words("layer_types", at_least=layers)
    if types is None:
        types = [
            _WORDS[0] if index == 0 or (index + 1) % 6 == 0 else _WORDS[1]
            for index in range(layers)
        ]
    return by_type(config, "layer_types", types[:layers], {_WORDS[0]: attend, _WORDS[1]: slide})


def mimo_v2_flash(config: Config) -> Layout:
    """MiMo-V2-Flash as transformers writes it: twice the KV heads where layers slide, unsaid."""
    kv_heads = config.whole("num_key_value_heads", most=MOST_HEADS)
    if kv_heads is not None:
        config.fill("swa_num_key_value_heads", 2 * kv_heads)
    return mimo_v2(config)


def step(config: Config) -> Layout:
    """Step-3.5 and 3.7: ``layer_types``, and another head count in the sliding layers.

    KV heads may be called ``num_attention_groups``. The lists run on over the draft layers.
    """
    layers = config.layers()
    config.ignore("mtp_layer_types", "per_layer_config")
    groups = "num_attention_groups"
    if config.data.get("num_key_value_heads") is None and config.data.get(groups) is not None:
        full = _grouped(config, config.need(groups, most=MOST_HEADS))
    else:
        full = attention(config)
    window = active_window(config)
    local = _local(config, full, window)

    def attend() -> Kept:
        return ((full, (*config.why(groups), *kept(config, full)[0][1])),)

    def slide() -> Kept:
        return ((local, (*config.why("sliding_window"), *kept(config, local)[0][1])),)

    types = config.words("layer_types", at_least=layers)
    if types is None:
        types = [_WORDS[0]] * layers
    known = {_WORDS[0]: attend, _WORDS[1]: slide}
    return by_type(config, "layer_types", types[:layers], known)


def _grouped(config: Config, kv_heads: int) -> Attention:
    heads = config.need("num_attention_heads", most=MOST_HEADS)
    hidden = config.need("hidden_size", most=2**24)
    width = config.whole("head_dim", most=MOST_HEADS) or max(1, hidden // heads)
    config.assume("head_dim", width)
    return Attention("full", heads, kv_heads, width, width)


def _local(config: Config, full: Attention, window: int | None) -> Attention:
    heads, kv_heads, width = full.query_heads, full.kv_heads, full.head_dim
    count = config.whole("num_sliding_attention_heads", most=MOST_HEADS)
    other = config.inner("attention_other_setting")
    if other is not None:
        other.ignore("attention_type", "true_head_dim")
        count = other.whole("num_attention_heads", most=MOST_HEADS) or count
        kv_heads = (
            other.whole("num_attention_groups", most=MOST_HEADS)
            or other.whole("num_key_value_heads", most=MOST_HEADS)
            or kv_heads
        )
        width = other.whole("head_dim", most=MOST_HEADS) or width
    kind = "full" if window is None else "sliding"
    return Attention(kind, count or heads, kv_heads, width, width, window)  # type: ignore[arg-type]


def step5(config: Config) -> Layout:
    """Step-5: every other layer slides where no ``layer_types`` are given, with query heads of
    its own; KV heads are ``num_attention_groups``.

    With a ``sparse_config``, full layers keep summaries and a ring that kvgate does not size.
    """
    layers = config.layers()
    for key in ("sparse_config", "step5_sparse_config", "step3p5_sparse_config"):
        if config.data.get(key) is not None:
            config.problem(f"{config.name(key)}: its block summaries are not supported")
    config.ignore("attention_other_setting", "layer_types_with_mtp")
    if config.data.get("num_key_value_heads") is None:
        full = _grouped(config, config.need("num_attention_groups", most=MOST_HEADS))
    else:
        full = attention(config)
    window = active_window(config)
    local = full
    if window is not None:
        heads = config.whole("swa_num_attention_heads", most=MOST_HEADS) or full.query_heads
        local = replace(full, kind="sliding", query_heads=heads, window=window)
    types = config.words("layer_types", at_least=layers)
    if types is None:
        types = [_WORDS[0] if index % 2 else _WORDS[1] for index in range(layers)]
    said = config.why("num_attention_groups")
    known = {
        _WORDS[0]: lambda: kept(config, full, *said),
        _WORDS[1]: lambda: kept(config, local, *config.why("sliding_window"), *said),
    }
    return by_type(config, "layer_types", types[:layers], known)


def _mimo_draft(config: Config, layout: Layout, index: int) -> Kept:
    """MiMo-V2's draft layers slide."""
    return next((kept for kept in layout if _slides(kept)), layout[-1])


def _slides(kept: Kept) -> bool:
    return any(isinstance(layer, Attention) and layer.kind == "sliding" for layer, _ in kept)


def _step_draft(config: Config, layout: Layout, index: int) -> Kept:
    """Step's draft layers have their types in ``mtp_layer_types``, or after the model's own."""
    types = config.words("mtp_layer_types")
    if types is None:
        types = (config.words("layer_types") or [])[len(layout) :]
    slides = types[index] == _WORDS[1] if index < len(types) else False
    return next((kept for kept in layout if _slides(kept) == slides), layout[-1])


TYPES: Types = {
    **{
        name: Family(
            with_sinks(read, by_flags), defaults(4, 192, v_head_dim=128), draft_layer=_mimo_draft
        )
        for name, read in (
            ("mimo_v2", mimo_v2),
            ("mimo_v2_flash", mimo_v2_flash),
            ("mimo_v2_omni", mimo_v2),
        )
    },
    "step3p5": Family(step, defaults(8, 128), draft_layer=_step_draft),
    "step3p7": Family(step, defaults(8, 128), draft_layer=_step_draft),
    "step5": Family(step5, {"num_attention_groups": 8}, draft_layer=_step_draft),
}
