"""Mamba 1 and 2, alone and with attention in between."""

from __future__ import annotations

from collections.abc import Sequence

from kvgate.architecture.config import MOST_LAYERS, Config
from kvgate.architecture.family import Family, Types, defaults
from kvgate.architecture.heads import full_kept, sliding_kept
from kvgate.architecture.layers import NoCache
from kvgate.architecture.layout import Kept, Layout, Makers, by_type, said
from kvgate.architecture.states import mamba1, mamba2

__all__ = ["TYPES", "bamba", "granite", "jamba", "mamba1_only", "mamba2_only", "nemotron_h"]

_MLP: Kept = ((NoCache("mlp"), ()),)
_PATTERN = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}


def mamba1_only(config: Config) -> Layout:
    """Every layer is Mamba-1 (Mamba, Falcon-Mamba)."""
    return [mamba1(config)] * config.layers()


def mamba2_only(config: Config) -> Layout:
    """Every layer is Mamba-2 (Codestral-Mamba)."""
    layer = mamba2(
        config, heads="num_heads", width="head_dim", state="state_size", groups="n_groups",
        kernel="conv_kernel", expand="expand",
    )  # fmt: skip
    return [layer] * config.layers()


def jamba(config: Config) -> Layout:
    """Mamba-1 with attention in layer ``attn_layer_offset`` of each ``attn_layer_period``."""
    layers = config.layers()
    period = config.need("attn_layer_period", most=MOST_LAYERS)
    offset = config.need("attn_layer_offset", least=0, most=MOST_LAYERS)
    if offset >= period:
        config.problem(
            f"{config.name('attn_layer_offset')}={offset} is not below "
            f"{config.name('attn_layer_period')}={period}"
        )
    because = config.why("attn_layer_period", "attn_layer_offset")
    config.ignore("mamba_dt_rank", "layers_block_type", "layer_types")
    attend, state = said(full_kept(config), because), said(mamba1(config, prefix="mamba_"), because)
    return [attend if index % period == offset else state for index in range(layers)]


def _mamba2(config: Config) -> Kept:
    return mamba2(
        config, heads="mamba_n_heads", width="mamba_d_head", state="mamba_d_state",
        groups="mamba_n_groups", kernel="mamba_d_conv",
    )  # fmt: skip


def bamba(config: Config) -> Layout:
    """Mamba-2 with attention in the layers of ``attn_layer_indices`` (0-based)."""
    layers = config.layers()
    listed = config.numbers("attn_layer_indices", most=MOST_LAYERS)
    types = config.words("layers_block_type", at_least=layers)
    state = _mamba2(config)
    if types is not None:
        config.ignore("attn_layer_indices")
        return _by_block(config, "layers_block_type", types[:layers], state)
    for index in listed or ():
        if index >= layers:
            config.problem(
                f"{config.name('attn_layer_indices')} names layer {index} of {layers} layers"
            )
    attend = full_kept(config) if listed else state
    why = config.why("attn_layer_indices") or ("attn_layer_indices=null",)
    attend, state = said(attend, why), said(state, why)
    return [attend if index in (listed or ()) else state for index in range(layers)]


def _by_block(config: Config, key: str, types: Sequence[str], state: Kept) -> Layout:
    def attend() -> Kept:
        return full_kept(config)

    makers: Makers = {
        "mamba": lambda: state,
        "linear_attention": lambda: state,
        "attention": attend,
        "full_attention": attend,
    }
    return by_type(config, key, types, makers)


def granite(config: Config) -> Layout:
    """Granite 4 hybrid: ``layer_types`` of mamba and attention."""
    layers = config.layers()
    key = "layers_block_type" if "layers_block_type" in config.data else "layer_types"
    types = config.words(key, at_least=layers)
    if types is None:
        config.problem(f"{config.name('layer_types')} is missing")
        return []
    needs_state = any(word in ("mamba", "linear_attention") for word in types)
    if not needs_state:
        config.ignore(*(name for name in config.data if name.startswith("mamba_")))
    return _by_block(config, key, types[:layers], _mamba2(config) if needs_state else ())


