"""One small config of each family, with what its layers keep. The figures are the owners'."""

from __future__ import annotations

from typing import Any

import pytest

from kvgate.architecture import Architecture, Attention, parse
from kvgate.errors import InputError

BASE: dict[str, Any] = {
    "vocab_size": 32000,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}
GDN: dict[str, Any] = {
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "linear_value_head_dim": 128,
}
MLA: dict[str, Any] = {
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
}
MAMBA2: dict[str, Any] = {
    "mamba_n_heads": 48,
    "mamba_d_head": 64,
    "mamba_d_state": 128,
    "mamba_d_conv": 4,
    "mamba_expand": 2,
    "mamba_n_groups": 1,
}


def _with(model_type: str, **keys: Any) -> dict[str, Any]:
    return {**BASE, "model_type": model_type, **keys}


def _text(model_type: str, outer: str, key: str = "text_config", **keys: Any) -> dict[str, Any]:
    return {"model_type": outer, key: _with(model_type, **keys), "vision_config": {"depth": 2}}


# name: (config, kinds, head sizes, KV heads)
CASES: dict[str, tuple[dict[str, Any], dict[str, int], dict[int, int], set[int]]] = {
    "a llama without num_key_value_heads has one for each query head": (
        _with("llama"), {"full": 32}, {128: 32}, {32},
    ),
    "a mistral without num_key_value_heads has its class's 8": (
        _with("mistral", sliding_window=None), {"full": 32}, {128: 32}, {8},
    ),
    "a mistral with a window below its context slides": (
        _with("mistral", sliding_window=4096), {"sliding": 32}, {128: 32}, {8},
    ),
    "a window as long as the context does nothing": (
        _with("mistral", sliding_window=131072), {"full": 32}, {128: 32}, {8},
    ),
    "qwen2 slides from max_window_layers on, with its flag": (
        _with("qwen2", num_key_value_heads=8, use_sliding_window=True, sliding_window=4096,
              max_window_layers=28),
        {"full": 28, "sliding": 4}, {128: 32}, {8},
    ),
    "qwen2 without its flag does not slide": (
        _with("qwen2", num_key_value_heads=8, use_sliding_window=False, sliding_window=4096,
              max_window_layers=28),
        {"full": 32}, {128: 32}, {8},
    ),
    "command r7b has one full layer in four": (
        _with("cohere2", head_dim=128, num_key_value_heads=8, sliding_window=4096,
              sliding_window_pattern=4, layer_switch=4),
        {"sliding": 24, "full": 8}, {128: 32}, {8},
    ),
    "exaone 4 may write its pattern in letters": (
        _with("exaone4", num_key_value_heads=8, sliding_window=4096, sliding_window_pattern="LLLG"),
        {"sliding": 24, "full": 8}, {128: 32}, {8},
    ),
    "exaone 4 without a window is full": (
        _with("exaone4", num_key_value_heads=8, sliding_window=None, sliding_window_pattern=None),
        {"full": 32}, {128: 32}, {8},
    ),
    "laguna's sliding layers have more query heads": (
        _with("laguna", num_hidden_layers=4, num_attention_heads=48, hidden_size=3072,
              sliding_window=512, layer_types=["full_attention"] + ["sliding_attention"] * 3,
              num_attention_heads_per_layer=[48, 72, 72, 72]),
        {"full": 1, "sliding": 3}, {128: 4}, {8},
    ),
    "falcon 7b is multi-query whatever num_kv_heads says": (
        _with("falcon", hidden_size=4544, num_attention_heads=71, multi_query=True,
              num_kv_heads=71, new_decoder_architecture=False),
        {"full": 32}, {64: 32}, {1},
    ),
    "falcon 40b is grouped": (
        _with("falcon", hidden_size=8192, num_attention_heads=128, multi_query=True,
              num_kv_heads=8, new_decoder_architecture=True),
        {"full": 32}, {64: 32}, {8},
    ),
    "starcoder is multi-query": (
        {"model_type": "gpt_bigcode", "n_layer": 24, "n_head": 16, "n_embd": 2048,
         "n_positions": 2048, "vocab_size": 49280, "multi_query": True},
        {"full": 24}, {128: 24}, {1},
    ),
    "chatglm groups by multi_query_group_num": (
        {"model_type": "chatglm", "num_layers": 40, "num_hidden_layers": 40, "hidden_size": 4096,
         "num_attention_heads": 32, "multi_query_attention": True, "multi_query_group_num": 2,
         "kv_channels": 128, "seq_length": 131072, "padded_vocab_size": 151552},
        {"full": 40}, {128: 40}, {2},
    ),
    "dbrx keeps its head count in attn_config": (
        {"model_type": "dbrx", "d_model": 6144, "n_heads": 48, "n_layers": 40,
         "max_seq_len": 32768, "vocab_size": 100352,
         "attn_config": {"kv_n_heads": 8, "clip_qkv": 8}},
        {"full": 40}, {128: 40}, {8},
    ),
    "step 3 has one KV head": (
        _text("step3_text", "step3_vl", num_attention_heads=64, num_attention_groups=1,
              head_dim=256, share_q_dim=2048, hidden_size=7168),
        {"full": 32}, {256: 32}, {1},
    ),
    "hunyuan's cross-layer attention keeps one of two": (
        _with("hunyuan", num_key_value_heads=8, use_cla=True, cla_share_factor=2),
        {"full": 16, "none": 16}, {128: 16}, {8},
    ),
    "llava leaves its text model to llama's defaults": (
        {"model_type": "llava", "text_config": {"model_type": "llama", "vocab_size": 32064},
         "vision_config": {"hidden_size": 1024}},
        {"full": 32}, {128: 32}, {32},
    ),
    "pixtral leaves its query heads to mistral's default": (
        {"model_type": "llava",
         "text_config": {"model_type": "mistral", "head_dim": 128, "hidden_size": 5120,
                         "num_hidden_layers": 40, "num_key_value_heads": 8,
                         "sliding_window": None, "vocab_size": 131072}},
        {"full": 40}, {128: 40}, {8},
    ),
    "gemma 3 4b leaves its heads to the class's defaults": (
        {"model_type": "gemma3",
         "text_config": {"model_type": "gemma3_text", "hidden_size": 2560,
                         "num_hidden_layers": 34, "sliding_window": 1024}},
        {"sliding": 29, "full": 5}, {256: 34}, {4},
    ),
    "paligemma leaves head_dim to gemma's default": (
        {"model_type": "paligemma",
         "text_config": {"model_type": "gemma", "hidden_size": 2048, "num_hidden_layers": 18,
                         "num_attention_heads": 8, "num_key_value_heads": 1,
                         "vocab_size": 257216}},
        {"full": 18}, {256: 18}, {1},
    ),
    "qwen omni's text model is two wrappers down": (
        {"model_type": "qwen2_5_omni",
         "thinker_config": {
             "model_type": "qwen2_5_omni_thinker",
             "text_config": _with("qwen2_5_omni_text", hidden_size=3584, num_attention_heads=28,
                                  num_key_value_heads=4, use_sliding_window=False)}},
        {"full": 32}, {128: 32}, {4},
    ),
    "internvl keeps its text model in llm_config": (
        _text("qwen2", "internvl_chat", "llm_config", num_key_value_heads=8),
        {"full": 32}, {128: 32}, {8},
    ),
    "deepseek vl2's smallest is no MLA": (
        {"model_type": "deepseek_vl_v2",
         "language_config": _with("deepseek_v2", hidden_size=1280, num_attention_heads=10,
                                  num_key_value_heads=10, use_mla=False, kv_lora_rank=None,
                                  qk_nope_head_dim=0, qk_rope_head_dim=0, v_head_dim=0)},
        {"full": 32}, {128: 32}, {10},
    ),
    "deepseek v2 is MLA": (_with("deepseek_v2", **MLA), {"mla": 32}, {576: 32}, set()),
    "longcat runs MLA twice in a block": (
        {"architectures": ["LongcatFlashForCausalLM"], "num_layers": 28, "hidden_size": 6144,
         "num_attention_heads": 64, "q_lora_rank": 1536, "vocab_size": 131072, **MLA},
        {"mla": 56}, {576: 56}, set(),
    ),
    "ling 2.5 has lightning states and MLA": (
        _with("bailing_hybrid", num_hidden_layers=20, layer_group_size=5, head_dim=128, **MLA),
        {"lightning": 16, "mla": 4}, {576: 4}, set(),
    ),
    "ling 3 has Kimi delta states, and its last group is MLA": (
        _with("bailing_hybrid", num_hidden_layers=22, layer_group_size=5, head_dim=128,
              short_conv_kernel_size=4, **MLA),
        {"kda": 16, "mla": 6}, {576: 6}, set(),
    ),
    "kimi linear counts its layers from one": (
        _with("kimi_linear", num_hidden_layers=4,
              linear_attn_config={"full_attn_layers": [4], "kda_layers": [1, 2, 3],
                                  "head_dim": 128, "num_heads": 32, "short_conv_kernel_size": 4},
              **MLA),
        {"kda": 3, "mla": 1}, {576: 1}, set(),
    ),
    "qwen3-next without a list goes by its interval": (
        _with("qwen3_next", num_hidden_layers=8, head_dim=256, num_key_value_heads=2, **GDN),
        {"gdn": 6, "full": 2}, {256: 2}, {2},
    ),
    "minimax-01 codes its layers 0 and 1": (
        _with("minimax_text_01", num_hidden_layers=8, attn_type_list=[0] * 7 + [1], head_dim=128),
        {"lightning": 7, "full": 1}, {128: 1}, {8},
    ),
    "bamba names its attention layers": (
        _with("bamba", num_key_value_heads=8, attn_layer_indices=[9, 18, 27], **MAMBA2),
        {"mamba2": 29, "full": 3}, {128: 3}, {8},
    ),
    "granite 4 hybrid lists mamba and attention": (
        _with("granitemoehybrid", num_hidden_layers=4, num_key_value_heads=8,
              layer_types=["mamba", "mamba", "attention", "mamba"], **MAMBA2),
        {"mamba2": 3, "full": 1}, {128: 1}, {8},
    ),
    "granite 4 micro carries mamba keys that it does not use": (
        _with("granitemoehybrid", num_hidden_layers=4, num_key_value_heads=8,
              layer_types=["attention"] * 4, **MAMBA2),
        {"full": 4}, {128: 4}, {8},
    ),
    "falcon-h1 keeps both in each layer": (
        _with("falcon_h1", num_key_value_heads=2, head_dim=128, mamba_d_ssm=3072, **MAMBA2),
        {"full": 32, "mamba2": 32}, {128: 32}, {2},
    ),
    "mamba's inner width is given, not expand x hidden": (
        {"model_type": "falcon_mamba", "hidden_size": 4096, "num_hidden_layers": 64, "expand": 16,
         "intermediate_size": 8192, "state_size": 16, "conv_kernel": 4, "vocab_size": 65024},
        {"mamba1": 64}, {}, set(),
    ),
    "lfm2 may list its full layers": (
        _with("lfm2", num_hidden_layers=16, num_key_value_heads=8, conv_L_cache=3,
              conv_dim=2048, full_attn_idxs=[2, 5, 8, 10, 12, 14]),
        {"short_conv": 10, "full": 6}, {128: 6}, {8},
    ),
    "a draft of one layer is a model of one layer": (
        _with("llama", num_hidden_layers=1, num_key_value_heads=8,
              architectures=["LlamaForCausalLMEagle3"]),
        {"full": 1}, {128: 1}, {8},
    ),
    "a speculators file keeps its layer in transformer_layer_config": (
        {"speculators_model_type": "eagle3",
         "transformer_layer_config": _with("llama", num_hidden_layers=1)},
        {"full": 1}, {128: 1}, {32},
    ),
}  # fmt: skip


