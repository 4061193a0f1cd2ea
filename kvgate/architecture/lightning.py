"""Lightning (linear) attention with full attention in between: MiniMax-01 and M1."""

from __future__ import annotations

from kvgate.architecture.config import Config
from kvgate.architecture.family import Family, Types, defaults
from kvgate.architecture.heads import full_kept
from kvgate.architecture.layout import Layout, Makers, by_type
from kvgate.architecture.states import lightning

__all__ = ["TYPES", "minimax"]


def minimax(config: Config) -> Layout:
    """Lightning attention with full attention in between (MiniMax-01, M1)."""
    layers = config.layers()
    makers: Makers = {
        "full_attention": lambda: full_kept(config),
        "linear_attention": lambda: lightning(config),
    }
    codes = config.numbers("attn_type_list", at_least=layers)
    if codes is not None:
        config.ignore("layer_types")
        by_code: Makers = {"1": makers["full_attention"], "0": makers["linear_attention"]}
        return by_type(config, "attn_type_list", [str(code) for code in codes[:layers]], by_code)
    types = config.words("layer_types", at_least=layers)
    if types is None:
        config.problem(f"{config.name('attn_type_list')} and layer_types are both missing")
        return []
    return by_type(config, "layer_types", types[:layers], makers)


TYPES: Types = {
    name: Family(minimax, defaults(8)) for name in ("minimax", "minimax_m1", "minimax_text_01")
}
