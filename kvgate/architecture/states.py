"""Layers that keep a state instead of a cache: how each family's config gives its size."""

from __future__ import annotations

from kvgate.architecture.config import Config
from kvgate.architecture.layers import (
    GatedDeltaNet,
    KimiDelta,
    Lightning,
    Mamba1,
    Mamba2,
    ShortConv,
)
from kvgate.architecture.layout import Kept

__all__ = [
    "gated_delta_net",
    "kimi_delta",
    "lightning",
    "mamba1",
    "mamba2",
    "short_conv",
    "state_dtype",
]

_MOST = 65_536
_DTYPES = {"float32", "bfloat16", "float16"}


def state_dtype(config: Config, *keys: str) -> str | None:
    """The dtype that the config wants the state kept in, None where it leaves that open."""
    for key in keys:
        said = config.text(key)
        if said is not None:
            dtype = said.removeprefix("torch.")
            if dtype not in _DTYPES:
                config.problem(f"{config.name(key)}={said} is not float32, bfloat16 or float16")
            return dtype
    return None


def gated_delta_net(config: Config) -> Kept:
    """Qwen3-Next, Qwen3.5, Olmo-Hybrid: the ``linear_*`` keys."""
    layer = GatedDeltaNet(
        key_heads=config.need("linear_num_key_heads", most=_MOST),
        value_heads=config.need("linear_num_value_heads", most=_MOST),
        key_head_dim=config.need("linear_key_head_dim", most=_MOST),
        value_head_dim=config.need("linear_value_head_dim", most=_MOST),
        conv_kernel=config.need("linear_conv_kernel_dim", least=2, most=_MOST),
        state_dtype=state_dtype(config, "mamba_ssm_dtype"),
    )
    why = config.why(
        "linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim",
        "linear_value_head_dim", "linear_conv_kernel_dim", "mamba_ssm_dtype",
    )  # fmt: skip
    return ((layer, why),)


def kimi_delta(
    config: Config, *, heads: str = "num_heads", width: str = "head_dim", kernel: str
) -> Kept:
    """Kimi delta attention; engines keep its state in float32."""
    layer = KimiDelta(
        heads=config.need(heads, most=_MOST),
        head_dim=config.need(width, most=_MOST),
        conv_kernel=config.need(kernel, least=2, most=_MOST),
        state_dtype="float32",
    )
    return ((layer, config.why(heads, width, kernel)),)


def lightning(config: Config) -> Kept:
    """MiniMax-01 and M1: a square state per query head."""
    from kvgate.architecture.heads import head_width, query_heads

    heads = query_heads(config)
    layer = Lightning(heads=heads, head_dim=head_width(config, heads))
    return ((layer, config.why("num_attention_heads", "head_dim")),)


def mamba1(config: Config, prefix: str = "") -> Kept:
    """Mamba-1: Jamba's ``mamba_d_state`` or Mamba's own ``state_size``; inner = expand x hidden."""
    state, kernel, expand = (
        ("mamba_d_state", "mamba_d_conv", "mamba_expand")
        if prefix
        else ("state_size", "conv_kernel", "expand")
    )
    inner = None if prefix else config.whole("intermediate_size", most=2**24)
    why: tuple[str, ...] = config.why("intermediate_size")
    if inner is None:
        inner = config.need(expand, most=1024) * config.need("hidden_size", most=2**24)
        why = config.why(expand, "hidden_size")
    else:
        config.ignore(expand)
    layer = Mamba1(
        inner=inner,
        state_size=config.need(state, most=_MOST),
        conv_kernel=config.need(kernel, least=2, most=_MOST),
    )
    return ((layer, (*why, *config.why(state, kernel))),)


def mamba2(
    config: Config,
    *,
    heads: str,
    width: str,
    state: str,
    groups: str,
    kernel: str,
    expand: str = "mamba_expand",
) -> Kept:
    """Mamba-2; a head's width may be 'auto': expand x hidden / heads."""
    count = config.need(heads, most=_MOST)
    if config.data.get(width) in (None, "auto") and width not in config.defaults:
        config.ignore(width)
        inner = config.need(expand, most=1024) * config.need("hidden_size", most=2**24)
        if inner % count:
            config.problem(f"{config.name(heads)}={count} does not divide {expand} x hidden_size")
        size = max(1, inner // count)
        config.assume(width, size, f"default: {expand} x hidden_size / {heads}")
    else:
        size = config.need(width, most=_MOST)
        config.ignore(expand)
    layer = Mamba2(
        heads=count,
        head_dim=size,
        state_size=config.need(state, most=_MOST),
        groups=config.need(groups, most=_MOST),
        conv_kernel=config.need(kernel, least=2, most=_MOST),
        state_dtype=state_dtype(config, "mamba_ssm_cache_dtype", "mamba_ssm_dtype"),
        chunk=config.whole("mamba_chunk_size", most=_MOST)
        or config.whole("chunk_size", most=_MOST),
    )
    return ((layer, config.why(heads, width, state, groups, kernel)),)


def short_conv(config: Config) -> Kept:
    """LFM2: the last ``conv_L_cache`` - 1 tokens of each channel."""
    layer = ShortConv(
        width=config.need("hidden_size", most=2**24),
        kernel=config.need("conv_L_cache", least=2, most=_MOST),
    )
    return ((layer, config.why("hidden_size", "conv_L_cache")),)
