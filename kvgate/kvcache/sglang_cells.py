"""What one token costs in SGLang's pools, and what one slot costs in its state pool."""

from __future__ import annotations

from dataclasses import dataclass

from kvgate.architecture.layers import (
    MLA,
    Attention,
    CompressedAttention,
    Layer,
    NoCache,
    StateLayer,
    StreamConv,
)
from kvgate.architecture.model import Architecture
from kvgate.errors import InputError
from kvgate.kvcache.choice import KvChoice
from kvgate.kvcache.cost import kv_heads_on_rank
from kvgate.kvcache.states import state_bytes, state_dtypes
from kvgate.units import counted

__all__ = ["SglangCells", "has_swa_pool", "sglang_cells"]

# Families whose sliding layers get a pool of their own; the others keep full KV
# (sglang 0.5.23, srt/configs/model_config.py).
_SWA_POOLS = ("gpt_oss", "gemma4", "llama4", "mimo_v2", "step3p5", "step3p7", "step3_5", "step3_7")
# These count the window without the token being written.
_EXCLUSIVE_WINDOW = ("gpt_oss", "gemma4")


@dataclass(frozen=True, slots=True)
class SglangCells:
    """Bytes per token and rank: ``full`` and ``swa`` over all layers of that kind.

    ``swa`` is 0 without a pool of its own; ``window`` is what that pool must hold. ``state`` is the
    bytes of one state slot over ``state_layers`` layers.
    """

    full: int
    full_layers: int
    swa: int
    swa_layers: int
    window: int
    state: int
    state_layers: int
    lines: tuple[str, ...]

    @property
    def split(self) -> bool:
        """Whether sliding layers have a pool of their own."""
        return self.swa_layers > 0


def has_swa_pool(arch: Architecture) -> bool:
    """Whether SGLang gives this family's windowed layers a pool of their own."""
    return arch.model_type.startswith(_SWA_POOLS)


def sglang_cells(
    arch: Architecture,
    choice: KvChoice,
    *,
    tp: int,
    model_dtype: str,
    ssm_dtype: str = "auto",
    split: bool = True,
) -> SglangCells:
    """The cells of a model on one of ``tp`` attention ranks.

    ``split`` False is ``--disable-hybrid-swa-memory``. Raises InputError where ``tp`` does not
    divide the heads.
    """
    has_pool = split and has_swa_pool(arch)
    full = swa = 0
    full_layers = swa_layers = state_layers = state = 0
    window = 0
    lines: list[str] = []
    # Without a split, every layer is sized as if it had the full layers' heads.
    wide = _full_geometry(arch) if has_swa_pool(arch) and not split else None
    for layer, count in _counted(arch):
        match layer:
            case NoCache():
                pass
            case Attention():
                size = _attention(wide or layer, choice, tp)
                sliding = layer.kind in ("sliding", "chunked")
                if sliding and has_pool:
                    swa += size * count
                    swa_layers += count
                    window = layer.window or 0
                else:
                    full += size * count
                    full_layers += count
            case MLA():
                full += _latent(layer, choice) * count
                full_layers += count
            case StreamConv():
                raise InputError(
                    "kvgate does not know how SGLang keeps the convolutions beside attention",
                    hint="what the model needs is still computed: kvgate.kvcache.needs",
                )
            case CompressedAttention():
                # Only where the split pools are off: keys and values of one head.
                full += 2 * layer.head_dim * count
                full_layers += count
            case _:
                state += _state(layer, count, arch, tp, model_dtype, ssm_dtype)
                state_layers += count
    if has_pool and arch.model_type.startswith(_EXCLUSIVE_WINDOW):
        window -= 1
    lines.append(f"{counted(full_layers, 'layer')} with full KV: {full:,} B a token per rank")
    if swa_layers:
        lines.append(f"{swa_layers} windowed layers: {swa:,} B a token per rank, window {window:,}")
    if state_layers:
        lines.append(f"{state_layers} state layers: {state:,} B a slot per rank")
    return SglangCells(
        full, full_layers, swa, swa_layers, window, state, state_layers, tuple(lines)
    )


def _counted(arch: Architecture) -> list[tuple[Layer, int]]:
    """The layers SGLang allocates for: those that share another's KV are counted as well.

    What kind a sharing layer would be follows from the pattern of the layers before it.
    """
    shared = [
        index
        for group in arch.groups
        if isinstance(group.layer, NoCache) and group.layer.reason == "shares-kv"
        for index in group.indices
    ]
    counts = {group.layer: group.count for group in arch.groups}
    if shared:
        own = {i: g.layer for g in arch.groups for i in g.indices if i not in shared}
        prefix = [own[i] for i in range(min(shared)) if i in own]
        if not prefix:
            raise InputError(
                f"every layer of a pipeline stage of {arch.id} shares another stage's KV, and "
                "kvgate does not know what SGLang allocates for those",
                hint="use fewer pipeline stages",
            )
        period = next(
            n
            for n in range(1, len(prefix) + 1)
            if all(prefix[i] == prefix[i % n] for i in range(len(prefix)))
        )
        for index in shared:
            counts[prefix[index % period]] += 1
    return list(counts.items())


def _full_geometry(arch: Architecture) -> Attention | None:
    layers = (group.layer for group in arch.groups)
    return next((of for of in layers if isinstance(of, Attention) and of.kind == "full"), None)


def _attention(layer: Attention, choice: KvChoice, tp: int) -> int:
    heads = kv_heads_on_rank(layer.kv_heads, tp)
    return heads * choice.format.head_bytes(layer.head_dim, layer.v_head_dim)


def _latent(layer: MLA, choice: KvChoice) -> int:
    # MLA takes mxfp8 and stores plain one-byte latents.
    size = layer.head_size
    if choice.flag != "mxfp8":
        size = choice.format.latent_bytes(layer.head_size)
    if layer.indexer is not None and not layer.shares_indexer:
        size += layer.indexer.head_dim + 4 * -(-layer.indexer.head_dim // 128)
    return size


def _state(
    layer: StateLayer,
    count: int,
    arch: Architecture,
    tp: int,
    model_dtype: str,
    ssm_dtype: str,
) -> int:
    dtypes = state_dtypes(
        layer, engine="sglang", model_type=arch.model_type, model_dtype=model_dtype,
        ssm_dtype=ssm_dtype,
    )  # fmt: skip
    return state_bytes(layer, dtypes, tp) * count