def _kv_heads(architecture: Architecture) -> set[int]:
    layers = [group.layer for group in architecture.groups]
    return {layer.kv_heads for layer in layers if isinstance(layer, Attention)}


@pytest.mark.parametrize("case", CASES)
def test_a_family_is_read_as_its_layers(case: str) -> None:
    config, kinds, sizes, kv_heads = CASES[case]
    architecture = parse(config, id="x")
    assert architecture.kinds() == kinds
    assert architecture.head_sizes() == sizes
    assert _kv_heads(architecture) == kv_heads


def test_the_last_layer_of_gemma_4_is_full_whatever_the_pattern_says() -> None:
    config = _with("gemma4_text", num_hidden_layers=8, num_key_value_heads=4, sliding_window=512)
    assert [group.indices for group in parse(config, id="x").groups] == [
        (0, 1, 2, 3, 4, 6), (5, 7),
    ]  # fmt: skip


def test_default_values_are_marked_as_such() -> None:
    (group,) = parse(_with("mistral", sliding_window=None), id="x").groups
    assert "num_key_value_heads=8 (default)" in group.because


def test_a_sparse_family_without_an_indexer_is_refused() -> None:
    with pytest.raises(InputError, match="index_topk is missing"):
        parse(_with("glm_moe_dsa", **MLA), id="x")