def nemotron_h(config: Config) -> Layout:
    """Nemotron-H and Nemotron 3: Mamba-2, attention and MLP as layers of their own.

    The layer list may be a pattern of M, \\*, - and E, and then it counts the layers.
    """
    config.ignore("expand", "intermediate_size")
    types, key = _nemotron_types(config, "layers_block_type", "hybrid_override_pattern")
    counted = config.whole("num_hidden_layers", most=MOST_LAYERS)
    if types is None:
        if not config.problems:
            config.problem(
                f"{config.name('hybrid_override_pattern')} and layers_block_type are both missing"
            )
        return []
    if counted is not None and len(types) != counted:
        config.problem(
            f"{config.name('num_hidden_layers')}={counted}, but {config.name(key)} has "
            f"{len(types)} layers"
        )
    return by_type(config, key, types, _nemotron_makers(config))


def _nemotron_types(config: Config, listed: str, pattern: str) -> tuple[list[str] | None, str]:
    """The layer types of a list key or of a pattern key, and the key that gave them."""
    key = listed if config.data.get(listed) is not None else pattern
    if key == listed:
        types = config.words(listed)
        if config.data.get(pattern) is not None:
            config.ignore(pattern)
    else:
        text = config.text(pattern)
        types = None if text is None else [_PATTERN.get(letter, letter) for letter in text]
    if types is not None and not 0 < len(types) <= MOST_LAYERS:
        config.problem(f"{config.name(key)} has {len(types):,} layers")
        return None, key
    return types, key


def _nemotron_makers(config: Config) -> Makers:
    def state() -> Kept:
        return mamba2(
            config, heads="mamba_num_heads", width="mamba_head_dim", state="ssm_state_size",
            groups="n_groups", kernel="conv_kernel",
        )  # fmt: skip

    makers: Makers = {
        "mamba": state,
        "linear_attention": state,
        "attention": lambda: sliding_kept(config),
        "full_attention": lambda: sliding_kept(config),
        "mlp": lambda: _MLP,
        "moe": lambda: _MLP,
    }
    return makers


def _nemotron_draft(config: Config, layout: Layout, index: int) -> Kept:
    """Each draft step runs the layers of ``mtp_layers_block_type``; attention keeps."""
    types, _ = _nemotron_types(config, "mtp_layers_block_type", "mtp_hybrid_override_pattern")
    makers = _nemotron_makers(config)
    kept: Kept = ()
    for word in types or ["attention", "moe"]:
        if word in makers and word not in ("mlp", "moe"):
            kept = (*kept, *makers[word]())
    return kept


TYPES: Types = {
    "mamba": Family(mamba1_only, {"conv_kernel": 4, "state_size": 16, "expand": 2}),
    "falcon_mamba": Family(mamba1_only, {"conv_kernel": 4, "state_size": 16, "expand": 2}),
    "mamba2": Family(mamba2_only, {"chunk_size": 256}),
    "jamba": Family(jamba, defaults(8)),
    "bamba": Family(
        bamba,
        defaults(8, mamba_n_groups=1, mamba_d_conv=4, mamba_expand=2, mamba_chunk_size=256),
    ),
    "granitemoehybrid": Family(
        granite,
        {"mamba_d_conv": 4, "mamba_n_groups": 1, "mamba_expand": 2, "mamba_chunk_size": 256},
    ),
    **{
        name: Family(
            nemotron_h,
            defaults(8, 128, mamba_ssm_cache_dtype="float32", chunk_size=128),
            ignores=("mtp_layers_block_type", "mtp_hybrid_override_pattern"),
            draft_layer=_nemotron_draft,
        )
        for name in ("nemotron_h", "nemotron_h_puzzle")
    },
}
