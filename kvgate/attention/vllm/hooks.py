"""Models that overrule vLLM's selector: settings their own code changes before layers are built."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kvgate.architecture.layers import (
    MLA,
    Attention,
    CompressedAttention,
    GatedDeltaNet,
    KimiDelta,
    Lightning,
    Mamba1,
    Mamba2,
    ShortConv,
)
from kvgate.architecture.model import Architecture
from kvgate.attention.vllm.release import Device
from kvgate.errors import InputError

__all__ = ["Settings", "apply", "is_mm_prefix", "own_backend", "stored_as"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What is in force when the layers are built.

    ``native_layers`` keep the model's dtype whatever the KV dtype says. ``said`` is what a hook
    changed, in words; ``error`` what it raised.
    """

    backend: str | None
    kv_cache_dtype: str
    flash_attn_version: int | None
    non_causal: bool = False
    native_layers: tuple[int, ...] = ()
    said: tuple[str, ...] = ()
    error: str | None = None


def _say(settings: Settings, text: str, **changes: object) -> Settings:
    return replace(settings, said=(*settings.said, text), **changes)  # type: ignore[arg-type]


# First release that treats the model's images as a prefix all of whose tokens see each other.
# Source: ``config/model.py`` to 0.19, ``transformers_utils/model_arch_config_convertor.py`` since.
_MM_PREFIX_SINCE = {
    "gemma3": (0, 13),
    "paligemma": (0, 14),
    "molmo2": (0, 15),
    "bagel": (0, 18),
    "gemma4": (0, 20),
    "gemma4_unified": (0, 20),
    "moondream3": (0, 21),
}
TEXT_ONLY_LIFTS_IT = (0, 27)


def is_mm_prefix(model: Architecture, version: tuple[int, ...], *, text_only: bool) -> bool:
    """Whether this release gives the model's image tokens full attention among themselves."""
    if not model.mm_prefix or (text_only and version >= TEXT_ONLY_LIFTS_IT):
        return False
    return version >= _MM_PREFIX_SINCE.get(model.model_type.removesuffix("_text"), (0, 17))


def apply(device: Device, model: Architecture, settings: Settings) -> Settings:
    """The settings after the model's own changes (``model_executor/models/config.py``)."""
    if settings.kv_cache_dtype.startswith("turboquant_") and device.version >= (0, 20):
        settings = _turboquant(device, model, settings)
    for name in model.architectures:
        hook = _HOOKS.get(name)
        if hook:
            return hook(device, model, settings)
    return settings


_STATE = GatedDeltaNet | KimiDelta | Lightning | Mamba1 | Mamba2 | ShortConv


