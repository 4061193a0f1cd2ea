"""What a family's layers are made of that its config does not say: gates, norms, biases, names."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EXTRA", "HABITS", "Habits"]


@dataclass(frozen=True, slots=True)
class Habits:
    """What weights are counted by.

    ``matrices`` of a feed-forward part (3 with a gate), ``norms`` of model width in a layer,
    ``bias`` on projections and feed-forward, ``qk_norm`` per ``head`` or over ``all``, ``gate`` on
    attention's output per ``query`` element or ``head``. ``names`` are the checkpoint's modules of
    dense, expert and shared feed-forward parts, ``prefix`` that of attention and ``state`` that of
    state layers; ``positions`` are learned.
    """

    matrices: int = 3
    norms: int = 2
    qkv_bias: bool = False
    bias: bool = False
    qk_norm: str = ""
    gate: str = ""
    names: tuple[str, str, str] = ("mlp", "mlp.experts", "mlp.shared_experts")
    state: str = "linear_attn"
    prefix: str = "self_attn"
    positions: bool = False


_ONE_SHARED = ("mlp", "mlp.experts", "mlp.shared_expert")
_BLOCK = ("mlp", "block_sparse_moe.experts", "block_sparse_moe.shared_experts")
_FORWARD = ("feed_forward", "feed_forward.experts", "feed_forward.shared_expert")
_MIXER = ("mixer", "mixer.experts", "mixer.shared_experts")

# A family that is not here is not counted: kvgate says so, and does not guess.
_FAMILIES: tuple[tuple[Habits, tuple[str, ...]], ...] = (
    (
        Habits(),
        (
            "Yi", "aquila", "axk1", "baichuan", "bailing_moe", "bailing_moe_v2", "cwm", "deepseek",
            "deepseek_v2", "deepseek_v3", "deepseek_v32", "dots1", "ernie4_5", "ernie4_5_moe",
            "ernie4_5_vl_moe_text", "exaone", "exaone_moe", "gemma", "glm", "glm4", "glm4_moe",
            "glm4_moe_lite", "glm4v_moe_text", "glm4v_text", "glm_moe_dsa", "granite",
            "granite_swa", "helium", "hunyuan", "hunyuan_v1_dense", "hunyuan_v1_moe", "internlm",
            "internlm2", "internlm3", "iquestcoder", "kimi_k2", "llama", "longcat_flash",
            "mimo_v2", "mimo_v2_flash", "minicpm", "minicpm3", "ministral", "ministral3",
            "mistral", "mistral4", "mllama_text_model", "nemotron-nas", "olmo", "olmo_hybrid",
            "orion", "phi3", "phi3_v", "phi4mm", "seed_oss", "smollm3", "solar", "solar_open",
            "stablelm", "step1", "step3_text", "telechat2", "telechat3", "xverse", "youtu",
            "aria_text", "axk2", "bailing_moe_linear", "deepseek_ocr2_text", "diffllama",
            "dots3_note", "dots3_note_text", "glm5_next_text", "granite4_vision_text",
            "granite_docling_text", "iquest_loopcoder", "iquestloopcoder", "mistral_large4_text",
            "nanbeige", "paddleocr_vl_text", "sarvam_mla", "sarvam_moe", "step5",
            "unlimited_ocr_text", "vaultgemma", "voxtral_realtime_text",
        ),
    ),
    (
        Habits(qkv_bias=True),
        (
            "chatglm", "dots_ocr", "mimo", "qwen", "qwen2", "qwen2_5_omni_text", "qwen2_5_vl",
            "qwen2_5_vl_text", "qwen2_vl", "qwen2_vl_text",
        ),
    ),
    (Habits(qkv_bias=True, names=_ONE_SHARED), ("qwen2_moe",)),
    (
        Habits(qk_norm="head"),
        (
            "exaone4", "exaone4_5_text", "hy_v3", "qwen3", "qwen3_moe", "qwen3_omni_moe_text",
            "qwen3_vl_moe_text", "qwen3_vl_text", "inkling_model", "inkling_text", "k2_horizon",
            "kolibri1", "mellum",
        ),
    ),
    (Habits(qk_norm="head", gate="head", names=_ONE_SHARED), ("laguna",)),
    (Habits(qk_norm="head", names=_ONE_SHARED), ("flint", "lara_mini")),
    (Habits(gate="head"), ("hy_v4", "hy_v4_vl_text")),
    (Habits(gate="query"), ("hrm_text",)),
    (
        Habits(qk_norm="head", gate="query", names=_ONE_SHARED),
        ("qwen3_5", "qwen3_5_moe", "qwen3_5_moe_text", "qwen3_5_text", "qwen3_next"),
    ),
    (Habits(qk_norm="all"), ("flex_olmo", "olmo2", "olmo3", "olmoe")),
    (
        Habits(names=_BLOCK),
        (
            "granitemoe", "granitemoe_swa", "granitemoeshared", "kimi_linear", "minimax",
            "minimax_m1", "minimax_text_01", "mixtral", "phimoe",
        ),
    ),
    (Habits(qk_norm="all", names=_BLOCK), ("minimax_m2",)),
    (Habits(qk_norm="head", names=_BLOCK), ("minimax_m3", "minimax_m3_text", "minimax_m3_vl_text")),
    (Habits(names=("ffn", "ffn.experts", "ffn.shared_experts")), ("deepseek_ref", "deepseek_v4")),
    (Habits(bias=True, qkv_bias=True), ("gpt_oss",)),
    (Habits(norms=4), ("bitnet", "gemma2", "glm_ocr_text", "hyperclovax", "ouro")),
    (Habits(norms=4, gate="query"), ("muse_glimmer_text",)),
    (Habits(norms=4, qk_norm="head"), ("molmo2_text", "plamo3")),
    (Habits(norms=4, qk_norm="head"), ("gemma3_text",)),
    (
        Habits(norms=4, qk_norm="head", names=("mlp", "experts", "mlp")),
        ("gemma4_text", "gemma4_unified_text"),
    ),
    (Habits(norms=1), ("cohere", "cohere2", "cohere2_moe", "cohere_compass_text")),
    (Habits(names=_FORWARD), ("llama4_text",)),
    (Habits(qk_norm="head", names=("mlp", "moe", "share_expert")), ("step3p5", "step3p7")),
    (Habits(gate="query"), ("bailing_hybrid",)),
    (Habits(norms=4, qk_norm="head", gate="query"), ("afmoe", "beam")),
    (
        Habits(matrices=2, norms=1, prefix="mixer", state="mixer", names=_MIXER),
        ("nemotron_h", "nemotron_h_puzzle"),
    ),
    (Habits(norms=1, state="mixer"), ("falcon_mamba", "mamba", "mamba2")),
    (Habits(state="mamba", names=_FORWARD), ("bamba", "falcon_h1", "jamba")),
    (Habits(state="mamba", names=_BLOCK), ("granitemoehybrid",)),
    (Habits(qk_norm="head", names=_FORWARD), ("lfm2", "lfm2_moe")),
    (Habits(norms=4, qk_norm="head", gate="head", names=_FORWARD), ("lfm3",)),
    (
        Habits(matrices=2),
        ("arcee", "cosmos3_edge_text", "gpt_neox_japanese", "mpt", "nanochat", "nemotron"),
    ),
    (Habits(matrices=2, qk_norm="head"), ("apertus", "apertus1p5_text")),
    (Habits(matrices=2, norms=1, bias=True), ("codegen",)),
    (Habits(matrices=2, bias=True, positions=True), ("gpt_neo",)),
    (Habits(matrices=2, bias=True, qkv_bias=True, qk_norm="head"), ("persimmon",)),
    (Habits(matrices=2, norms=1), ("falcon",)),
    (
        Habits(matrices=2, bias=True, qkv_bias=True),
        ("bloom", "gpt_neox", "gptj", "jais2", "phi", "phi-msft", "starcoder2", "xglm"),
    ),
    (
        Habits(matrices=2, bias=True, qkv_bias=True, positions=True),
        ("biogpt", "gpt2", "gpt_bigcode", "openai-gpt", "opt"),
    ),
)  # fmt: skip

HABITS: dict[str, Habits] = {name: habits for habits, names in _FAMILIES for name in names}

# What a counted family has besides, and the count leaves out.
EXTRA = {
    "deepseek_ref": "hyper-connection weights",
    "deepseek_v4": "hyper-connection weights",
    "hy_v4": "hyper-connection weights",
    "hy_v4_vl_text": "hyper-connection weights",
}
