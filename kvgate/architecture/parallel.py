"""Layers that keep two things: attention beside Mamba (Falcon-H1), or on top of it (Zamba 2)."""

from __future__ import annotations

from dataclasses import replace

from kvgate.architecture.config import Config
from kvgate.architecture.family import Family, Types, defaults
from kvgate.architecture.heads import attention, kept, query_heads
from kvgate.architecture.layout import Kept, Layout, by_type
from kvgate.architecture.states import mamba2

__all__ = ["TYPES", "falcon_h1", "zamba2"]


def falcon_h1(config: Config) -> Layout:
    """Every layer runs attention and Mamba-2 side by side.

    ``mamba_d_ssm`` is the inner width (heads x head width); files that lack it say it in both.
    """
    state = mamba2(
        config, heads="mamba_n_heads", width="mamba_d_head", state="mamba_d_state",
        groups="mamba_n_groups", kernel="mamba_d_conv",
    )  # fmt: skip
    inner = config.whole("mamba_d_ssm")
    layer = state[0][0]
    heads, width = getattr(layer, "heads", 0), getattr(layer, "head_dim", 0)
    if inner is not None and heads * width != inner:
        config.problem(
            f"{config.name('mamba_d_ssm')}={inner} is not mamba_n_heads={heads} x "
            f"mamba_d_head={width}"
        )
    attend = kept(config, attention(config), "model_type=falcon_h1 (attention and Mamba in each)")
    return [(*attend, *state)] * config.layers()


def zamba2(config: Config) -> Layout:
    """Mamba-2 in every layer; the hybrid ones run a shared attention block, with a cache each.

    The block works on twice the hidden width. Older files name the Mamba sizes otherwise.
    """
    layers = config.layers()
    types = config.words("layers_block_type", at_least=layers)
    if types is None:
        config.problem(f"{config.name('layers_block_type')} is missing")
        return []
    config.ignore("kv_channels", "num_query_groups", "hybrid_layer_ids", "attention_hidden_size")
    config.ignore("state_size", "conv_dimension", "expansion_factor", "head_dim")
    hidden = config.need("hidden_size", most=2**24)
    heads = query_heads(config)
    width = config.whole("attention_head_dim", default=max(1, 2 * hidden // heads)) or 1
    older = {
        "mamba_d_state": config.whole("state_size"),
        "mamba_d_conv": config.whole("conv_dimension"),
        "mamba_expand": config.whole("expansion_factor"),
    }
    given = {key: value for key, value in older.items() if value is not None}
    config.defaults = {**config.defaults, **given}
    inner = (config.whole("mamba_expand") or 2) * hidden
    per_head = config.whole("mamba_headdim", default=64) or 64
    config.defaults = {
        **config.defaults, "mamba_headdim": per_head, "n_mamba_heads": max(1, inner // per_head)
    }  # fmt: skip

    def state() -> Kept:
        return mamba2(
            config, heads="n_mamba_heads", width="mamba_headdim", state="mamba_d_state",
            groups="mamba_ngroups", kernel="mamba_d_conv",
        )  # fmt: skip

    def both() -> Kept:
        full = replace(attention(config), head_dim=width, v_head_dim=width)
        why = config.why("num_attention_heads", "num_key_value_heads", "attention_head_dim")
        return ((full, why), *state())

    known = {"mamba": state, "linear_attention": state, "hybrid": both}
    return by_type(config, "layers_block_type", types[:layers], known)


TYPES: Types = {
    "falcon_h1": Family(falcon_h1, defaults(8, mamba_chunk_size=256)),
    "zamba2": Family(
        zamba2,
        {"mamba_d_state": 64, "mamba_d_conv": 4, "mamba_ngroups": 1, "chunk_size": 256},
    ),
}
