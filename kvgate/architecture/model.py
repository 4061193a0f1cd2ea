"""A model's architecture: its layers, and the few other facts that sizing and gates ask for."""

from __future__ import annotations

from dataclasses import dataclass

from kvgate.architecture.layers import MLA, Attention, CompressedAttention, LayerGroup
from kvgate.architecture.parts import Part

__all__ = ["Architecture", "Draft", "Quantization"]


@dataclass(frozen=True, slots=True)
class Quantization:
    """What the checkpoint says of its own quantisation.

    ``weight_bits`` are the bits of a weight, None where the scheme says them.
    ``method`` is ``quant_method`` (fp8, modelopt, compressed-tensors, mxfp4 …); ``kv_cache`` the KV
    dtype it asks for (``fp8``, ``nvfp4`` …) with ``kv_cache_key``, the key that says so.
    ``algorithm`` is ModelOpt's ``quant_algo``; ``experts`` says how routed experts are stored where
    the config sets them apart (``mxfp4``, ``nvfp4``, ``w4a16_nvfp4``, ``int4_group32``);
    ``layer_algorithms`` are the algorithms that a mixed checkpoint names layer by layer.
    """

    method: str
    weight_bits: float | None = None
    kv_cache: str | None = None
    kv_cache_key: str | None = None
    ignored: tuple[str, ...] = ()
    algorithm: str | None = None
    experts: str | None = None
    layer_algorithms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """Draft layers a checkpoint brings along: multi-token prediction (``mtp``) or EAGLE."""

    kind: str
    groups: tuple[LayerGroup, ...]


@dataclass(frozen=True, slots=True)
class Architecture:
    """One model, parsed: everything that later floors ask about it.

    ``groups`` covers each of the ``num_layers`` layers at least once, in order of first index.
    ``dtype`` is the checkpoint's (``bfloat16`` …), None where the config does not say.
    ``parameters`` is None where they cannot be counted from the config, drafts left out; ``parts``
    says what they consist of, and ``not_counted`` what they leave out. ``hidden_size`` (channels),
    ``vocab_size`` (words), ``query_heads`` and ``max_position_embeddings`` (tokens) are the
    config's, None where it does not say.
    """

    id: str
    model_type: str
    architectures: tuple[str, ...]
    groups: tuple[LayerGroup, ...]
    num_layers: int
    hidden_size: int
    vocab_size: int | None
    query_heads: int
    dtype: str | None
    max_position_embeddings: int | None
    tie_word_embeddings: bool = False
    multimodal: bool = False
    mm_prefix: bool = False
    quantization: Quantization | None = None
    draft: Draft | None = None
    parameters: int | None = None
    rope: tuple[tuple[str, object], ...] = ()
    notes: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    not_counted: tuple[str, ...] = ()

    def head_sizes(self) -> dict[int, int]:
        """Head size (elements of one cached key) -> number of layers, attention layers only.

        >>> from kvgate import model
        >>> model("google/gemma-4-31B-it").head_sizes()
        {256: 50, 512: 10}
        """
        sizes: dict[int, int] = {}
        for group in self.groups:
            match group.layer:
                case Attention(head_dim=size) | CompressedAttention(head_dim=size):
                    sizes[size] = sizes.get(size, 0) + group.count
                case MLA() as mla:
                    sizes[mla.head_size] = sizes.get(mla.head_size, 0) + group.count
                case _:
                    pass
        return dict(sorted(sizes.items()))

    def kinds(self) -> dict[str, int]:
        """Layer kind -> number of layers, in order of first appearance."""
        kinds: dict[str, int] = {}
        for group in self.groups:
            kinds[group.layer.kind] = kinds.get(group.layer.kind, 0) + group.count
        return kinds
