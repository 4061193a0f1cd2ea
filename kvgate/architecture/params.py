"""Mistral's own ``params.json`` as the ``config.json`` that it stands for.

The names are mapped as vLLM 0.33.0 maps them (transformers_utils/configs/mistral.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvgate.architecture.config import MOST_LAYERS
from kvgate.errors import InputError

__all__ = ["from_params", "is_params"]

_NAMES = {
    "dim": "hidden_size", "norm_eps": "rms_norm_eps", "n_kv_heads": "num_key_value_heads",
    "n_layers": "num_hidden_layers", "n_heads": "num_attention_heads",
    "hidden_dim": "intermediate_size", "tied_embeddings": "tie_word_embeddings",
    "activation": "hidden_act",
}  # fmt: skip
_EXPERTS = {
    "route_every_n": "moe_layer_freq", "first_k_dense_replace": "first_k_dense_replace",
    "num_experts_per_tok": "num_experts_per_tok", "num_experts": "n_routed_experts",
    "expert_hidden_dim": "moe_intermediate_size", "num_shared_experts": "n_shared_experts",
}  # fmt: skip
# What vLLM takes where the file gives no length.
_LONGEST = 128_000


def is_params(config: Mapping[str, Any]) -> bool:
    """Whether this is a ``params.json`` and no ``config.json``."""
    return "dim" in config and "n_layers" in config and "num_hidden_layers" not in config


def from_params(params: Mapping[str, Any], *, id: str) -> dict[str, Any]:  # noqa: A002 - as parse
    """The same model in transformers' words. Raises InputError for what is not read."""
    if params.get("model_type") == "mamba":
        raise InputError(f"{id}: a Mamba model's params.json is not read; pass its config.json")
    out = {_NAMES.get(key, key): value for key, value in params.items()}
    beside = {key: out.pop(key, None) for key in ("multimodal", "vision_encoder", "moe")}
    out.setdefault("max_position_embeddings", out.get("max_seq_len") or _LONGEST)
    out.pop("max_seq_len", None)
    out.setdefault("tie_word_embeddings", False)
    _window(out, id)
    _quantization(out, id)
    experts = beside["moe"] if isinstance(beside["moe"], Mapping) else {}
    if out.get("qk_nope_head_dim"):
        out["model_type"] = "deepseek_v3"
        out |= {_EXPERTS[key]: value for key, value in experts.items() if key in _EXPERTS}
        out["architectures"] = ["MistralLarge3ForCausalLM" if experts else "MistralForCausalLM"]
    elif experts:
        out |= {"model_type": "mixtral", "architectures": ["MixtralForCausalLM"]}
        out["num_local_experts"] = experts.get("num_experts")
        out["num_experts_per_tok"] = experts.get("num_experts_per_tok")
    else:
        out |= {"model_type": "mistral", "architectures": ["MistralForCausalLM"]}
    return _wrapped(out, beside)


def _window(out: dict[str, Any], name: str) -> None:
    """A list of windows, one a layer or a pattern, becomes ``layer_types`` and one window."""
    windows = out.setdefault("sliding_window", None)
    if not isinstance(windows, list):
        return
    given = out.get("num_hidden_layers")
    layers = given if isinstance(given, int) and 0 < given <= MOST_LAYERS else 0
    sizes = {size for size in windows if isinstance(size, int)}
    odd = len(sizes) > 1 or any(size is not None and size not in sizes for size in windows)
    if odd or not windows or not layers or layers % len(windows):
        raise InputError(f"{name}: sliding_window={windows} is no pattern of one window")
    pattern = ["full_attention" if size is None else "sliding_attention" for size in windows]
    out["layer_types"] = pattern * (layers // len(windows))
    out["sliding_window"] = next(iter(sizes), None)


def _quantization(out: dict[str, Any], name: str) -> None:
    said = out.pop("quantization", None)
    if not said:
        return
    if isinstance(said, Mapping) and said.get("qformat_weight") == "fp8_e4m3":
        out["quantization_config"] = {"quant_method": "fp8"}
        return
    method = str(said.get("quant_method", "")) if isinstance(said, Mapping) else ""
    if method.lower().replace("_", "-") != "compressed-tensors":
        raise InputError(f"{name}: quantization={said} is none that kvgate knows in a params.json")
    out["quantization_config"] = {**said, "quant_method": "compressed-tensors"}


def _wrapped(text: dict[str, Any], beside: Mapping[str, Any]) -> dict[str, Any]:
    """The text model inside a vision or audio model, where the file describes one."""
    parts = beside["multimodal"] if isinstance(beside["multimodal"], Mapping) else {}
    vision = parts.get("vision_encoder_args") or beside["vision_encoder"]
    audio = parts.get("whisper_model_args")
    if not vision and not audio:
        return text
    out: dict[str, Any] = {"text_config": text}
    if "quantization_config" in text:
        out["quantization_config"] = text["quantization_config"]
    if vision:
        tower = {**vision, "model_type": "pixtral"} if isinstance(vision, Mapping) else vision
        out |= {"model_type": "mistral3", "vision_config": tower}
        return {**out, "architectures": ["PixtralForConditionalGeneration"]}
    out |= {"model_type": "voxtral", "audio_config": audio}
    return {**out, "architectures": ["VoxtralForConditionalGeneration"]}