def test_kimi_layer_lists_that_overlap_are_refused() -> None:
    lists = {"full_attn_layers": [1, 4], "kda_layers": [1, 2, 3]}
    with pytest.raises(InputError, match="layer 1 is in both"):
        parse(_with("kimi_linear", num_hidden_layers=4, linear_attn_config=lists, **MLA), id="x")


def test_dtype_and_draft_and_multimodality_are_read() -> None:
    config = _text("qwen3_5_text", "qwen3_5", num_hidden_layers=4, head_dim=256,
                   num_key_value_heads=4, mtp_num_hidden_layers=1, mamba_ssm_dtype="float32",
                   **GDN)  # fmt: skip
    architecture = parse(config, id="x")
    assert (architecture.dtype, architecture.multimodal) == ("bfloat16", True)
    assert architecture.draft is not None
    assert [group.layer.kind for group in architecture.draft.groups] == ["full"]
    assert getattr(architecture.groups[0].layer, "state_dtype", None) == "float32"


def test_image_tokens_see_each_other_in_gemma_3_and_where_gemma_4_says_so() -> None:
    gemma3 = {"model_type": "gemma3", "text_config": {"model_type": "gemma3_text",
              "hidden_size": 2560, "num_hidden_layers": 6}}  # fmt: skip
    assert parse(gemma3, id="x").mm_prefix
    assert not parse({**gemma3["text_config"], "num_attention_heads": 8}, id="x").mm_prefix  # type: ignore[dict-item]
    for said, answer in (("vision", True), (None, False)):
        config = _text("gemma4_text", "gemma4", use_bidirectional_attention=said,
                       sliding_window=512, num_key_value_heads=4)  # fmt: skip
        assert parse(config, id="x").mm_prefix is answer


