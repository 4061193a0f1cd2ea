"""Full attention: MHA, GQA and MQA, with keys and values of equal or different width."""

from __future__ import annotations

from collections.abc import Sequence

from kvgate.architecture.config import Config
from kvgate.architecture.family import Family, Types, defaults
from kvgate.architecture.heads import (
    GEOMETRY,
    MOST_HEADS,
    attention,
    floored,
    kept,
    query_heads,
    renamed,
)
from kvgate.architecture.layers import NoCache
from kvgate.architecture.layout import Kept, Layout, by_type, uniform
from kvgate.architecture.sliding import sliding_by_type

__all__ = ["TYPES", "full"]


def full(config: Config) -> Layout:
    """Every layer attends to every token.

    A ``layer_types`` list that newer files write out is honoured: its sliding entries slide.
    """
    layers = config.layers()
    types = config.words("layer_types", at_least=layers)
    if types is not None:
        return sliding_by_type(config, types[:layers])
    layer = attention(config)
    return uniform(layers, layer, (*config.why("num_hidden_layers"), *config.why(*GEOMETRY)))


def _full(config: Config, kv_heads: int, why: Sequence[str]) -> Layout:
    """Every layer with a head count that another key gave, named by ``why``."""
    layer = attention(config, kv_heads=kv_heads)
    geometry = config.why("num_attention_heads", "head_dim")
    return uniform(config.layers(), layer, (*why, *geometry))


def multi_query(config: Config) -> Layout:
    """StarCoder: MQA where ``multi_query`` is set, MHA where it is not."""
    one = config.flag("multi_query", default=True)
    why = config.why("multi_query") or ("multi_query=true (default)",)
    return _full(config, 1 if one else query_heads(config), why)


def falcon(config: Config) -> Layout:
    """Falcon: with ``new_decoder_architecture`` GQA by ``num_kv_heads``, else ``multi_query``."""
    config.ignore("num_kv_heads", "n_head_kv")
    if config.flag("new_decoder_architecture"):
        config.ignore("multi_query")
        return full(config)
    return multi_query(config)


def refined_web(config: Config) -> Layout:
    """Falcon before it was called so: ``n_head_kv`` where the file has it, else ``multi_query``."""
    count = config.whole("num_key_value_heads", most=MOST_HEADS)
    if count is None:
        return multi_query(config)
    config.ignore("multi_query", "new_decoder_architecture")
    return _full(config, count, config.why("num_key_value_heads"))


def chatglm(config: Config) -> Layout:
    """ChatGLM 2 to 4: ``multi_query_group_num`` KV heads where ``multi_query_attention`` is set."""
    if not config.flag("multi_query_attention"):
        config.ignore("multi_query_group_num")
        return _full(config, query_heads(config), ("multi_query_attention=false",))
    groups = config.need("multi_query_group_num", most=MOST_HEADS)
    return _full(config, groups, config.why("multi_query_attention", "multi_query_group_num"))


def nested_heads(config: Config) -> Layout:
    """DBRX and MPT: the KV head count is in ``attn_config``."""
    inner = config.inner("attn_config")
    if inner is None:
        return full(config)
    if inner.data.get("sliding_window_size", -1) not in (-1, None):
        config.problem(f"{inner.name('sliding_window_size')} is not supported")
    default = 1 if inner.text("attn_type") == "multiquery_attention" else None
    count = inner.whole("kv_n_heads", most=MOST_HEADS, default=default)
    if count is None:
        return full(config)
    return _full(config, count, (f"attn_config.kv_n_heads={count}",))


def grouped(config: Config) -> Layout:
    """Step: KV heads are ``num_attention_groups``; a shared query width changes no cache."""
    config.ignore("share_q_dim")
    if config.data.get("num_key_value_heads") is not None:
        return full(config)
    count = config.need("num_attention_groups", most=MOST_HEADS)
    return _full(config, count, config.why("num_attention_groups"))


def hunyuan(config: Config) -> Layout:
    """Hunyuan: with ``use_cla``, all but each ``cla_share_factor``-th layer reuse its KV."""
    if config.flag("use_mla"):
        config.problem(f"{config.name('use_mla')}=true is not supported in this family")
    layout = full(config)
    if not config.flag("use_cla"):
        config.ignore("cla_share_factor")
        return layout
    factor = config.need("cla_share_factor")
    tail: Kept = ((NoCache("shares-kv"), config.why("use_cla", "cla_share_factor")),)
    return [own if index % factor == 0 else tail for index, own in enumerate(layout)]


def minimax_m2(config: Config) -> Layout:
    """MiniMax-M2: its files may still list an attention type for each layer, all 1 (full)."""
    layers = config.layers()
    codes = config.numbers("attn_type_list", at_least=layers)
    if codes is None:
        return full(config)
    layer = kept(config, attention(config))
    words = [str(code) for code in codes[:layers]]
    return by_type(config, "attn_type_list", words, {"1": lambda: layer})


def jetmoe(config: Config) -> Layout:
    """JetMoE: each of ``num_experts_per_tok`` attention experts has a query head per KV head."""
    if config.data.get("num_attention_heads") is None:
        chosen = config.whole("num_experts_per_tok", most=MOST_HEADS, default=2) or 2
        heads = config.need("num_key_value_heads", most=MOST_HEADS) * chosen
        config.fill("num_attention_heads", heads)
    return full(config)


# Moondream 3's text part has names of its own for everything.
_MOONDREAM = {
    "hidden_size": "dim", "num_key_value_heads": "n_kv_heads",
    "max_position_embeddings": "max_context", "intermediate_size": "ff_dim",
}  # fmt: skip


