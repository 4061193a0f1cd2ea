"""The few facts of a model that SGLang's rules ask for."""

from __future__ import annotations

from dataclasses import dataclass, field

from kvgate.architecture.layers import (
    MLA,
    Attention,
    GatedDeltaNet,
    KimiDelta,
    Lightning,
    Mamba1,
    Mamba2,
    ShortConv,
)
from kvgate.architecture.model import Architecture, Quantization

__all__ = ["Model", "model_facts"]

_STATES = {
    GatedDeltaNet: "gdn",
    Mamba2: "mamba2",
    Mamba1: "mamba1",
    KimiDelta: "kda",
    Lightning: "lightning",
    ShortConv: "short_conv",
}


@dataclass(frozen=True, slots=True)
class Model:
    """What SGLang's hooks look at.

    ``architecture`` is ``architectures[0]``. ``state`` is the kind of its linear layers.
    ``quantization`` is the method after SGLang's own reading of the config (``modelopt_fp4`` for
    ModelOpt NVFP4). ``experts`` says how the routed experts are stored where that differs
    (``mxfp4``, ``nvfp4``, ``int4_group32``, ``w4a16_nvfp4``). ``kv_fp8`` is whether the checkpoint
    itself asks for FP8 KV. ``heads`` is (query heads, KV heads, width of a key, width of a value)
    of the whole model, None where its layers differ or are MLA.
    """

    architecture: str
    model_type: str = ""
    latent: bool = False
    state: str | None = None
    sinks: bool = False
    asymmetric: bool = False
    sliding: bool = False
    multimodal: bool = False
    index_topk: int | None = None
    index_pool: int = 1
    quantization: str | None = None
    experts: str | None = None
    kv_fp8: bool = False
    dtype: str | None = None
    draft_tokens: int | None = None
    heads: tuple[int, int, int, int] | None = field(default=None, compare=False)

    @property
    def torch_dtype(self) -> str:
        """What ``auto`` computes in: float32 or no dtype becomes float16, Gemma's bfloat16."""
        if self.dtype in (None, "float32"):
            return "bfloat16" if self.model_type.startswith("gemma") else "float16"
        return str(self.dtype)


def model_facts(architecture: Architecture) -> Model:
    """The facts of a parsed model."""
    layers = [group.layer for group in architecture.groups]
    plain = [layer for layer in layers if isinstance(layer, Attention)]
    latent = [layer for layer in layers if isinstance(layer, MLA)]
    indexers = [layer.indexer for layer in latent if layer.indexer is not None]
    states = [_STATES[type(layer)] for layer in layers if type(layer) in _STATES]
    method, experts = _quantization(architecture.quantization)
    return Model(
        architecture=architecture.architectures[0] if architecture.architectures else "",
        model_type=architecture.model_type,
        latent=bool(latent),
        state=states[0] if states else None,
        sinks=any(layer.sinks for layer in plain),
        asymmetric=any(layer.head_dim != layer.v_head_dim for layer in plain),
        sliding=any(layer.kind == "sliding" for layer in plain),
        multimodal=architecture.multimodal,
        index_topk=indexers[0].topk if indexers else None,
        quantization=method,
        experts=experts,
        kv_fp8=_fp8_kv(architecture.quantization),
        dtype=architecture.dtype,
        heads=_heads(plain) if not latent else None,
    )


def _heads(plain: list[Attention]) -> tuple[int, int, int, int] | None:
    found = {(of.query_heads, of.kv_heads, of.head_dim, of.v_head_dim) for of in plain}
    return found.pop() if len(found) == 1 else None


def _quantization(said: Quantization | None) -> tuple[str | None, str | None]:
    """SGLang's name of the method, and how routed experts are stored."""
    if said is None:
        return None, None
    algorithm = (said.algorithm or "").upper()
    if said.method == "modelopt_mixed":
        nvfp4 = {"NVFP4", "W4A16_NVFP4"} & set(said.layer_algorithms)
        return "modelopt_mixed" if nvfp4 else "w4afp8", said.experts
    if said.method in ("modelopt", "unknown"):
        known = {"FP8": "modelopt_fp8", "MXFP8": "mxfp8"}
        return known.get(algorithm, said.method), said.experts
    return said.method, said.experts


def _fp8_kv(said: Quantization | None) -> bool:
    return said is not None and said.kv_cache in ("fp8", "fp8_e4m3")