@pytest.mark.parametrize(
    ("section", "method", "bits", "kv"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8", 8.0, None),
        ({"quant_method": "mxfp4"}, "mxfp4", 4.25, None),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4",
          "kv_cache_scheme": {"num_bits": 8, "type": "float", "dynamic": False}},
         "modelopt_fp4", 4.5, "fp8"),
        ({"quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_quant_algo": "NVFP4"},
         "modelopt", 8.0, "nvfp4"),
        ({"quant_method": "compressed-tensors",
          "config_groups": {"g": {"targets": ["Linear"],
                                  "weights": {"num_bits": 4, "type": "int", "group_size": 128}}},
          "kv_cache_scheme": {"num_bits": 8, "type": "float"}},
         "compressed-tensors", 4.125, "fp8"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, "gptq", 4.0, None),
    ],
)  # fmt: skip
def test_a_quantisation_section_gives_bits_and_the_kv_dtype(
    section: dict[str, Any], method: str, bits: float, kv: str | None
) -> None:
    found = parse(_with("llama", quantization_config=section), id="x").quantization
    assert found is not None
    assert (found.method, found.weight_bits, found.kv_cache) == (method, bits, kv)
    assert (found.kv_cache_key is None) == (kv is None)


def test_the_file_beside_the_config_says_what_the_config_does_not() -> None:
    beside = {"producer": {"name": "modelopt"},
              "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}  # fmt: skip
    found = parse(_with("llama"), id="x", hf_quant_config=beside).quantization
    assert found is not None
    assert (found.method, found.weight_bits, found.kv_cache) == ("modelopt", 8.0, "fp8")
    assert str(found.kv_cache_key).startswith("hf_quant_config.json: ")