def unlimited_ocr(config: Config) -> Layout:
    """Unlimited-OCR: a window over what was generated, while the whole prompt stays.

    Engines reserve every token for it, and so does kvgate: all of them may be prompt.
    """
    layers = config.layers()
    layer = kept(config, attention(config))
    config.ignore("sliding_window", "rswa_window")
    types = config.words("layer_types", at_least=layers)
    words = ["reference_sliding_attention"] * layers if types is None else types[:layers]
    known = {"reference_sliding_attention": lambda: layer, "full_attention": lambda: layer}
    return by_type(config, "layer_types", words, known)


# KV heads and head width of each type's config class, where released files may leave them out.
_PLAIN: dict[str, tuple[int | None, int | None]] = {
    "aquila": (None, None), "apertus": (None, None), "arcee": (None, None), "arctic": (None, None),
    "aria_text": (None, None), "baichuan": (None, None), "bailing_moe": (None, None),
    "bailing_moe_v2": (None, None), "bitnet": (5, None), "bloom": (None, None),
    "chameleon": (32, None), "codegen": (None, None), "cohere": (None, None),
    "deepseek": (None, None), "emu3_text_model": (8, None), "ernie4_5": (2, 128),
    "ernie4_5_moe": (4, None), "ernie4_5_moe_vl": (4, None), "ernie4_5_vl_moe_text": (4, None),
    "exaone": (None, None), "flex_olmo": (None, None), "fuyu": (None, None), "gemma": (16, 256),
    "glm": (2, 128), "glm4": (2, 128), "glm4v_text": (2, None), "glm_ocr_text": (8, None),
    "gpt2": (None, None),
    "gpt_neox": (None, None), "gptj": (None, None), "granite": (None, None),
    "granite_docling_text": (4, None), "granitemoe": (None, None), "granitemoeshared": (None, None),
    "grok-1": (None, None), "helium": (20, 128), "hy_v3": (8, 128), "hyperclovax": (None, None),
    "internlm": (None, None), "internlm2": (None, None), "internlm3": (2, 128),
    "iquestcoder": (8, 128), "jais": (None, None), "jais2": (None, None), "llama": (None, None),
    "minicpm": (None, None), "molmo": (None, None),
    "molmo2_text": (8, 128),
    "nanochat": (None, None), "nemotron": (None, None), "olmo": (None, None),
    "olmo2": (None, None), "olmoe": (None, None), "opt": (None, None), "orion": (None, None),
    "paddleocr_vl_text": (2, 128), "PanguEmbedded": (None, None),
    "param2moe": (None, None), "persimmon": (None, None),
    "phi": (None, None), "phi-msft": (None, None), "qwen": (None, None), "sarvam_moe": (None, None),
    "seed_oss": (8, 128), "solar_open": (8, 128), "stablelm": (32, None),
    "stablelm_epoch": (None, None), "telechat": (None, None), "telechat2": (None, None),
    "telechat3": (None, None), "teleflm": (None, None), "xverse": (None, None),
    "Yi": (None, None),
    "apertus1p5_text": (None, None), "biogpt": (None, None), "cosmos3_edge_text": (8, 128),
    "ctrl": (None, None), "deepseek_ocr2_text": (None, None), "diffllama": (None, None),
    "git": (None, None), "gpt_neox_japanese": (None, None), "granite4_vision_text": (None, None),
    "openai-gpt": (None, None), "openpangu_vl_text": (None, None),
}  # fmt: skip

_LLAMA = {
    "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
    "intermediate_size": 11008, "max_position_embeddings": 2048, "vocab_size": 32000,
}  # fmt: skip
_NESTED = {
    "llama": _LLAMA,
    "gemma": {"max_position_embeddings": 8192},
}

TYPES: Types = {
    **{
        name: Family(full, defaults(kv_heads, head_dim), nested=_NESTED.get(name, {}))
        for name, (kv_heads, head_dim) in _PLAIN.items()
    },
    "gpt_bigcode": Family(multi_query),
    "falcon": Family(falcon, {"max_position_embeddings": 2048}),
    "RefinedWeb": Family(refined_web),
    "RefinedWebModel": Family(refined_web),
    "chatglm": Family(chatglm),
    "dbrx": Family(nested_heads),
    "mpt": Family(nested_heads),
    "step1": Family(grouped),
    "step3_text": Family(grouped),
    "hunyuan": Family(hunyuan),
    "hunyuan_v1_moe": Family(hunyuan),
    "hunyuan_v1_dense": Family(hunyuan),
    "hunyuan_vl_text": Family(hunyuan),
    "xglm": Family(renamed(full, {"num_attention_heads": "attention_heads"})),
    "jetmoe": Family(jetmoe, defaults(16, 128)),
    "moondream3_text": Family(
        renamed(full, _MOONDREAM),
        {
            "hidden_size": 2048,
            "num_hidden_layers": 24,
            "num_attention_heads": 32,
            "num_key_value_heads": 32,
            "max_position_embeddings": 4096,
            "vocab_size": 51200,
        },
    ),
    "unlimited_ocr_text": Family(
        unlimited_ocr,
        notes=("it forgets generated tokens beyond its window; sized as if all were prompt",),
    ),
    "glm4_moe": Family(floored(full), defaults(8)),
    "glm4v_moe_text": Family(floored(full), defaults(8)),
    "minimax_m2": Family(minimax_m2, defaults(8, 128), draft=("num_mtp_modules",)),
}
