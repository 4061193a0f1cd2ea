"""Kimi delta attention with MLA or full attention in between: Kimi, Ling, GLM-5 Next, Alice."""

from __future__ import annotations

from functools import partial

from kvgate.architecture.config import MOST_LAYERS, Config
from kvgate.architecture.family import Family, Types, defaults
from kvgate.architecture.heads import full_kept
from kvgate.architecture.layers import KimiDelta, Layer, Lightning
from kvgate.architecture.layout import Kept, Layout, Makers, by_type, said
from kvgate.architecture.mla import indexer_modes, mla_kept
from kvgate.architecture.states import kimi_delta, lightning

__all__ = ["TYPES", "alice", "bailing", "bailing_linear", "glm5_next", "kimi_linear"]


def kimi_linear(config: Config) -> Layout:
    """Kimi delta attention with MLA in between (Kimi-Linear, K3): 1-based layer lists."""
    layers = config.layers()
    nope = config.flag("mla_use_nope")
    linear = config.inner("linear_attn_config")
    if linear is None:
        types = config.words("layer_types", at_least=layers)
        if types is None:
            config.problem(f"{config.name('linear_attn_config')} is missing")
            return []
        makers: Makers = {
            "linear_attention": lambda: kimi_delta(
                config,
                heads="linear_num_heads",
                width="linear_head_dim",
                kernel="linear_conv_kernel_dim",
            ),
            "full_attention": lambda: mla_kept(config, nope=nope),
        }
        return by_type(config, "layer_types", types[:layers], makers)
    config.ignore("layer_types", "linear_num_heads", "linear_head_dim", "linear_conv_kernel_dim")
    full = set(linear.numbers("full_attn_layers", least=1, most=MOST_LAYERS) or ())
    delta = set(linear.numbers("kda_layers", least=1, most=MOST_LAYERS) or ())
    both = sorted(full & delta)
    neither = [index for index in range(1, layers + 1) if index not in full | delta]
    if both or neither:
        config.problem(
            f"{linear.name('full_attn_layers')} and {linear.name('kda_layers')} must name each of "
            f"{layers} layers once; layer {(both or neither)[0]} is in "
            f"{'both' if both else 'neither'}"
        )
        return []
    state = kimi_delta(linear, kernel="short_conv_kernel_size")
    attend = mla_kept(config, nope=nope)
    attend = said(attend, ("linear_attn_config.full_attn_layers",))
    state = said(state, ("linear_attn_config.kda_layers",))
    return [attend if index in full else state for index in range(1, layers + 1)]


def bailing(config: Config) -> Layout:
    """Ling and Ring hybrids: MLA in each ``layer_group_size``-th layer, a state in the others.

    Version 2.5 keeps lightning states; version 3, which ``short_conv_kernel_size`` tells, Kimi
    delta states, and its last incomplete group is MLA.
    """
    layers = config.layers()
    size = config.need("layer_group_size", most=MOST_LAYERS)
    why = config.why("layer_group_size")
    delta = config.data.get("short_conv_kernel_size") is not None
    heads = config.need("num_attention_heads")
    width = config.whole("linear_head_dim") or config.whole("head_dim")
    if width is None:
        width = max(1, config.need("hidden_size") // heads)
    config.ignore("linear_num_heads", "linear_conv_kernel_dim", "kda_safe_gate", "kda_lower_bound")
    if delta:
        kernel = config.need("short_conv_kernel_size", least=2)
        layer: Layer = KimiDelta(heads, width, kernel, "float32")
    else:
        layer = Lightning(heads, width)
    state: Kept = ((layer, (*why, *config.why("num_attention_heads", "head_dim"))),)
    attend = said(mla_kept(config), why)
    types = config.words("layer_types", at_least=layers)
    if types is not None:
        makers: Makers = {"linear_attention": lambda: state, "full_attention": lambda: attend}
        return by_type(config, "layer_types", types[:layers], makers)
    whole = layers // size * size if delta else layers
    return [
        attend if (index + 1) % size == 0 or index >= whole else state for index in range(layers)
    ]


def bailing_linear(config: Config) -> Layout:
    """Ring-linear 2.0: grouped-query attention where 2.5 has MLA; the last incomplete group too."""
    layers = config.layers()
    size = config.need("layer_group_size", most=MOST_LAYERS)
    why = config.why("layer_group_size")
    attend, state = said(full_kept(config), why), said(lightning(config), why)
    whole = layers // size * size
    return [
        attend if (index + 1) % size == 0 or index >= whole else state for index in range(layers)
    ]


def alice(config: Config) -> Layout:
    """AliceAI: Kimi delta attention in Qwen3-Next's keys, attention in between.

    Key and value heads must be alike: its code refuses others.
    """
    layers = config.layers()
    heads, width = config.need("linear_num_key_heads"), config.need("linear_key_head_dim")
    other = config.need("linear_num_value_heads"), config.need("linear_value_head_dim")
    if (heads, width) != other:
        config.problem(
            f"{config.name('linear_num_key_heads')}={heads} of {width} and linear_num_value_heads="
            f"{other[0]} of {other[1]} must be alike"
        )
    config.ignore("kda_allow_negative_eigenvalues", "number_of_conv_states")
    every = config.whole("full_attention_interval", default=4) or 4
    types = config.words("layer_types", at_least=layers)
    if types is None:
        types = [
            "linear_attention" if (index + 1) % every else "full_attention"
            for index in range(layers)
        ]
    makers: Makers = {
        "linear_attention": lambda: kimi_delta(
            config,
            heads="linear_num_key_heads",
            width="linear_key_head_dim",
            kernel="linear_conv_kernel_dim",
        ),
        "full_attention": lambda: full_kept(config),
    }
    return by_type(config, "layer_types", types[:layers], makers)


def glm5_next(config: Config) -> Layout:
    """GLM-5 Next: Kimi delta attention, and sparse MLA without RoPE in between."""
    layers = config.layers()
    types = config.words("layer_types", at_least=layers)
    if types is None:
        config.problem(f"{config.name('layer_types')} is missing")
        return []
    pool = config.whole("index_kpool", default=1) or 1
    if pool > 1:
        config.ignore("index_kpool_always_select_tail")
    modes = indexer_modes(config, layers) or ["full"] * layers
    config.ignore("linear_lower_bound")

    def state() -> Kept:
        return kimi_delta(
            config,
            heads="linear_num_heads",
            width="linear_head_dim",
            kernel="linear_conv_kernel_dim",
        )

    words = [
        f"{word}/{mode}" if word in ("indexed_attention", "full_attention") else word
        for word, mode in zip(types[:layers], modes, strict=True)
    ]
    makers = {"linear_attention": state}
    for mode in dict.fromkeys(modes):
        attend = partial(mla_kept, config, mode, nope=True)
        makers |= {f"{word}/{mode}": attend for word in ("indexed_attention", "full_attention")}
    return by_type(config, "layer_types", words, makers)


TYPES: Types = {
    "kimi_linear": Family(kimi_linear),
    "alice_ai": Family(
        alice,
        defaults(
            2,
            256,
            linear_num_key_heads=32,
            linear_key_head_dim=128,
            linear_num_value_heads=32,
            linear_value_head_dim=128,
            linear_conv_kernel_dim=4,
        ),
        draft=("mtp_num_hidden_layers", "num_nextn_predict_layers"),
    ),
    "bailing_hybrid": Family(bailing),
    "bailing_moe_linear": Family(bailing_linear),
    "glm5_next_text": Family(
        glm5_next,
        ignores=("rope_interleave", "indexer_rope_interleave"),
        notes=("index keys are pooled: one for index_kpool tokens",),
    ),
}
