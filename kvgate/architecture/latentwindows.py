"""Windowed MLA beside sparse MLA, each with latents of its own width: dots3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kvgate.architecture.config import Config
from kvgate.architecture.family import Family, Types
from kvgate.architecture.layers import MLA
from kvgate.architecture.layout import Kept, Layout, by_type
from kvgate.architecture.mla import mla_kept

__all__ = ["TYPES", "dots3"]

_MOST = 65_536
# What the windowed layers have where neither kind of key says so.
_WINDOWED = {
    "num_attention_heads": 64, "kv_lora_rank": 1024, "qk_nope_head_dim": 192, "v_head_dim": 128,
}  # fmt: skip


def dots3(config: Config) -> Layout:
    """``layer_types``: windowed layers have ``swa_*`` keys, or entries in ``per_layer_config``.

    Released files call sparse layers full_attention; without a list, layers 0 and 1 and each fourth
    from layer 1 on are sparse.
    """
    layers = config.layers()
    config.ignore("use_dsa", "use_sliding_window", "mtp_layer_types", "per_layer_config")
    config.ignore("apply_mla_qkv_lora_rescale", *(f"swa_{key}" for key in ("q_lora_rank",)))
    if config.data.get("use_dsa") is False or config.data.get("use_sliding_window") is False:
        config.problem(
            f"{config.name('use_dsa')} and use_sliding_window are only read where they are true"
        )
    sparse = mla_kept(config)
    local = _windowed(config)
    widened = tuple(
        (replace(layer, row=local.head_size) if isinstance(layer, MLA) else layer, why)
        for layer, why in sparse
    )
    types = config.words("layer_types", at_least=layers)
    if types is None:
        types = [
            "indexed_attention" if index < 2 or index % 4 == 1 else "sliding_attention"
            for index in range(layers)
        ]
    shown = widened if "sliding_attention" in types[:layers] else sparse
    makers = {
        "indexed_attention": lambda: shown,
        "full_attention": lambda: shown,
        "sliding_attention": lambda: _said(config, local),
    }
    return by_type(config, "layer_types", types[:layers], makers)


def _said(config: Config, local: MLA) -> Kept:
    keys = ("sliding_window", "sliding_window_size", "swa_kv_lora_rank", "swa_qk_rope_head_dim")
    return ((local, (f"kv_lora_rank={local.kv_lora_rank}", *config.why(*keys))),)


def _windowed(config: Config) -> MLA:
    """The windowed layers' MLA: one geometry for all of them."""
    window = config.whole("sliding_window") or config.whole("sliding_window_size", default=512)
    listed = config.data.get("per_layer_config")
    if isinstance(listed, Mapping) and listed:
        return replace(_listed(config, listed), window=window)
    sizes = {
        key: config.whole(f"swa_{key}", most=_MOST, default=default) or default
        for key, default in _WINDOWED.items()
    }
    config.ignore("swa_num_key_value_heads")
    whole = config.whole("swa_head_dim", most=_MOST, default=256) or 256
    rope = config.whole("swa_qk_rope_head_dim", least=0, most=_MOST)
    if rope is None:
        rope = max(0, whole - sizes["qk_nope_head_dim"])
    return MLA(
        query_heads=sizes["num_attention_heads"], kv_lora_rank=sizes["kv_lora_rank"],
        qk_rope_head_dim=rope, qk_nope_head_dim=sizes["qk_nope_head_dim"],
        v_head_dim=sizes["v_head_dim"], window=window,
    )  # fmt: skip


def _listed(config: Config, listed: Mapping[str, object]) -> MLA:
    """transformers' own form: what differs from the model's keys, layer by layer, all the same."""
    entries = [entry for entry in listed.values() if isinstance(entry, Mapping)]
    if len(entries) != len(listed) or any(entry != entries[0] for entry in entries):
        config.problem(f"{config.name('per_layer_config')} must give every layer in it the same")
    own = Config(
        {**config.data, **(entries[0] if entries else {})},
        path=f"{config.path}per_layer_config.", problems=config.problems,
    )  # fmt: skip
    return MLA(
        query_heads=own.need("num_attention_heads", most=_MOST),
        kv_lora_rank=own.need("kv_lora_rank", most=_MOST),
        qk_rope_head_dim=own.need("qk_rope_head_dim", most=_MOST),
        qk_nope_head_dim=own.need("qk_nope_head_dim", most=_MOST),
        v_head_dim=own.need("v_head_dim", most=_MOST),
    )


def _draft(config: Config, layout: Layout, index: int) -> Kept:
    """Draft layers are windowed unless ``mtp_layer_types`` says otherwise."""
    types = config.words("mtp_layer_types")
    word = types[index] if types is not None and index < len(types) else "sliding_attention"
    if word == "sliding_attention":
        return _said(config, _windowed(config))
    return mla_kept(config)


_DEFAULTS = {"index_topk": 2048, "index_head_dim": 128, "index_n_heads": 64}

TYPES: Types = {
    name: Family(dots3, {**_DEFAULTS, **more}, draft_layer=_draft)
    for name, more in (
        ("dots3_note_text", {}),
        # Every released file brings one draft layer, and none says so.
        ("dots3_note", {"num_nextn_predict_layers": 1}),
    )
}
