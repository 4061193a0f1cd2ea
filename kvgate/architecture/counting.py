"""Count a model's weights from its config: every matrix of every layer, and what could not be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvgate.architecture import ffn as feed
from kvgate.architecture.config import Config
from kvgate.architecture.habits import EXTRA, HABITS, Habits
from kvgate.architecture.layers import Attention, LayerGroup, NoCache
from kvgate.architecture.ledger import Ledger
from kvgate.architecture.mixers import Mixing, mixer
from kvgate.architecture.parts import Part
from kvgate.architecture.rotary import table_elements
from kvgate.architecture.scheme import Scheme
from kvgate.architecture.vision import tower
from kvgate.errors import InputError

__all__ = ["count"]


def count(
    config: Mapping[str, Any],
    text: Mapping[str, Any],
    groups: tuple[LayerGroup, ...],
    drafts: tuple[LayerGroup, ...],
    *,
    model_type: str,
    defaults: Mapping[str, Any],
    num_layers: int,
    tied: bool,
    hf_quant_config: Mapping[str, Any] | None,
) -> tuple[tuple[Part, ...], tuple[str, ...]]:
    """The parts of a model's weights, and what is not among them.

    No parts where the family's layers are not known well enough to count.
    """
    habits = HABITS.get(model_type)
    if habits is None:
        return (), (f"weights of model_type {model_type}",)
    read = Config(text, defaults=defaults)
    hidden, vocabulary = read.whole("hidden_size"), read.whole("vocab_size")
    if hidden is None or vocabulary is None:
        return (), ("weights: vocab_size is missing",)
    scheme = Scheme(config, text, hf_quant_config)
    ledger = Ledger(scheme, draft_from=num_layers)
    mixing = _mixing(read, hidden, habits)
    parts = _ffns(read, habits, model_type)
    _body(ledger, groups, num_layers, hidden, habits, mixing, parts, model_type)
    _body(ledger, drafts, num_layers, hidden, habits, mixing, parts, model_type, draft=True)
    ledger.once("embedding", vocabulary * hidden, split="vocab")
    if not tied:
        module = "lm_head" if "lm_head" in scheme.by_target else ""
        ledger.once("head", vocabulary * hidden, split="vocab", module=module)
    ledger.once("norm", hidden)
    if habits.positions:
        ledger.once("embedding", (read.whole("max_position_embeddings") or 0) * hidden)
    _beside(ledger, config, read, model_type, hidden, num_layers)
    ledger.once("rope", table_elements(text, groups))
    if read.problems:
        return (), (f"weights: {read.problems[0]}",)
    return ledger.parts(), tuple(ledger.not_counted)


def _mixing(read: Config, hidden: int, habits: Habits) -> Mixing:
    data = read.data
    gate = habits.gate
    if data.get("attn_output_gate") is False:
        gate = ""
    if data.get("use_head_wise_attn_gate"):
        gate = "head"
    rank = data.get("mamba_dt_rank", data.get("time_step_rank"))
    bias = data.get("attention_bias") is True or data.get("add_qkv_bias") is True
    norm = habits.qk_norm
    if data.get("use_qk_norm") is True and not norm:
        norm = "head"
    return Mixing(
        hidden=hidden,
        q_lora_rank=read.whole("q_lora_rank") or 0,
        o_lora_rank=read.whole("o_lora_rank") or 0,
        o_groups=read.whole("o_groups") or 1,
        qkv_bias=habits.qkv_bias or bias,
        o_bias=habits.bias,
        gate=gate or ("query" if data.get("mla_use_output_gate") else ""),
        qk_norm=norm,
        key_is_value=data.get("attention_k_eq_v") is True,
        prefix=habits.prefix,
        state=habits.state,
        dt_rank=rank if isinstance(rank, int) and not isinstance(rank, bool) else -(-hidden // 16),
        share_q_dim=read.whole("share_q_dim") or 0,
        full_gate=_full_gate(data),
    )


def _full_gate(data: Mapping[str, Any]) -> bool:
    linear = data.get("linear_attn_config")
    return isinstance(linear, Mapping) and linear.get("use_full_rank_gate") is True


def _ffns(read: Config, habits: Habits, model_type: str) -> Any:
    """A function from layer index to feed-forward part; some families need their own."""
    general = feed.ffn_of(read, habits.matrices, bias=habits.bias)
    data = read.data
    if model_type == "qwen":
        # The first Qwen's width counts its two ways up together.
        half = (read.whole("intermediate_size") or 0) // 2
        return lambda index: feed.Ffn(half)
    if model_type in ("nemotron_h", "nemotron_h_puzzle"):
        words = data.get("layers_block_type") or data.get("hybrid_override_pattern") or ()
        plain = feed.Ffn(read.whole("intermediate_size") or 0, matrices=2)
        dense = {index for index, word in enumerate(words) if word in ("mlp", "-")}
        return lambda index: plain if index in dense else general(index)
    if model_type == "gemma4_text":
        experts = data.get("num_experts") if data.get("enable_moe_block") else None
        width = read.whole("intermediate_size") or 0
        first = (read.whole("num_hidden_layers") or 0) - (
            read.whole("num_kv_shared_layers", least=0) or 0
        )
        wide = data.get("use_double_wide_mlp") is True

        def gemma4(index: int) -> feed.Ffn:
            dense = 2 * width if wide and index >= first else width
            if isinstance(experts, int):
                return feed.Ffn(dense, experts, read.whole("moe_intermediate_size") or 0)
            return feed.Ffn(dense)

        return gemma4
    if model_type == "nemotron-nas":
        blocks = data.get("block_configs")
        hidden = read.whole("hidden_size") or 0

        def deci(index: int) -> feed.Ffn:
            if isinstance(blocks, list) and index >= len(blocks):
                raise InputError(
                    f"block_configs has {len(blocks)} entries, none for the draft layer {index}",
                    hint="kvgate knows no draft layers of this family",
                )
            block = blocks[index].get("ffn") if isinstance(blocks, list) else None
            if not isinstance(block, dict) or block.get("no_op"):
                return feed.Ffn()
            if isinstance(block.get("intermediate_size"), int):
                return feed.Ffn(block["intermediate_size"])
            mult = block.get("ffn_mult")
            if not isinstance(mult, int | float) or not 0 < mult < 1000:
                return feed.Ffn()
            width = int(2 * mult * hidden / 3)
            return feed.Ffn(-(-width // 256) * 256)

        return deci
    if model_type == "llama4_text":
        width = read.whole("intermediate_size") or 0

        def llama4(index: int) -> feed.Ffn:
            found = general(index)
            return feed.replace_shared(found, width) if found.experts else found

        return llama4
    if model_type == "longcat_flash":
        width = read.whole("intermediate_size") or 0
        real = read.whole("n_routed_experts") or 0
        zero = read.whole("zero_expert_num", least=0) or 0

        def longcat(index: int) -> feed.Ffn:
            if index % 2:
                return feed.Ffn(dense=width)
            return feed.Ffn(
                width, real, read.whole("expert_ffn_hidden_size") or 0, router_extra=zero
            )

        return longcat
    return general


def _body(
    ledger: Ledger,
    groups: tuple[LayerGroup, ...],
    num_layers: int,
    hidden: int,
    habits: Habits,
    mixing: Mixing,
    ffns: Any,
    model_type: str,
    *,
    draft: bool = False,
) -> None:
    """Mixers from the layer groups, then norms and feed-forward parts of each layer."""
    donor = _donor(groups)
    seen: dict[int, bool] = {}
    attends: set[int] = set()
    for group in groups:
        # A layer that is run several times stands in its group as often, and has its weights once.
        for index in dict.fromkeys(group.indices):
            layer = group.layer
            seen.setdefault(index, True)
            if isinstance(layer, NoCache):
                if layer.reason == "shares-kv" and donor is not None:
                    _query_only(ledger, index, donor, mixing)
                continue
            if isinstance(layer, Attention):
                # A later run of the same layer may keep a window where the first keeps all.
                if index in attends:
                    continue
                attends.add(index)
            mixer(ledger, index, layer, mixing)
    alone = model_type in ("nemotron_h", "mamba", "mamba2", "falcon_mamba")
    for index in sorted(seen):
        ledger.plain(index, "norm", habits.norms * hidden)
        if draft:
            ledger.layer(index, "draft", "eh_proj", 2 * hidden * hidden, split="none")
            ledger.plain(index, "norm", 3 * hidden)
        if not alone or draft:
            feed.write(ledger, index, ffns(index), hidden, names=habits.names)
    if alone and not draft:
        _alone(ledger, groups, hidden, habits, ffns)


def _alone(
    ledger: Ledger, groups: tuple[LayerGroup, ...], hidden: int, habits: Habits, ffns: Any
) -> None:
    """Families where a feed-forward part is a layer of its own."""
    for group in groups:
        if isinstance(group.layer, NoCache) and group.layer.reason == "mlp":
            for index in group.indices:
                feed.write(ledger, index, ffns(index), hidden, names=habits.names)


def _donor(groups: tuple[LayerGroup, ...]) -> Attention | None:
    """The attention whose queries a layer without KV of its own still has."""
    for group in groups:
        if isinstance(group.layer, Attention) and group.layer.kind == "sliding":
            return group.layer
    return next((g.layer for g in groups if isinstance(g.layer, Attention)), None)


def _query_only(ledger: Ledger, index: int, donor: Attention, mixing: Mixing) -> None:
    width = donor.query_heads * donor.head_dim
    for name in ("q_proj", "o_proj"):
        ledger.layer(index, "attention", f"{mixing.prefix}.{name}", mixing.hidden * width)


def _beside(
    ledger: Ledger,
    config: Mapping[str, Any],
    read: Config,
    model_type: str,
    hidden: int,
    num_layers: int,
) -> None:
    """Per-layer embeddings and towers."""
    width = read.whole("hidden_size_per_layer_input", least=0) or 0
    if width and model_type == "gemma4_text":
        rows = read.whole("vocab_size_per_layer_input") or read.whole("vocab_size") or 0
        ledger.once("embedding", rows * num_layers * width, split="vocab")
        ledger.once("embedding", hidden * num_layers * width, split="tensor")
        for index in range(num_layers):
            ledger.plain(index, "per-layer-input", 2 * hidden * width)
    if model_type in EXTRA:
        ledger.not_counted.append(EXTRA[model_type])
    vision = config.get("vision_config")
    if isinstance(vision, Mapping) and vision:
        parameters = tower(vision, hidden)
        if parameters is None:
            ledger.not_counted.append("the vision tower")
        else:
            ledger.once("vision", parameters, split="tensor")
    for key, name in (("audio_config", "the audio tower"), ("visual", "the vision tower")):
        if isinstance(config.get(key), Mapping) and config[key]:
            ledger.not_counted.append(name)