def _turboquant(device: Device, model: Architecture, settings: Settings) -> Settings:
    """The first two and last two layers keep their dtype, except in hybrids (``arg_utils.py``)."""
    if any(isinstance(g.layer, _STATE) for g in model.groups):
        if device.version < (0, 21):
            return replace(
                settings,
                error="NotImplementedError: TurboQuant KV cache is not supported for hybrid "
                "(attention + Mamba) models. Boundary layer protection requires uniform attention "
                "layers.",
            )
    else:
        ends = min(2, model.num_layers // 2)
        layers = (*range(ends), *range(model.num_layers - ends, model.num_layers))
        kept = ", ".join(map(str, layers))
        settings = _say(
            settings, f"TurboQuant leaves layers {kept} at the model's dtype", native_layers=layers
        )
    if settings.flash_attn_version in (None, 3, 4):
        settings = _say(
            settings,
            "TurboQuant sets flash_attn_version to 2 for the whole run",
            flash_attn_version=2,
        )
    return settings


def _widths(model: Architecture) -> list[int]:
    return sorted({g.layer.head_dim for g in model.groups if isinstance(g.layer, Attention)})


def _gemma4(device: Device, model: Architecture, settings: Settings) -> Settings:
    """Two head widths: one backend for all layers (0.19), FlashAttention 4 where it is (0.24)."""
    widths = _widths(model)
    if len(widths) < 2 or device.version < (0, 19):
        return settings
    what = f"Gemma 4 has heads of {' and '.join(map(str, widths))}"
    if device.version < (0, 24):
        if max(widths) > 256 and settings.backend is None:
            return _say(settings, f"{what}: vLLM forces TRITON_ATTN", backend="TRITON_ATTN")
        return settings
    if 4 in device.fa_supported and max(widths) <= 512:
        if settings.flash_attn_version is None and settings.backend in (None, "FLASH_ATTN"):
            per_layer = (
                device.version >= (0, 31)
                and device.capability.startswith("9.")
                and settings.kv_cache_dtype.startswith("fp8")
            )
            if per_layer:
                return _say(settings, f"{what}: FlashAttention 3 or 4, layer by layer")
            return _say(
                settings, f"{what}: vLLM sets FlashAttention 4 for all layers", flash_attn_version=4
            )
    elif settings.backend is None:
        return _say(
            settings,
            f"{what} and this device has no FlashAttention 4: vLLM forces TRITON_ATTN",
            backend="TRITON_ATTN",
        )
    return settings


def _diffusion_gemma(device: Device, model: Architecture, settings: Settings) -> Settings:
    """``DiffusionGemma`` (0.24): causal and bidirectional attention in one batch."""
    settings = _gemma4(device, model, settings)
    if device.version < (0, 24):
        return settings
    if settings.backend == "FLASHINFER":
        return replace(
            settings,
            error="ValueError: FlashInfer does not support DiffusionGemma's mixed "
            "causal/bidirectional attention. Use --attention-backend FLASH_ATTN or TRITON_ATTN "
            "instead.",
        )
    if settings.backend is None:
        return _say(settings, "DiffusionGemma asks for non-causal attention", non_causal=True)
    return settings


def _embedding_gemma2(device: Device, model: Architecture, settings: Settings) -> Settings:
    """``EmbeddingGemma2Model`` (0.32): Triton unless the user chose."""
    settings = _gemma4(device, model, settings)
    if device.version >= (0, 32) and settings.backend is None:
        return _say(settings, "EmbeddingGemma2 defaults to TRITON_ATTN", backend="TRITON_ATTN")
    return settings


def _deepseek_v32(device: Device, model: Architecture, settings: Settings) -> Settings:
    """``DeepseekV32ForCausalLM``: bfloat16 becomes auto; up to 0.17 any fp8 becomes fp8_ds_mla."""
    kv = settings.kv_cache_dtype
    if kv.startswith("fp8") and kv != "fp8_ds_mla" and device.version < (0, 18):
        return _say(settings, "DeepSeek V3.2 keeps fp8 as fp8_ds_mla", kv_cache_dtype="fp8_ds_mla")
    if kv == "bfloat16":
        return _say(settings, "DeepSeek V3.2 turns bfloat16 into auto", kv_cache_dtype="auto")
    return settings


def _glm_dsa(device: Device, model: Architecture, settings: Settings) -> Settings:
    """``GlmMoeDsaForCausalLM`` (0.32): auto becomes fp8_e4m3 on SM10x."""
    sm10 = device.capability.startswith("10.")
    if settings.kv_cache_dtype == "auto" and sm10 and device.version >= (0, 32):
        return _say(settings, "GLM-5 turns auto into fp8_e4m3 on SM10x", kv_cache_dtype="fp8_e4m3")
    return settings


def _glm5_next(device: Device, model: Architecture, settings: Settings) -> Settings:
    """``Glm5NextForCausalLM`` (0.33): auto becomes fp8 on SM10x where the layers are sparse."""
    sparse = any(isinstance(g.layer, MLA) and g.layer.indexer for g in model.groups)
    sm10 = device.capability.startswith("10.")
    if settings.kv_cache_dtype == "auto" and sm10 and sparse and device.version >= (0, 33):
        return _say(settings, "GLM-5.3 turns auto into fp8 on SM10x", kv_cache_dtype="fp8")
    return settings


_HOOKS = {
    "Gemma4ForCausalLM": _gemma4,
    "Gemma4ForConditionalGeneration": _gemma4,
    "Gemma4UnifiedForConditionalGeneration": _gemma4,
    "DiffusionGemmaForBlockDiffusion": _diffusion_gemma,
    "EmbeddingGemma2Model": _embedding_gemma2,
    "DeepseekV32ForCausalLM": _deepseek_v32,
    "GlmMoeDsaForCausalLM": _glm_dsa,
    "Glm5NextForCausalLM": _glm5_next,
    "Glm5NextForConditionalGeneration": _glm5_next,
}


def own_backend(
    device: Device, model: Architecture, layer: object, forced: str | None
) -> tuple[str, str] | None:
    """The backend a layer's own code takes past the selector, and why; None for the others.

    Raises InputError where the release has none for such layers.
    """
    major = 9 if device.platform == "rocm" else int(device.capability.partition(".")[0])
    if isinstance(layer, CompressedAttention):
        return _compressed(device, layer, forced, major)
    if isinstance(layer, Attention) and layer.v_head_dim != layer.head_dim:
        return _diff_kv(device, layer, forced, major)
    if isinstance(layer, Attention) and layer.indexer is not None:
        for name, types in (("MINIMAX_M3_SPARSE", "minimax"), ("STEP5_DSA", "step")):
            if model.model_type.startswith(types):
                return _known(device, name), "the model's sparse layers bring their own backend"
    return None


def _known(device: Device, name: str) -> str:
    if name in device.members:
        return name
    raise InputError(
        f"vllm {device.name} has no backend for these layers", hint=f"{name} came later"
    )


def _compressed(
    device: Device, layer: CompressedAttention, forced: str | None, major: int
) -> tuple[str, str]:
    suffix = "DSV41" if layer.version == "v4.1" else "DSV4"
    why = "DeepSeek V4's layers choose their backend themselves"
    if device.platform == "rocm":
        return _known(device, f"ROCM_FLASHMLA_SPARSE_{suffix}"), why
    flashinfer, flashmla = f"FLASHINFER_MLA_SPARSE_{suffix}", f"FLASHMLA_SPARSE_{suffix}"
    if forced in (flashinfer, "FLASHINFER_MLA_SPARSE_DSV4") or (forced is None and major == 12):
        return _known(device, flashinfer), why
    if forced == "FLASHMLA_MEGA_ATTN_DSV41" and layer.version == "v4.1":
        return _known(device, forced), why
    if f"FLASHMLA_SPARSE_{suffix}" not in device.members and device.version >= (0, 20):
        raise InputError(
            f"vllm {device.name} names no backend for DeepSeek V4's layers",
            hint="they take FlashMLA's sparse kernels; the backend has a name from 0.24",
        )
    return _known(device, flashmla), why


def _diff_kv(
    device: Device, layer: Attention, forced: str | None, major: int
) -> tuple[str, str] | None:
    """Keys and values of different widths: FlashAttention 3 or 4, else Triton (``mimo_v2.py``)."""
    why = "keys and values differ in width: the layer takes a backend for that"
    if forced and forced.endswith("_DIFFKV"):
        return _known(device, forced), why
    if not device.members.get("FLASH_ATTN_DIFFKV"):
        return None
    from kvgate.attention.query import Query
    from kvgate.attention.vllm.flash import flash_attention_version

    if device.platform == "rocm":
        return _known(device, "TRITON_ATTN_DIFFKV"), why
    minor = int(device.capability.partition(".")[2])
    version = flash_attention_version(
        device,
        Query(sm=(major, minor), head_size=layer.head_dim),
        head_size=layer.head_dim,
        head_size_v=layer.v_head_dim,
        sinks=layer.sinks,
    )
    if version in (3, 4) or not device.members.get("TRITON_ATTN_DIFFKV"):
        return "FLASH_ATTN_DIFFKV", why
    return "TRITON_ATTN_DIFFKV", why


def stored_as(device: Device, name: str, kv_cache_dtype: str) -> str:
    """The KV dtype the layer stores once this backend is chosen (``mla_attention.py``, 0.18)."""
    if device.version < (0, 18):
        return kv_cache_dtype
    if name == "FLASHMLA_SPARSE" and kv_cache_dtype in device.quantized:
        return kv_cache_dtype if kv_cache_dtype == "nvfp4_ds_mla" else "fp8_ds_mla"
    if name == "FLASHINFER_MLA_SPARSE_SM120" and kv_cache_dtype in ("auto", "fp8", "fp8_e4m3"):
        return "fp8_ds_mla"
    return kv_cache_dtype
