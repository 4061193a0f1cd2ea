"""From a Hugging Face ``config.json`` to a model's layers, and the catalogue's models by name."""

from kvgate.architecture.layers import (
    MLA,
    Attention,
    CompressedAttention,
    GatedDeltaNet,
    Indexer,
    KimiDelta,
    Layer,
    LayerGroup,
    Lightning,
    Mamba1,
    Mamba2,
    NoCache,
    ShortConv,
    StateLayer,
    StreamConv,
)
from kvgate.architecture.model import Architecture, Draft, Quantization
from kvgate.architecture.parsing import parse
from kvgate.architecture.parts import Part
from kvgate.architecture.released import model
from kvgate.architecture.source import index_bytes, read_json
from kvgate.architecture.weights import Weights, weights, weights_by_stage, weights_per_rank

__all__ = [
    "MLA", "Architecture", "Attention", "CompressedAttention", "Draft", "GatedDeltaNet", "Indexer",
    "KimiDelta", "Layer", "LayerGroup", "Lightning", "Mamba1", "Mamba2", "NoCache", "Part",
    "Quantization", "ShortConv", "StateLayer", "StreamConv", "Weights", "index_bytes", "model",
    "parse", "read_json", "weights", "weights_by_stage", "weights_per_rank",
]  # fmt: skip
