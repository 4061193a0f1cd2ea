"""Vision-language and other wrappers: where in the config the text model is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kvgate.architecture.config import ALIASES
from kvgate.architecture.table import TYPES, UNSIZED
from kvgate.errors import InputError, nearest

__all__ = ["WRAPPERS", "Inside", "Wrapper", "unwrap"]


@dataclass(frozen=True, slots=True)
class Wrapper:
    """Where a wrapper keeps its text model.

    ``text`` is the type of a text part that names none. ``flat`` says that files of this type also
    exist that are the text model themselves; ``defaults`` that the files leave keys of the text
    part to its class's defaults.
    """

    keys: tuple[str, ...] = ("text_config",)
    text: str = ""
    flat: bool = False
    defaults: bool = False


@dataclass(frozen=True, slots=True)
class Inside:
    """The text part of a config: the mapping, the path to it, and its model type."""

    text: Mapping[str, Any]
    path: str
    model_type: str
    outer_type: str
    wrapped: bool
    defaults: bool


# A file that is the text model itself counts its layers.
_LAYER_COUNTS = ("num_hidden_layers", *ALIASES["num_hidden_layers"])
_LLM = ("llm_config", "text_config")

WRAPPERS: dict[str, Wrapper] = {
    **{name: Wrapper(text="llama", defaults=True) for name in (
        "llava", "llava_next", "llava_next_video", "llava_onevision", "video_llava", "vipllava",
        "bunny-llama", "tarsier",
    )},
    **{name: Wrapper(text="mistral", defaults=True) for name in (
        "mistral3", "idefics2", "pixtral_hf", "lightonocr", "lighton_ocr",
    )},
    **{name: Wrapper(text="llama", defaults=True) for name in (
        "idefics3", "smolvlm", "aria", "fuyu_hf", "voxtral", "ultravox", "granite_vision",
    )},
    "voxtral_realtime": Wrapper(text="voxtral_realtime_text", defaults=True),
    "mistral_large4": Wrapper(text="mistral_large4_text"),
    "paligemma": Wrapper(text="gemma", defaults=True),
    "gemma3": Wrapper(text="gemma3_text", flat=True, defaults=True),
    "shieldgemma2": Wrapper(text="gemma3_text", defaults=True),
    "gemma3n": Wrapper(text="gemma3n_text", defaults=True),
    "gemma4": Wrapper(text="gemma4_text"),
    "gemma4_unified": Wrapper(text="gemma4_unified_text"),
    "diffusion_gemma": Wrapper(text="diffusion_gemma_text"),
    "llama4": Wrapper(text="llama4_text"),
    "mllama": Wrapper(text="mllama_text_model"),
    "qwen2_vl": Wrapper(text="qwen2_vl_text", flat=True),
    "qwen2_5_vl": Wrapper(text="qwen2_5_vl_text", flat=True),
    "qwen2_audio": Wrapper(text="qwen2", defaults=True),
    "qwen2_5_omni": Wrapper(("thinker_config",), text="qwen2_5_omni_thinker"),
    "qwen2_5_omni_thinker": Wrapper(text="qwen2_5_omni_text"),
    "qwen3_omni_moe": Wrapper(("thinker_config",), text="qwen3_omni_moe_thinker"),
    "qwen3_omni_moe_thinker": Wrapper(text="qwen3_omni_moe_text"),
    # transformers 5 writes the text part itself where released files have a thinker.
    "qwen3_asr": Wrapper(("thinker_config", "text_config"), text="qwen3_asr_thinker"),
    "qwen3_asr_thinker": Wrapper(text="qwen3"),
    "qwen3_vl": Wrapper(text="qwen3_vl_text"),
    "qwen3_vl_moe": Wrapper(text="qwen3_vl_moe_text"),
    "qwen3_5": Wrapper(text="qwen3_5_text", flat=True),
    "qwen3_5_moe": Wrapper(text="qwen3_5_moe_text", flat=True),
    "qwen4_exp": Wrapper(text="qwen4_exp_text"),
    "glm4v": Wrapper(text="glm4v_text"),
    "glm4v_moe": Wrapper(text="glm4v_moe_text"),
    "glm46v": Wrapper(text="glm4v_moe_text"),
    "glm_ocr": Wrapper(text="glm_ocr_text"),
    "glm5_next": Wrapper(text="glm5_next_text"),
    "kimi_k25": Wrapper(text="deepseek_v3"),
    "kimi_vl": Wrapper(text="deepseek_v3"),
    "kimi_k3": Wrapper(text="kimi_linear"),
    "deepseek_v41": Wrapper(text="deepseek_v41", flat=True),
    "deepseek_vl_v2": Wrapper(("language_config", "text_config"), text="deepseek_v2"),
    "deepseekocr": Wrapper(("language_config",), text="deepseek_v2"),
    "minimax_m3_vl": Wrapper(text="minimax_m3_text"),
    "minimax_vl_01": Wrapper(text="minimax_text_01"),
    **dict.fromkeys(("lfm2_vl", "lfm2-vl"), Wrapper(text="lfm2")),
    "lfm3_vl": Wrapper(text="lfm3"),
    "internvl": Wrapper(text="qwen2"),
    "internvl_chat": Wrapper(_LLM),
    "h2ovl_chat": Wrapper(_LLM),
    "NVLM_D": Wrapper(_LLM),
    "nemotron_vl": Wrapper(_LLM),
    "Llama_Nemotron_Nano_VL": Wrapper(_LLM),
    "NemotronH_Nano_VL_V2": Wrapper(_LLM, text="nemotron_h"),
    "nemotron_h_nano_vl_v2": Wrapper(_LLM, text="nemotron_h"),
    "nemotron_h_omni": Wrapper(("text_config", "llm_config"), text="nemotron_h"),
    "skywork_chat": Wrapper(_LLM),
    "ovis": Wrapper(("llm_config", "text_config")),
    "ovis2": Wrapper(text="qwen2"),
    "ovis2_5": Wrapper(("llm_config", "text_config")),
    "interns1": Wrapper(text="qwen3"),
    "keye": Wrapper(text="qwen3", flat=True),
    "step3_vl": Wrapper(text="step3_text"),
    "step3p7": Wrapper(text="step3p5", flat=True),
    "step_robotics": Wrapper(text="qwen3"),
    "cohere2_vision": Wrapper(text="cohere2"),
    "aya_vision": Wrapper(text="cohere2"),
    "exaone4_5": Wrapper(text="exaone4"),
    "hunyuan_vl": Wrapper(text="hunyuan_vl_text", flat=True),
    "paddleocr_vl": Wrapper(text="paddleocr_vl_text", flat=True),
    "ernie4_5_vl_moe": Wrapper(text="ernie4_5_vl_moe_text", flat=True),
    "emu3": Wrapper(text="emu3_text_model"),
    "janus": Wrapper(text="llama", defaults=True),
    "granite_speech": Wrapper(text="granite", defaults=True),
    "granite_speech_plus": Wrapper(text="granite", defaults=True),
    "granite4_vision": Wrapper(text="granite4_vision_text"),
    "granite_docling": Wrapper(text="granite_docling_text"),
    "muse_glimmer": Wrapper(text="muse_glimmer_text"),
    "muse_spark": Wrapper(text="muse_spark_text"),
    "molmo2": Wrapper(text="molmo2_text"),
    "bagel": Wrapper(_LLM, text="qwen2"),
    "got_ocr2": Wrapper(text="qwen2"),
    "perception_lm": Wrapper(text="llama", defaults=True),
    "audioflamingo3": Wrapper(text="qwen2"),
    "musicflamingo": Wrapper(text="qwen2"),
    "mimo_v2_omni": Wrapper(text="mimo_v2", flat=True),
    "dots3_note": Wrapper(text="dots3_note_text", flat=True),
    **dict.fromkeys(("inkling", "inkling_mm_model"), Wrapper(text="inkling_text")),
    **dict.fromkeys(("Keye", "KeyeVL1_5"), Wrapper(text="qwen3", flat=True)),
    "intern_s2_preview": Wrapper(text="qwen3_5_moe_text"),
    "kanana-1.5-v": Wrapper(text="llama", defaults=True),
    "llava_onevision2": Wrapper(text="qwen3"),
    "eagle_2_5_vl": Wrapper(text="qwen2"),
    "openpangu_vl": Wrapper(text="openpangu_vl_text"),
    "vlm": Wrapper(text="hyperclovax", defaults=True),
    "moss_audio": Wrapper(("language_config",), text="qwen3"),
    "opencua": Wrapper(text="qwen2", defaults=True),
    "phi4-siglip": Wrapper(text="phi3", flat=True),
    "alpamayo2_super": Wrapper(text="qwen3_vl_text"),
    "apertus1p5": Wrapper(text="apertus1p5_text"),
    "bailing_moe_v3_vl": Wrapper(text="bailing_hybrid"),
    "cohere_compass": Wrapper(text="cohere_compass_text"),
    "cosmos3_edge": Wrapper(text="cosmos3_edge_text"),
    "cosmos3_omni": Wrapper(text="qwen3_vl_text"),
    "deepseek_ocr2": Wrapper(("language_config", "text_config"), text="deepseek_ocr2_text"),
    "deepseek_vl": Wrapper(("language_config", "text_config"), text="llama", defaults=True),
    "deepseek_vl_hybrid": Wrapper(text="llama", defaults=True),
    "fast_vlm": Wrapper(text="qwen2", defaults=True),
    "funaudiochat": Wrapper(text="qwen2", defaults=True),
    "glmasr": Wrapper(text="llama", defaults=True),
    "glmga": Wrapper(text="glm4v_text"),
    "hy_v4_vl": Wrapper(text="hy_v4_vl_text"),
    "hyperclovax_vision_v2": Wrapper(text="hyperclovax", defaults=True),
    "isaac": Wrapper(text="qwen3", flat=True),
    "midashenglm": Wrapper(text="qwen2_5_omni_text"),
    "moondream3": Wrapper(text="moondream3_text"),
    "moss_transcribe_diarize": Wrapper(text="qwen3", flat=True),
    "openvla": Wrapper(text="llama", defaults=True),
    "pp_chart2table": Wrapper(text="qwen2"),
    **dict.fromkeys(("fun_asr_nano", "qianfan_ocr"), Wrapper(text="qwen3")),
    "nemo_speechlm": Wrapper(text="nemotron_h"),
    "omniasr": Wrapper(text="llama", defaults=True),
    "step5_vl": Wrapper(text="step5"),
    **dict.fromkeys(
        ("unlimited-ocr", "unlimited_ocr"),
        Wrapper(("language_config", "text_config"), text="unlimited_ocr_text"),
    ),
    "vibevoice_asr": Wrapper(text="qwen2", defaults=True),
    "video_llama_3": Wrapper(text="qwen2", defaults=True),
    **dict.fromkeys(("blip-2", "instructblip", "instructblipvideo"), Wrapper(text="opt")),
    **dict.fromkeys(
        ("colqwen3", "ops_colqwen3", "qwen3_vl_nemotron_embed"), Wrapper(text="qwen3_vl_text")
    ),
    **dict.fromkeys(
        ("minicpm_ocr", "minicpmv4_6", "minicpmv4_7"), Wrapper(text="qwen3_5_text")
    ),
    "eagle": Wrapper(("model",)),
    "speculators": Wrapper(("transformer_layer_config",), text="llama"),
}  # fmt: skip


def unwrap(config: Mapping[str, Any], *, name: str) -> Inside:
    """Follow the wrappers to the text model; InputError where one is unknown or empty."""
    outer = model_type = _type(config, "", name)
    found: Mapping[str, Any] = config
    path, defaults = "", False
    for _ in range(4):
        wrapper = WRAPPERS.get(model_type) or _bare(found, model_type)
        if wrapper is None:
            break
        key = next((at for at in wrapper.keys if found.get(at) is not None), None)
        if key is None:
            if wrapper.flat and any(found.get(at) is not None for at in _LAYER_COUNTS):
                model_type = model_type if model_type in TYPES else wrapper.text
                break
            raise InputError(
                f"{name}: {path}{wrapper.keys[0]} is missing, where model_type {model_type!r} "
                "keeps its text model",
                hint="pass the whole config.json",
            )
        inner = found[key]
        if not isinstance(inner, Mapping):
            raise InputError(f"{name}: {path}{key} must be an object, not {type(inner).__name__}")
        path, found = f"{path}{key}.", inner
        defaults = defaults or wrapper.defaults
        inside = _type(inner, path, name, default=wrapper.text)
        # A text part that repeats its wrapper's name is the text model.
        model_type = wrapper.text if inside == model_type and model_type not in TYPES else inside
        if not model_type:
            raise InputError(
                f"{name}: {path}model_type repeats {inside!r}, which keeps its text model inside",
                hint="name the text part's own model_type, such as llama or qwen2",
            )
        if inside == outer and model_type in TYPES:
            break
    return Inside(found, path, model_type, outer, bool(path), defaults)


def _bare(config: Mapping[str, Any], model_type: str) -> Wrapper | None:
    """A text model's type on a file that has no layers of its own, but a text part."""
    if config.get("num_hidden_layers") is None and isinstance(config.get("text_config"), Mapping):
        return Wrapper(text=model_type)
    return None


