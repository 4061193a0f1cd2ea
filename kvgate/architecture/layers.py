"""What one layer of a model keeps between tokens: one frozen value per attention family.

Widths are elements, not bytes: the element's size is the KV format's business. Head counts are the
whole model's; what one tensor-parallel rank holds is computed by `kvgate.kvcache`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

__all__ = [
    "MLA", "Attention", "CompressedAttention", "GatedDeltaNet", "Indexer", "KimiDelta", "Layer",
    "LayerGroup", "Lightning", "Mamba1", "Mamba2", "NoCache", "ShortConv", "StateLayer",
    "StreamConv",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Indexer:
    """The key-only cache a sparse layer searches to choose which tokens it attends to.

    ``head_dim`` elements a token, one head; ``topk`` tokens (or blocks) are chosen. ``heads`` of
    the query search it, 0 where the config does not say.
    """

    head_dim: int
    topk: int
    heads: int = 0


@dataclass(frozen=True, slots=True)
class Attention:
    """Keys and values per head: MHA, GQA and MQA.

    ``kind`` is ``full`` (every token), ``sliding`` (the last ``window`` tokens, the new one too),
    ``chunked`` (tokens of the own chunk of ``window`` tokens) or ``cross`` (the encoder's tokens).
    A token keeps ``kv_heads`` keys of ``head_dim`` elements and values of ``v_head_dim``, for
    ``query_heads`` that read them; heads are the whole model's, not one rank's.
    """

    kind: Literal["full", "sliding", "chunked", "cross"]
    query_heads: int
    kv_heads: int
    head_dim: int
    v_head_dim: int
    window: int | None = None
    sinks: bool = False
    indexer: Indexer | None = None


@dataclass(frozen=True, slots=True)
class MLA:
    """Multi-head latent attention: one latent of ``kv_lora_rank`` + ``qk_rope_head_dim`` a token.

    Widths are elements. ``query_heads`` (the whole model's) read keys of ``qk_nope_head_dim`` +
    ``qk_rope_head_dim`` and values of ``v_head_dim`` out of it.

    ``indexer`` is set for sparse MLA (DeepSeek V3.2, GLM-5); ``shares_indexer`` where such a layer
    uses the choice of an earlier layer and keeps no indexer keys of its own (GLM-5.2). ``window``
    is set where a layer keeps the last so many latents only, and ``row`` where engines widen a
    cached latent to so many elements, to be as wide as the windowed layers' (dots3).
    """

    kind: ClassVar[str] = "mla"
    query_heads: int
    kv_lora_rank: int
    qk_rope_head_dim: int
    qk_nope_head_dim: int
    v_head_dim: int
    indexer: Indexer | None = None
    shares_indexer: bool = False
    sparse: bool = False
    window: int | None = None
    row: int | None = None

    @property
    def head_size(self) -> int:
        """Elements of one cached latent, 576 for DeepSeek V3."""
        return self.kv_lora_rank + self.qk_rope_head_dim


@dataclass(frozen=True, slots=True)
class CompressedAttention:
    """DeepSeek V4 and V4.1: a raw window of latents, and one compressed entry per ``ratio`` tokens.

    ``ratio`` 0 keeps the window of ``window`` tokens only. ``head_dim`` is the latent's width in
    elements, the ``qk_rope_head_dim`` of RoPE included; ``query_heads`` are the whole model's.
    """

    kind: ClassVar[str] = "compressed"
    query_heads: int
    head_dim: int
    qk_rope_head_dim: int
    window: int
    ratio: int
    indexer: Indexer | None = None
    version: Literal["v4", "v4.1"] = "v4"


@dataclass(frozen=True, slots=True)
class GatedDeltaNet:
    """Gated delta net (Qwen3-Next, Qwen3.5): a matrix state per value head, a convolution tail.

    ``value_heads`` states of ``key_head_dim`` x ``value_head_dim`` elements; the tail has the last
    ``conv_kernel`` - 1 tokens of the channels of ``key_heads`` and value heads.
    """

    kind: ClassVar[str] = "gdn"
    key_heads: int
    value_heads: int
    key_head_dim: int
    value_head_dim: int
    conv_kernel: int
    state_dtype: str | None = None


@dataclass(frozen=True, slots=True)
class Mamba2:
    """Mamba-2: ``heads`` x ``head_dim`` x ``state_size``, a convolution over inner + 2 groups.

    Sizes are elements. The convolution is ``conv_kernel`` tokens long, and runs over the heads'
    channels and two of ``state_size`` for each of ``groups``.

    ``chunk`` is the number of tokens that its kernel works on at a time, None where the config does
    not say: engines align their blocks to it.
    """

    kind: ClassVar[str] = "mamba2"
    heads: int
    head_dim: int
    state_size: int
    groups: int
    conv_kernel: int
    state_dtype: str | None = None
    chunk: int | None = None


@dataclass(frozen=True, slots=True)
class Mamba1:
    """Mamba-1: ``inner`` x ``state_size`` elements, a convolution of ``conv_kernel`` tokens over
    ``inner`` channels."""

    kind: ClassVar[str] = "mamba1"
    inner: int
    state_size: int
    conv_kernel: int
    state_dtype: str | None = None


@dataclass(frozen=True, slots=True)
class KimiDelta:
    """Kimi delta attention: ``heads`` x ``head_dim`` x ``head_dim`` elements, and three
    convolutions of ``conv_kernel`` tokens."""

    kind: ClassVar[str] = "kda"
    heads: int
    head_dim: int
    conv_kernel: int
    state_dtype: str | None = None


@dataclass(frozen=True, slots=True)
class Lightning:
    """Lightning (linear) attention, MiniMax-01 and M1: ``heads`` x ``head_dim`` x ``head_dim``."""

    kind: ClassVar[str] = "lightning"
    heads: int
    head_dim: int
    state_dtype: str | None = None


@dataclass(frozen=True, slots=True)
class ShortConv:
    """Short convolution (LFM2): ``width`` channels of the last ``kernel`` - 1 tokens."""

    kind: ClassVar[str] = "short_conv"
    width: int
    kernel: int


@dataclass(frozen=True, slots=True)
class StreamConv:
    """Four short convolutions beside attention (Inkling): over keys, values, and what attention and
    feed-forward part put out. Each keeps its channels of the last ``kernel`` - 1 tokens:
    ``kv_heads`` x ``head_dim`` for keys and for values, ``hidden`` for the other two.
    """

    kind: ClassVar[str] = "stream_conv"
    kv_heads: int
    head_dim: int
    hidden: int
    kernel: int


@dataclass(frozen=True, slots=True)
class NoCache:
    """A layer that keeps nothing of its own: an MLP, a no-op, or one that reads another's KV."""

    kind: ClassVar[str] = "none"
    reason: Literal["mlp", "no-op", "shares-kv"]


StateLayer = GatedDeltaNet | Mamba2 | Mamba1 | KimiDelta | Lightning | ShortConv | StreamConv
Layer = Attention | MLA | CompressedAttention | StateLayer | NoCache


@dataclass(frozen=True, slots=True)
class LayerGroup:
    """Layers that keep the same: ``indices`` (0-based, ascending), ``because`` of which keys.

    An index stands in two groups where a layer keeps two things (Falcon-H1: attention, Mamba), and
    several times in one where it keeps several equal caches (Ouro: one for each run).
    """

    layer: Layer
    indices: tuple[int, ...]
    because: tuple[str, ...]

    @property
    def count(self) -> int:
        """How many caches: the layers, each as often as it keeps one."""
        return len(self.indices)
