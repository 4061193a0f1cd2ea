"""The weights of what mixes tokens: attention, MLA, compressed attention, and the state layers."""

from __future__ import annotations

from dataclasses import dataclass

from kvgate.architecture.layers import (
    MLA,
    Attention,
    CompressedAttention,
    GatedDeltaNet,
    KimiDelta,
    Layer,
    Lightning,
    Mamba1,
    Mamba2,
    ShortConv,
    StreamConv,
)
from kvgate.architecture.ledger import Ledger

__all__ = ["Mixing", "mixer"]


@dataclass(frozen=True, slots=True)
class Mixing:
    """What the config says of the projections beside the layers' own sizes.

    ``gate`` is the width of an output gate per query head (head_dim, 1 or 0); ``key_is_value`` that
    full layers have one matrix for both; ``prefix`` the name of the module in the checkpoint.
    """

    hidden: int
    q_lora_rank: int = 0
    o_lora_rank: int = 0
    o_groups: int = 1
    qkv_bias: bool = False
    o_bias: bool = False
    gate: str = ""
    qk_norm: str = ""
    key_is_value: bool = False
    prefix: str = "self_attn"
    state: str = "linear_attn"
    dt_rank: int = 0
    share_q_dim: int = 0
    full_gate: bool = False


def mixer(ledger: Ledger, index: int, layer: Layer, mixing: Mixing) -> None:
    """Write down one layer's mixer."""
    match layer:
        case Attention():
            _attention(ledger, index, layer, mixing)
        case MLA():
            _mla(ledger, index, layer, mixing)
        case CompressedAttention():
            _compressed(ledger, index, layer, mixing)
        case GatedDeltaNet() | KimiDelta() | Lightning():
            _linear(ledger, index, layer, mixing)
        case Mamba1() | Mamba2():
            _mamba(ledger, index, layer, mixing)
        case ShortConv(width=width, kernel=kernel):
            ledger.layer(index, "state", "conv.in_proj", 3 * width * mixing.hidden)
            ledger.layer(index, "state", "conv.out_proj", width * mixing.hidden)
            ledger.plain(index, "state", width * kernel, split="tensor")
        case StreamConv():
            channels = 2 * (layer.kv_heads * layer.head_dim + layer.hidden)
            ledger.plain(index, "state", channels * layer.kernel, split="tensor")
        case _:
            pass


def _attention(ledger: Ledger, index: int, layer: Attention, mixing: Mixing) -> None:
    hidden, name = mixing.hidden, mixing.prefix
    query = mixing.share_q_dim or layer.query_heads * layer.head_dim
    keys, values = layer.kv_heads * layer.head_dim, layer.kv_heads * layer.v_head_dim
    out = layer.query_heads * layer.v_head_dim
    gate = {"": 0, "head": layer.query_heads}.get(mixing.gate, query)
    ledger.layer(index, "attention", f"{name}.q_proj", hidden * query)
    if mixing.share_q_dim:
        ledger.layer(index, "attention", f"{name}.wq", query * layer.query_heads * layer.head_dim)
    if gate:
        ledger.layer(index, "attention", f"{name}.q_proj", hidden * gate)
    ledger.layer(index, "kv", f"{name}.k_proj", hidden * keys, split="heads", heads=layer.kv_heads)
    if not (mixing.key_is_value and layer.kind == "full"):
        ledger.layer(
            index, "kv", f"{name}.v_proj", hidden * values, split="heads", heads=layer.kv_heads
        )
    ledger.layer(index, "attention", f"{name}.o_proj", out * hidden)
    if mixing.qkv_bias:
        ledger.plain(index, "norm", query + keys + values)
    if mixing.o_bias:
        ledger.plain(index, "norm", hidden)
    if layer.sinks:
        ledger.plain(index, "norm", layer.query_heads)
    norm = {"": 0, "head": 2 * layer.head_dim}.get(mixing.qk_norm, query + keys)
    ledger.plain(index, "norm", norm)
    if layer.indexer is not None:
        width = layer.indexer.heads * layer.indexer.head_dim
        ledger.layer(index, "indexer", f"{name}.index_q_proj", hidden * width, split="none")
        ledger.layer(
            index, "indexer", f"{name}.index_k_proj", hidden * layer.indexer.head_dim, split="none"
        )


def _mla(ledger: Ledger, index: int, layer: MLA, mixing: Mixing) -> None:
    hidden, rank, name = mixing.hidden, mixing.q_lora_rank, mixing.prefix
    query = layer.query_heads * (layer.qk_nope_head_dim + layer.qk_rope_head_dim)
    out = layer.query_heads * layer.v_head_dim
    if rank:
        ledger.layer(index, "attention", f"{name}.q_a_proj", hidden * rank, split="none")
        ledger.layer(index, "attention", f"{name}.q_b_proj", rank * query)
        ledger.plain(index, "norm", rank)
    else:
        ledger.layer(index, "attention", f"{name}.q_proj", hidden * query)
    ledger.layer(
        index, "attention", f"{name}.kv_a_proj_with_mqa", hidden * layer.head_size, split="none"
    )
    ledger.plain(index, "norm", layer.kv_lora_rank)
    expand = layer.kv_lora_rank * layer.query_heads * (layer.qk_nope_head_dim + layer.v_head_dim)
    ledger.layer(index, "attention", f"{name}.kv_b_proj", expand)
    ledger.plain(index, "absorbed", expand, split="tensor")
    if mixing.gate:
        ledger.layer(index, "attention", f"{name}.g_proj", hidden * out)
    ledger.layer(index, "attention", f"{name}.o_proj", out * hidden)
    if layer.indexer is not None:
        width = layer.indexer.heads * layer.indexer.head_dim
        ledger.layer(
            index, "indexer", f"{name}.indexer.wq_b", (rank or hidden) * width, split="none"
        )
        ledger.layer(
            index, "indexer", f"{name}.indexer.wk", hidden * layer.indexer.head_dim, split="none"
        )
        ledger.plain(index, "indexer", 2 * layer.indexer.head_dim + hidden * layer.indexer.heads)


