"""Gated delta net with full attention in between: Qwen3-Next, Qwen3.5, Olmo-Hybrid."""

from __future__ import annotations

from types import MappingProxyType

from kvgate.architecture.config import Config
from kvgate.architecture.family import Family, Types, defaults
from kvgate.architecture.heads import full_kept, sliding_kept
from kvgate.architecture.layout import Layout, Makers, by_type, said
from kvgate.architecture.states import gated_delta_net

__all__ = ["TYPES", "delta_net"]


def delta_net(config: Config, more: Makers = MappingProxyType({})) -> Layout:
    """Attention in each ``full_attention_interval``-th layer, or where ``layer_types`` says so.

    ``more`` are layer types that a family has besides.
    """
    layers = config.layers()
    interval = config.whole("full_attention_interval", default=4) or 4
    given = config.data.get("full_attention_interval") is not None
    types = config.words("layer_types", at_least=layers)
    if types is None:
        why = config.why("full_attention_interval")
        state, attend = said(gated_delta_net(config), why), said(full_kept(config), why)
        return [attend if (index + 1) % interval == 0 else state for index in range(layers)]
    # Where a file gives the interval beside the list that it made, the explanation names both.
    why = config.why("full_attention_interval") if given else ()
    makers: Makers = {
        "linear_attention": lambda: gated_delta_net(config),
        "full_attention": lambda: said(full_kept(config), why),
        **more,
    }
    return by_type(config, "layer_types", types[:layers], makers)


_LARA = (
    "linear_attention", "sliding_attention", "linear_attention", "full_attention",
    "sliding_attention",
)  # fmt: skip


def lara(config: Config) -> Layout:
    """Lara: sliding attention beside the two, in a pattern of five where no list is given."""
    config.fill("layer_types", [_LARA[index % len(_LARA)] for index in range(config.layers())])
    return delta_net(config, {"sliding_attention": lambda: sliding_kept(config)})


_NEXT = {
    "linear_num_key_heads": 16, "linear_key_head_dim": 128, "linear_value_head_dim": 128,
    "linear_conv_kernel_dim": 4, "linear_num_value_heads": 32,
}  # fmt: skip
_MTP = ("mtp_num_hidden_layers", "num_nextn_predict_layers")

TYPES: Types = {
    # Every release carries one draft layer, and no file says so.
    "qwen3_next": Family(delta_net, defaults(2, 256, num_nextn_predict_layers=1, **_NEXT)),
    "qwen3_5": Family(delta_net, defaults(4, 256), draft=_MTP),
    "qwen3_5_text": Family(delta_net, defaults(4, 256), draft=_MTP),
    "qwen3_5_moe": Family(delta_net, defaults(2, 256), draft=_MTP),
    "qwen3_5_moe_text": Family(delta_net, defaults(2, 256), draft=_MTP),
    "lara_mini": Family(
        lara,
        defaults(4, 128, 512, **{**_NEXT, "linear_num_key_heads": 8, "linear_num_value_heads": 16}),
    ),
    "olmo_hybrid": Family(delta_net, ignores=("linear_allow_neg_eigval",)),
}
