"""State layers: the tensors one sequence keeps however long it grows, and their dtypes.

Shapes follow the engines' own rules: every dimension that runs over heads or channels is divided
by the tensor-parallel size, and Mamba-2 groups that cannot be divided are replicated first.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

from packaging.version import Version

from kvgate.architecture.layers import (
    GatedDeltaNet,
    KimiDelta,
    Lightning,
    Mamba1,
    Mamba2,
    ShortConv,
    StateLayer,
    StreamConv,
)
from kvgate.errors import InputError

__all__ = [
    "DTYPE_BYTES",
    "StateDtypes",
    "StateTensor",
    "state_bytes",
    "state_dtypes",
    "state_tensors",
]

DTYPE_BYTES = {
    "float32": 4, "float": 4, "fp32": 4, "float16": 2, "half": 2, "fp16": 2,
    "bfloat16": 2, "bf16": 2,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class StateTensor:
    """One tensor of a state layer: its role, its shape on one rank, and the sum as text."""

    role: Literal["conv", "state"]
    shape: tuple[int, ...]
    formula: str

    @property
    def elements(self) -> int:
        """How many elements one sequence keeps of it."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class StateDtypes:
    """The dtypes of a state layer's tensors, and the rule that chose the state's, in words."""

    conv: str
    state: str
    because: str

    def bytes_of(self, tensor: StateTensor) -> int:
        """Bytes of one tensor for one sequence."""
        return tensor.elements * DTYPE_BYTES[self.conv if tensor.role == "conv" else self.state]


def state_tensors(
    layer: StateLayer, tp: int = 1, *, speculative: int = 0
) -> tuple[StateTensor, ...]:
    """The tensors that one rank of ``tp`` keeps of one layer for one sequence.

    ``speculative`` draft tokens lengthen a convolution's tail, as vLLM does. Raises InputError
    where ``tp`` does not divide what the engine shards. Source: vllm 0.33.0,
    model_executor/layers/mamba/mamba_utils.py.
    """
    match layer:
        case GatedDeltaNet():
            channels = 2 * layer.key_heads * layer.key_head_dim
            channels += layer.value_heads * layer.value_head_dim
            heads = _share(layer.value_heads, tp, "linear value heads")
            return (
                _conv(channels, tp, layer.conv_kernel, speculative),
                _state((heads, layer.value_head_dim, layer.key_head_dim)),
            )
        case Mamba2():
            # Every rank needs the groups of its heads, so groups that cannot be divided are copied.
            groups = layer.groups if layer.groups % tp == 0 else tp
            channels = layer.heads * layer.head_dim + 2 * groups * layer.state_size
            heads = _share(layer.heads, tp, "Mamba heads")
            return (
                _conv(channels, tp, layer.conv_kernel, speculative),
                _state((heads, layer.head_dim, layer.state_size)),
            )
        case Mamba1():
            inner = _share(layer.inner, tp, "Mamba channels")
            return _conv(layer.inner, tp, layer.conv_kernel, 0), _state((inner, layer.state_size))
        case KimiDelta():
            heads = _share(layer.heads, tp, "KDA heads")
            return (
                _conv(3 * layer.heads * layer.head_dim, tp, layer.conv_kernel, speculative),
                _state((heads, layer.head_dim, layer.head_dim)),
            )
        case Lightning():
            heads = _share(layer.heads, tp, "lightning heads")
            return (_state((heads, layer.head_dim, layer.head_dim)),)
        case ShortConv():
            return (_conv(layer.width, tp, layer.kernel, speculative),)
        case StreamConv():
            _share(layer.kv_heads, tp, "KV heads of the convolutions")
            channels = 2 * layer.kv_heads * layer.head_dim + 2 * layer.hidden
            return (_conv(channels, tp, layer.kernel, 0),)


def state_dtypes(
    layer: StateLayer,
    *,
    engine: str,
    model_type: str,
    model_dtype: str,
    version: Version | None = None,
    ssm_dtype: str = "auto",
) -> StateDtypes:
    """The dtypes of a layer's tensors in one engine.

    ``ssm_dtype`` is the engine's flag (``--mamba-ssm-cache-dtype``, ``--mamba-ssm-dtype``),
    ``auto`` when not given. Raises InputError for a dtype that is no state dtype.
    """
    _check_dtype(model_dtype)
    if engine == "llama.cpp":
        return StateDtypes("float32", "float32", "llama.cpp keeps recurrent states in f32")
    if isinstance(layer, ShortConv | StreamConv):
        return StateDtypes(model_dtype, model_dtype, "a short convolution keeps the model's dtype")
    if ssm_dtype != "auto":
        _check_dtype(ssm_dtype)
        return StateDtypes(model_dtype, ssm_dtype, f"the state dtype {ssm_dtype} was asked for")
    # MiniMax's lightning layers have no key of their own; vLLM keeps them in the model's dtype.
    asked = layer.state_dtype
    if asked is not None:
        _check_dtype(asked)
        return StateDtypes(model_dtype, asked, f"the config asks for {asked} states")
    if engine == "sglang":
        return StateDtypes(model_dtype, "float32", "SGLang keeps states in float32 by default")
    if isinstance(layer, KimiDelta):
        return StateDtypes(model_dtype, "float32", "vLLM keeps KDA states in float32")
    if model_type.startswith("nemotron_h") and (version is None or version >= Version("0.13")):
        return StateDtypes(model_dtype, "float32", "vLLM keeps Nemotron-H states in float32")
    return StateDtypes(
        model_dtype,
        model_dtype,
        f"the config names no state dtype; vLLM takes the model's, {model_dtype}",
    )


def state_bytes(
    layer: StateLayer, dtypes: StateDtypes, tp: int = 1, *, speculative: int = 0
) -> int:
    """Bytes that one rank keeps of one layer for one sequence."""
    return sum(dtypes.bytes_of(t) for t in state_tensors(layer, tp, speculative=speculative))


def _conv(channels: int, tp: int, kernel: int, speculative: int) -> StateTensor:
    width = _share(channels, tp, "convolution channels")
    tail = kernel - 1 + speculative
    return StateTensor("conv", (tail, width), f"{tail} x {width}")


def _state(shape: tuple[int, ...]) -> StateTensor:
    return StateTensor("state", shape, " x ".join(map(str, shape)))


def _share(count: int, tp: int, what: str) -> int:
    if count % tp:
        raise InputError(
            f"{count} {what} cannot be split over tensor parallel size {tp}",
            hint=f"use a size that divides {count}",
        )
    return count // tp


def _check_dtype(name: str) -> None:
    if name not in DTYPE_BYTES:
        raise InputError(f"{name!r} is not a state dtype", hint="known: float32, float16, bfloat16")
