"""The facts of a config beside its layers: dtype, context, vocabulary, RoPE, quantisation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvgate.architecture.config import ALIASES, Config, quoted
from kvgate.architecture.family import Family
from kvgate.architecture.quantization import quantization
from kvgate.architecture.wrappers import Inside

__all__ = ["facts"]

_DTYPES = {
    "float32": "float32", "float": "float32", "fp32": "float32",
    "bfloat16": "bfloat16", "bf16": "bfloat16", "float16": "float16", "half": "float16",
    "fp16": "float16",
}  # fmt: skip
_MODALITIES = (
    "vision_config", "audio_config", "vit_config", "visual", "vision_tower", "mm_vision_tower",
    "thinker_config", "vision_n_layers", "embd_layer", "audio_encoder_config", "encoder_config",
)  # fmt: skip
_SECTIONS = ("quantization_config", "compression_config")
_ROTARY = ("rope_scaling", "rope_parameters")
_MM_PREFIX = frozenset({"bagel", "gemma3", "molmo2", "moondream3", "paligemma"})


# Families whose config class ties the embeddings where a file does not say (transformers 5.24.0).
_TIED = frozenset(
    {
        "biogpt", "bloom", "cohere", "cohere2", "cohere2_moe", "cohere_compass_text", "ctrl",
        "diffusion_gemma_text", "ernie4_5", "ernie4_5_moe", "ernie4_5_vl_moe_text", "falcon",
        "falcon_mamba", "gemma", "gemma2", "gemma3_text", "gemma3n_text", "gemma4_text",
        "gemma4_unified_text", "gpt2", "gpt_bigcode", "gpt_neo", "gpt_neox_japanese",
        "granite_docling_text", "granite_swa", "hunyuan_vl_text", "jetmoe", "lara_mini", "lfm2",
        "lfm2_moe", "lfm3", "mamba", "minicpm3", "modernbert-decoder", "mpt", "openai-gpt", "opt",
        "paddleocr_vl_text", "plamo3", "qwen3_vl_moe_text", "smollm3", "starcoder2", "vaultgemma",
        "voxtral_realtime_text", "xglm", "youtu", "zamba2",
    }
)  # fmt: skip


def facts(
    text: Config,
    whole: Mapping[str, Any],
    inside: Inside,
    family: Family,
    hf_quant_config: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Keyword arguments of `Architecture` that are no layers."""
    top = Config(whole, problems=text.problems)
    named = top.items("architectures") or []
    for config, keys in ((top, _SECTIONS), (text, _ROTARY)):
        for key in keys:
            value = config.data.get(key)
            if value is not None and not isinstance(value, Mapping):
                config.problem(f"{config.name(key)} must be an object, not {quoted(value)}")
            elif key == "quantization_config" and value:
                Config(value, path=f"{key}.", problems=text.problems).text("quant_method")
    return {
        "architectures": tuple(name for name in named if isinstance(name, str)),
        "hidden_size": text.need("hidden_size", most=2**24),
        "vocab_size": text.whole("vocab_size", most=2**32),
        "query_heads": text.whole("num_attention_heads", least=0, most=65_536) or 0,
        "dtype": _dtype(top, text),
        "max_position_embeddings": _longest(text),
        "tie_word_embeddings": _tied(top, text, inside.model_type),
        "multimodal": any(whole.get(key) for key in _MODALITIES),
        "mm_prefix": _mm_prefix(top, text, inside),
        "quantization": quantization(whole, text.data, hf_quant_config),
        "rope": _rope(text),
    }


def _longest(text: Config) -> int | None:
    """The smallest of the keys for it, and Cohere's ``model_max_length`` before all of them."""
    own = text.whole("max_position_embeddings")
    found: dict[str, int] = {}
    for key in ("max_position_embeddings", *ALIASES["max_position_embeddings"]):
        value = text.data.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**40:
            found[key] = value
    return found.get("model_max_length") or min(found.values(), default=own)


def _dtype(top: Config, text: Config) -> str | None:
    for config in (top, text):
        for key in ("dtype", "torch_dtype"):
            said = config.text(key)
            if said is None or said == "auto":
                continue
            name = said.removeprefix("torch.")
            if name not in _DTYPES:
                config.problem(f"{config.name(key)}={said} is not a dtype a model is run in")
                return None
            return _DTYPES[name]
    return None


def _tied(top: Config, text: Config, model_type: str) -> bool:
    if text.data.get("tie_word_embeddings") is not None:
        return text.flag("tie_word_embeddings")
    if top.data.get("tie_word_embeddings") is not None:
        return top.flag("tie_word_embeddings")
    return model_type in _TIED


def _mm_prefix(top: Config, text: Config, inside: Inside) -> bool:
    """Image tokens that see each other: vLLM 0.33.0's rule (is_mm_prefix_lm)."""
    if "is_mm_prefix_lm" in top.data:
        return top.flag("is_mm_prefix_lm")
    if inside.outer_type.startswith(("gemma4", "diffusion_gemma")):
        return text.text("use_bidirectional_attention") == "vision"
    if inside.outer_type.startswith("deepseek_v4"):
        return bool(top.whole("vision_n_layers", least=0))
    return inside.outer_type in _MM_PREFIX


def _rope(text: Config) -> tuple[tuple[str, object], ...]:
    """Type, factor and original length where the config scales RoPE, empty where it does not."""
    for key in ("rope_scaling", "rope_parameters"):
        value = text.data.get(key)
        if not isinstance(value, Mapping):
            continue
        parts = value.values() if all(isinstance(v, Mapping) for v in value.values()) else [value]
        for part in parts:
            kind = part.get("rope_type") or part.get("type")
            if not isinstance(kind, str) or kind in ("default", "mrope"):
                continue
            found: dict[str, object] = {"type": kind}
            for name in ("factor", "original_max_position_embeddings"):
                number = part.get(name, text.data.get(name))
                if isinstance(number, int | float) and not isinstance(number, bool):
                    found |= {name: number} if 0 < number < 2**53 else {}
            return tuple(found.items())
    return ()
