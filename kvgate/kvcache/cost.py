"""The bytes of one layer: what grows by the token, what stops at a window, what is a state."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.version import Version

from kvgate.architecture.layers import (
    MLA,
    Attention,
    CompressedAttention,
    Indexer,
    Layer,
    NoCache,
)
from kvgate.catalog.formats import KvFormat, kv_format
from kvgate.errors import InputError
from kvgate.kvcache.choice import KvChoice
from kvgate.kvcache.states import DTYPE_BYTES, state_dtypes, state_tensors

__all__ = [
    "INDEXER_KEY_BYTES",
    "LayerCost",
    "compressor_state_bytes",
    "kv_heads_on_rank",
    "latent_format",
    "layer_cost",
]

# MiniMax-M3's index keys: one head, no values, bfloat16 by default
# (vllm 0.33.0, models/minimax_m3/common/indexer.py).
INDEXER_KEY_BYTES = 2


@dataclass(frozen=True, slots=True)
class LayerCost:
    """One layer on one rank: ``growing`` bytes a token, ``window_per_token`` bytes a token up to
    ``window`` tokens, ``state`` bytes a sequence, ``fixed`` bytes a sequence (cross-attention).
    ``index_keys`` are those of the growing bytes that every rank keeps whole beside its heads."""

    kind: str
    formula: str
    growing: float = 0.0
    window: int | None = None
    window_per_token: int = 0
    state: int = 0
    fixed: int = 0
    index_keys: int = 0
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> float:
        """A number to compare two costs of the same layer by: the bytes at one token."""
        return self.growing + self.window_per_token + self.state + self.fixed


def kv_heads_on_rank(kv_heads: int, tp: int) -> int:
    """KV heads that one of ``tp`` ranks holds: below one head a rank, heads are copied.

    Raises InputError where neither divides the other, as the engines do.

    >>> kv_heads_on_rank(8, 4), kv_heads_on_rank(2, 8)
    (2, 1)
    """
    if kv_heads % tp and tp % kv_heads:
        raise InputError(
            f"{kv_heads} KV heads cannot be split over tensor parallel size {tp}",
            hint=f"use a divisor or a multiple of {kv_heads}",
        )
    return max(1, kv_heads // tp)


def layer_cost(
    layer: Layer,
    choice: KvChoice,
    *,
    tp: int,
    engine: str,
    version: Version | None,
    model_type: str,
    model_dtype: str,
    ssm_dtype: str = "auto",
    speculative: int = 0,
    inert_from: int | None = None,
    encoder_tokens: int | None = None,
) -> LayerCost:
    """The cost of one layer on one of ``tp`` ranks.

    A window of ``inert_from`` tokens or more never closes, so such a layer counts as growing.
    """
    match layer:
        case NoCache():
            return LayerCost("none", "")
        case Attention():
            return _attention(layer, choice.format, tp, inert_from, encoder_tokens)
        case MLA():
            return _mla(layer, choice, inert_from)
        case CompressedAttention():
            return _compressed(layer, choice)
        case _:
            dtypes = state_dtypes(
                layer, engine=engine, model_type=model_type, model_dtype=model_dtype,
                version=version, ssm_dtype=ssm_dtype,
            )  # fmt: skip
            longer = speculative if engine == "vllm" else 0
            tensors = state_tensors(layer, tp, speculative=longer)
            names = {"conv": dtypes.conv, "state": dtypes.state}
            terms = " + ".join(f"{t.formula} x {DTYPE_BYTES[names[t.role]]} B" for t in tensors)
            total = sum(dtypes.bytes_of(t) for t in tensors)
            return LayerCost(layer.kind, f"({terms})", state=total)


def _attention(
    layer: Attention, fmt: KvFormat, tp: int, inert_from: int | None, encoder_tokens: int | None
) -> LayerCost:
    heads = kv_heads_on_rank(layer.kv_heads, tp)
    head = fmt.head_bytes(layer.head_dim, layer.v_head_dim)
    per_token = heads * head
    formula = f"{heads} KV heads x {head} B ({fmt.name}: {layer.head_dim} K + {layer.v_head_dim} V)"
    keys, extra = _index_keys(layer.indexer)
    if layer.kind == "cross":
        tokens = encoder_tokens or 0
        return LayerCost("cross", f"{formula} x {tokens} encoder tokens", fixed=per_token * tokens)
    inert = layer.window is None or (inert_from is not None and layer.window >= inert_from)
    if layer.kind == "full" or inert:
        if layer.kind != "full":
            formula += f", window {layer.window} never closes"
        return LayerCost(
            layer.kind, f"{formula}{extra}",
            growing=float(per_token + keys), index_keys=keys,
        )  # fmt: skip
    return LayerCost(
        layer.kind,
        f"{formula}{extra} x window {layer.window}",
        growing=float(keys), window=layer.window, window_per_token=per_token,
        index_keys=keys,
    )  # fmt: skip


def _mla(layer: MLA, choice: KvChoice, inert_from: int | None) -> LayerCost:
    fmt = latent_format(layer, choice)
    latent = fmt.latent_bytes(layer.head_size)
    rope = f" + {layer.qk_rope_head_dim} rope" if layer.qk_rope_head_dim else ""
    formula = f"{latent} B ({fmt.name}: {layer.kv_lora_rank} latent{rope}, on every rank)"
    if layer.window is not None and (inert_from is None or layer.window < inert_from):
        return LayerCost(
            layer.kind, f"{formula} x window {layer.window}",
            window=layer.window, window_per_token=latent,
        )  # fmt: skip
    keys = 0
    if layer.indexer is not None and not layer.shares_indexer:
        keys = _indexer_bytes(layer.indexer, choice)
        formula = f"({formula} + {keys} B indexer)"
    return LayerCost(layer.kind, formula, growing=float(latent + keys))


def latent_format(layer: MLA, choice: KvChoice) -> KvFormat:
    """How a latent is kept: windowed layers are dense, and have no records with scales.

    Source: vllm 0.33.0, models/dots3_note/nvidia/model.py.
    """
    if layer.window is not None and choice.format.name == "fp8_ds_mla":
        return kv_format("fp8")
    return choice.format


def _compressed(layer: CompressedAttention, choice: KvChoice) -> LayerCost:
    raw = (choice.window or choice.format).record_bytes or 0
    record = choice.format.record_bytes or 0
    growing = 0.0
    formula = f"window {layer.window} x {raw} B"
    notes: tuple[str, ...] = ()
    if layer.ratio:
        growing = record / layer.ratio
        formula += f" + {record} B / {layer.ratio} tokens"
        if layer.indexer is not None:
            keys = _indexer_bytes(layer.indexer, choice)
            growing += keys / layer.ratio
            formula += f" + {keys} B indexer / {layer.ratio} tokens"
        notes = (
            "the open group that a compressed layer has yet to compress is engine scratch "
            "(float32 keys and scores) and is counted in what the engine reserves, not in the need",
        )
    return LayerCost(
        layer.kind, formula, growing=growing, window=layer.window, window_per_token=raw, notes=notes
    )


def compressor_state_bytes(layer: CompressedAttention) -> int:
    """Bytes of one token in the float32 scratch of a compressed layer's main compressor.

    It keeps keys and scores, twice as wide where the ratio is 4 (overlapping groups). Source: vllm
    0.33.0, models/deepseek_v4/compressor.py.
    """
    overlap = 2 if layer.ratio == 4 else 1
    return 2 * overlap * layer.head_dim * 4


def _indexer_bytes(indexer: Indexer, choice: KvChoice) -> int:
    fmt = choice.indexer
    if fmt is None:
        return indexer.head_dim * INDEXER_KEY_BYTES
    # The record is made for 128 elements; other widths keep one float32 scale per 128.
    return indexer.head_dim + 4 * -(-indexer.head_dim // 128)


def _index_keys(indexer: Indexer | None) -> tuple[int, str]:
    if indexer is None:
        return 0, ""
    keys = indexer.head_dim * INDEXER_KEY_BYTES
    return keys, f" + {keys} B index keys"