def _type(config: Mapping[str, Any], path: str, name: str, default: str = "") -> str:
    value = config.get("model_type")
    if "speculators_model_type" in config and "transformer_layer_config" in config:
        return "speculators"
    if value is None or value == "":
        named = config.get("architectures")
        known = _by_architecture(named) if isinstance(named, list) else ""
        if default or known:
            return default or known
        raise InputError(
            f"{name}: {path}model_type is missing",
            hint="every config.json of the transformers library names its model_type",
        )
    if not isinstance(value, str):
        raise InputError(f"{name}: {path}model_type must be a string, not {value!r}")
    if value in UNSIZED:
        raise InputError(f"{name}: {path}model_type {value!r} is not supported: {UNSIZED[value]}")
    if value not in TYPES and value not in WRAPPERS:
        raise InputError(
            f"{name}: unknown {path}model_type {value!r}",
            hint=f"{nearest(value, [*TYPES, *WRAPPERS])} kvgate does not guess what a layer keeps; "
            "a model type is added in kvgate/architecture",
        )
    return value


def _by_architecture(named: list[Any]) -> str:
    """Two families publish files without a model_type; their class name stands in for it."""
    return {
        "LongcatFlashForCausalLM": "longcat_flash",
        "LongcatFlashNgramForCausalLM": "longcat_flash",
    }.get(str(named[0]) if named else "", "")