def _compressed(ledger: Ledger, index: int, layer: CompressedAttention, mixing: Mixing) -> None:
    hidden, rank = mixing.hidden, mixing.q_lora_rank
    query = layer.query_heads * layer.head_dim
    ledger.layer(index, "attention", "attn.wq_a", hidden * rank, split="none")
    ledger.layer(index, "attention", "attn.wq_b", rank * query)
    ledger.layer(index, "attention", "attn.wkv", hidden * layer.head_dim, split="none")
    ledger.layer(index, "attention", "attn.wo_a", query * mixing.o_lora_rank)
    ledger.layer(index, "attention", "attn.wo_b", mixing.o_groups * mixing.o_lora_rank * hidden)
    ledger.plain(index, "norm", rank + layer.head_dim + layer.query_heads)
    if layer.ratio > 1:
        # Ratio 4 compresses overlapping windows, with two projections where the others have one.
        overlap = 2 if layer.ratio == 4 else 1
        ledger.plain(index, "compressor", 2 * hidden * overlap * layer.head_dim)
    if layer.indexer is not None:
        width = layer.indexer.heads * layer.indexer.head_dim
        ledger.layer(index, "indexer", "attn.indexer.wq_b", rank * width, split="none")
        ledger.plain(index, "indexer", hidden * layer.indexer.heads)
        ledger.plain(index, "compressor", 4 * hidden * layer.indexer.head_dim)


def _linear(
    ledger: Ledger, index: int, layer: GatedDeltaNet | KimiDelta | Lightning, mixing: Mixing
) -> None:
    hidden, name = mixing.hidden, mixing.state
    match layer:
        case GatedDeltaNet():
            keys = layer.key_heads * layer.key_head_dim
            values = layer.value_heads * layer.value_head_dim
            ledger.layer(index, "state", f"{name}.in_proj_qkv", hidden * (2 * keys + values))
            ledger.layer(index, "state", f"{name}.in_proj_z", hidden * values)
            ledger.plain(index, "state", 2 * hidden * layer.value_heads, split="tensor")
            ledger.plain(index, "state", (2 * keys + values) * layer.conv_kernel, split="tensor")
            ledger.plain(index, "state", 2 * layer.value_heads + layer.value_head_dim)
            ledger.layer(index, "state", f"{name}.out_proj", values * hidden)
        case KimiDelta():
            width = layer.heads * layer.head_dim
            for part in ("q_proj", "k_proj", "v_proj", "o_proj"):
                ledger.layer(index, "state", f"{mixing.prefix}.{part}", hidden * width)
            ledger.plain(index, "state", 3 * width * layer.conv_kernel, split="tensor")
            # Two low-rank pairs, for decay and output gate; the gate may be of full rank.
            pairs = 1 if mixing.full_gate else 2
            ledger.plain(index, "state", pairs * hidden * layer.head_dim)
            ledger.plain(index, "state", pairs * layer.head_dim * width, split="tensor")
            if mixing.full_gate:
                ledger.layer(index, "state", f"{mixing.prefix}.g_proj", hidden * width)
            ledger.plain(index, "state", hidden * layer.heads + width, split="tensor")
            ledger.plain(index, "state", layer.heads + layer.head_dim)
        case Lightning():
            width = layer.heads * layer.head_dim
            ledger.layer(index, "state", f"{mixing.prefix}.qkv_proj", 3 * hidden * width)
            ledger.layer(index, "state", f"{mixing.prefix}.output_gate", hidden * width)
            ledger.layer(index, "state", f"{mixing.prefix}.out_proj", width * hidden)
            ledger.plain(index, "norm", width)


def _mamba(ledger: Ledger, index: int, layer: Mamba1 | Mamba2, mixing: Mixing) -> None:
    hidden, name = mixing.hidden, mixing.state
    if isinstance(layer, Mamba2):
        inner = layer.heads * layer.head_dim
        conv = inner + 2 * layer.groups * layer.state_size
        ledger.layer(index, "state", f"{name}.in_proj", hidden * (inner + conv + layer.heads))
        ledger.plain(index, "state", conv * (layer.conv_kernel + 1), split="tensor")
        ledger.plain(index, "state", 3 * layer.heads + inner, split="tensor")
        ledger.layer(index, "state", f"{name}.out_proj", inner * hidden)
        return
    inner, rank = layer.inner, mixing.dt_rank
    ledger.layer(index, "state", f"{name}.in_proj", hidden * 2 * inner)
    ledger.layer(index, "state", f"{name}.x_proj", inner * (rank + 2 * layer.state_size))
    ledger.layer(index, "state", f"{name}.dt_proj", rank * inner)
    ledger.plain(index, "state", inner * (layer.conv_kernel + 3 + layer.state_size), split="tensor")
    ledger.layer(index, "state", f"{name}.out_proj", inner * hidden)
