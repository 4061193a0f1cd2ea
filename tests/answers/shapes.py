"""Questions to the readers of configs: each family's keys, wrong values, wrappers, odd shapes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from kvgate.architecture import parse, weights_per_rank
from kvgate.architecture.serial import dump
from kvgate.architecture.table import TYPES
from kvgate.architecture.wrappers import WRAPPERS
from kvgate.errors import InputError
from tests.answers.configs import KEYS, OTHER, OWN
from tests.answers.dice import Dice, said

__all__ = ["ODD", "SCHEMES", "odd", "of_type", "schemes", "wrapped", "wrong"]

_SPARE = re.compile(r"(\w+)=[^;]*? is not acted on by this family")
_MISSED = re.compile(r"(\w+)(?: and \w+)* (?:is|are both) missing")


def _base(type_: str) -> dict[str, Any]:
    """A config that a family reads: all keys, less those that it refuses, and what it misses."""
    config = {n: v for n, v in (KEYS | OWN.get(type_, {})).items() if v is not None}
    for _ in range(12):
        try:
            parse({**config, "model_type": type_}, id="x")
        except InputError as error:
            told = error.message
            spare = set(_SPARE.findall(told)) & config.keys()
            missed = {name for name in _MISSED.findall(told) if name in OTHER}
            if not spare | missed:
                break
            config = {name: value for name, value in config.items() if name not in spare}
            config |= {name: OTHER[name][0] for name in missed}
        else:
            break
    return config


def _config(type_: str, config: dict[str, Any]) -> str:
    def ask() -> object:
        architecture = parse({**config, "model_type": type_}, id="x")
        parts = [weights_per_rank(architecture, tp=t) for t in (1, 4)] if architecture.parts else 0
        return json.dumps(dump(architecture), sort_keys=True), parts

    return said(ask)


def of_type(type_: str) -> Iterator[str]:
    base = _base(type_)
    yield _config(type_, base)
    for name in base:
        yield _config(type_, {n: v for n, v in base.items() if n != name})
    for name, values in OTHER.items():
        for value in values:
            yield _config(type_, base | {name: value})


_WRONG: tuple[Any, ...] = (
    None, True, "x", "3", -1, 0, 1.5, 1 << 40, 10**400, [], [1, "x"], {}, {"a": 1}, 3, 1e300, [0.5],
    ["full_attention"], [1 << 40] * 8,
)  # fmt: skip


_EDGES = (-1, 0, 1, 2, 3, 65_536, 65_537, 2**24, 2**24 + 1)
# Keys that may be 0, and not less.
_FROM_ZERO = (
    "attn_layer_offset", "hidden_size_per_layer_input", "index_skip_topk_offset",
    "max_window_layers", "n_input_layers", "n_output_layers", "n_recurrent_layers",
    "num_kv_shared_layers", "swa_qk_rope_head_dim", "vision_n_layers", "zero_expert_num",
)  # fmt: skip


def wrong(type_: str) -> Iterator[str]:
    """What is said of a value of the wrong kind or size."""
    dice, base = Dice(f"wrong {type_}"), _base(type_)
    names = tuple({**KEYS, **OTHER, **base})
    whole = tuple(name for name, value in base.items() if isinstance(value, int))
    for _ in range(8):
        yield _config(type_, base | {dice.pick(names): dice.pick(_WRONG)})
        yield _config(type_, base | {dice.pick(whole): dice.pick(_EDGES)})
    for name in _FROM_ZERO:
        yield _config(type_, base | {name: -1})


_VISION: tuple[dict[str, Any], ...] = (
    {"depth": 4, "hidden_size": 256, "intermediate_size": 512, "patch_size": 14, "num_heads": 4,
     "spatial_merge_size": 2, "deepstack_visual_indexes": [1, 2], "model_type": "qwen2_5_vl"},
    {"vt_num_hidden_layers": 3, "vt_hidden_size": 128, "merge_kernel_size": [2, 2],
     "image_size": 56},
    {"layers": 2, "width": 64, "heads": 4, "head_dim": 16, "mlp_ratio": 2.5, "image_size": 224,
     "temporal_patch_size": 2},
    {"num_hidden_layers": 2, "hidden_size": 64, "mlp_ratio": "x"}, {"hidden_size": 64},
    {"num_hidden_layers": 2, "hidden_size": 64, "model_type": "gemma4_vision",
     "position_embedding_size": 100},
)  # fmt: skip


def wrapped(outer: str) -> Iterator[str]:
    """A text part inside its wrapper, and what the file says around it."""
    wrapper, dice = WRAPPERS[outer], Dice(f"wrapped {outer}")
    text = wrapper.text
    while text in WRAPPERS and text not in TYPES:
        text = WRAPPERS[text].text
    text = text if text in TYPES else "qwen2"
    inner = _base(text)
    key = wrapper.keys[-1]
    around = {
        "tie_word_embeddings": dice.pick((True, False)),
        "is_mm_prefix_lm": dice.pick((True, False)),
    }  # fmt: skip
    bare = {n: v for n, v in inner.items() if n not in ("tie_word_embeddings", "torch_dtype")}
    yield _config(outer, {key: {**inner, "model_type": text}})
    yield _config(outer, {key: inner, "vision_config": dice.pick(_VISION)})
    yield _config(outer, {key: bare, "torch_dtype": dice.pick(("float16", "x", 3)), **around})
    yield _config(outer, {key: bare, "dtype": "bfloat16", "vision_n_layers": 3})
    yield _config(
        outer, {key: {**bare, "use_bidirectional_attention": "vision"}, "audio_config": {}}
    )
    yield _config(outer, {key: {"model_type": text}})
    yield _config(outer, {key: {**inner, "model_type": outer}})
    yield _config(outer, {key: dice.pick(([], "x", 1))})
    yield _config(outer, inner)
    yield _config(outer, {"speculators_model_type": "eagle3", key: inner})


_SPARSE = {
    "use_sparse_attention": True, "sparse_attention_freq": [0, 1] * 4, "sparse_index_dim": 64,
    "sparse_topk_blocks": 16, "sparse_num_index_heads": 4,
}  # fmt: skip
_NO_LISTS: dict[str, Any] = dict.fromkeys(("layer_types", "attn_type_list"))
# What the readers of single families turn at; None takes a key away.
ODD: dict[str, tuple[dict[str, Any], ...]] = {
    "llama4_text": (
        {"no_rope_layers": [1, 0, 1]}, {"no_rope_layers": [1, 1, 1, 0] * 2, **_NO_LISTS},
        {"no_rope_layers": [0, 1] * 4, "attention_chunk_size": None, **_NO_LISTS},
        {"no_rope_layer_interval": 3, **_NO_LISTS}, {"no_rope_layers": [2] * 8, **_NO_LISTS},
    ),
    **dict.fromkeys(("deepseek_v4", "deepseek_ref"), (
        {"compress_ratios": None, "layer_types": None},
        {"compress_ratios": None, "compress_rates": {"x": 8},
         "layer_types": ["x", "sliding_attention"] * 4},
        {"compress_ratios": None, "compress_rates": 4, "layer_types": ["sliding_attention"] * 8},
        {"compress_ratios": None, "compress_rates": {"sliding_attention": 2},
         "layer_types": ["sliding_attention", "compressed_sparse_attention"] * 4},
        {"compress_ratios": [4, 0] * 4 + [4], "num_nextn_predict_layers": 1},
        {"qk_rope_head_dim": None, "partial_rotary_factor": 0.25},
        {"qk_rope_head_dim": None, "partial_rotary_factor": True},
        {"qk_rope_head_dim": None, "partial_rotary_factor": 1e300},
        {"qk_rope_head_dim": None, "partial_rotary_factor": None},
    )),
    **dict.fromkeys(("deepseek_v41", "deepseek_v41_text"), (
        {"kv_source_layer_ids": [2, 4, 6], "index_source_layer_ids": [2, 6]},
        {"kv_source_layer_ids": [2, 4, 6], "index_source_layer_ids": None},
        {"compress_ratios": [0, 3] * 4}, {"kv_source_layer_ids": [99]},
    )),
    "domyn_edge": (
        {"window_sizes": [[0, 0], [-1, -1]] * 4}, {"window_sizes": [[1, 0]] * 8},
        {"per_layer_config": [{"head_dim": 64}] * 8}, {"per_layer_config": {"0": {"head_dim": 64}}},
    ),
    "mllama_text_model": ({"cross_attention_layers": [3, 8]}, {"cross_attention_layers": [0, 7]}),
    **dict.fromkeys(("gemma4_text", "gemma4_unified_text"), (
        {"enable_moe_block": True}, {"enable_moe_block": True, "moe_intermediate_size": None},
        {"hidden_size_per_layer_input": 128, "vocab_size_per_layer_input": 1000},
        {"hidden_size_per_layer_input": 128}, {"use_double_wide_mlp": True},
        {"per_layer_config": {"3": {"head_dim": 64, "num_key_value_heads": 1}},
         "global_head_dim": None, "num_global_key_value_heads": None},
        {"per_layer_config": {"3": {"head_dim": 64}, "7": {"head_dim": 96}},
         "global_head_dim": None, "num_global_key_value_heads": None},
        {"per_layer_config": {}}, {"per_layer_config": {"3": 5}}, {"attention_k_eq_v": True},
        {"num_global_key_value_heads": 3},
    )),
    "minimax_m3_text": (
        {"sparse_attention_config": _SPARSE, **_NO_LISTS},
        {"sparse_attention_config": {**_SPARSE, "use_sparse_attention": False}},
        {"sparse_attention_config": {**_SPARSE, "sparse_attention_freq": None}},
        {"sparse_attention_config": {**_SPARSE, "sparse_index_dim": None}},
        {"layer_types": ["minimax_m3_sparse", "full_attention"] * 4, "index_topk_blocks": 4},
        {"layer_types": None},
    ),
    "qwen4_exp_text": (
        {"indexer_head_dim": 64, "indexer_topk": 256}, {"indexer_compress_ratio": 2},
    ),
    **dict.fromkeys(("deepseek_v3", "deepseek_v32", "glm_moe_dsa", "kimi_k2"), (
        {"layer_types": ["sparse", "full_attention"] * 4},
        {"layer_types": ["sparse", "full_attention"] * 4, "index_topk": None},
        {"layer_types": ["sparse", "some"] * 4}, {"index_topk": None, "layer_types": None},
        {"indexer_types": ["full", "shared"] * 4}, {"indexer_types": ["full", "x"] * 4},
        {"indexer_types": ["full"] * 3}, {"q_lora_rank": None}, {"use_head_wise_attn_gate": True},
        {"moe_latent_size": 256}, {"mla_use_output_gate": True},
    )),
    "mistral_large4_text": (
        {"kv_source_layers": [0, 0, 2, 2, 4, 4, 6, 6]}, {"kv_source_layers": [0]},
        {"kv_source_layers": [7] * 8},
    ),
    **dict.fromkeys(("kimi_linear", "kimi_k3"), (
        {"linear_attn_config": None, "layer_types": None},
        {"linear_attn_config": None, "layer_types": ["linear_attention", "full_attention"] * 4,
         "linear_num_heads": 8, "linear_head_dim": 64},
        {"linear_attn_config": {"kda_layers": [1, 2, 3], "full_attn_layers": [4], "num_heads": 8,
                                "head_dim": 64, "short_conv_kernel_size": 4}},
        {"linear_attn_config": {"kda_layers": [1, 2, 3, 5, 6, 7], "full_attn_layers": [4, 8],
                                "num_heads": 8, "head_dim": 64, "short_conv_kernel_size": 4,
                                "use_full_rank_gate": True}},
    )),
    "bamba": (
        {"layers_block_type": None, "attn_layer_indices": [2, 9]},
        {"layers_block_type": None, "attn_layer_indices": [2, 7]},
        {"layers_block_type": None, "attn_layer_indices": None},
    ),
    **dict.fromkeys(("nemotron_h", "nemotron_h_puzzle"), (
        {"hybrid_override_pattern": ""}, {"hybrid_override_pattern": "M*-E" * 2},
        {"layers_block_type": [], "hybrid_override_pattern": None},
        {"layers_block_type": ["mamba", "attention", "mlp", "moe"] * 2},
        {"hybrid_override_pattern": "M" * 5000}, {"moe_latent_size": 256},
    )),
    "minimax": ({"layer_types": ["linear_attention", "full_attention"] * 4},),
    "minimax_text_01": ({"attn_type_list": [0, 1] * 4}, {"attn_type_list": None}),
    **dict.fromkeys(("nemotron-nas", "deci"), (
        {"block_configs": [{"ffn": {"ffn_mult": 1.0}}] * 8},
        {"block_configs": [{"attention": {"n_heads_in_group": 4, "replace_with_linear": True},
                            "ffn": {"intermediate_size": 512}}] * 8},
        {"block_configs": [{"attention": {"n_heads_in_group": 4}, "ffn": {"ffn_mult": 5000}}] * 8},
        {"block_configs": [{"attention": {"n_heads_in_group": 4}, "ffn": {"no_op": True}}] * 7},
    )),
    **dict.fromkeys(("falcon_mamba", "mamba", "mamba2", "zamba2", "jamba", "granitemoehybrid"), (
        {"mamba_d_ssm": 512}, {"mamba_n_heads": 7}, {"mamba_ssm_dtype": "float32"},
        {"mamba_ssm_dtype": "int8"}, {"time_step_rank": "auto"}, {"mamba_dt_rank": 32},
        {"mamba_expand": 3}, {"use_bias": True}, {"mamba_conv_bias": False},
    )),
    **dict.fromkeys(("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"), (
        {"mamba_ssm_dtype": "float16"}, {"mamba_ssm_dtype": "x"}, {"attn_output_gate": False},
        {"full_attention_interval": 3, "layer_types": None}, {"linear_num_value_heads": 12},
    )),
    **dict.fromkeys(("gemma2", "gemma3_text", "cohere2", "exaone4", "olmo3", "gpt_oss"), (
        {"sliding_window_pattern": "LLG", "layer_types": None},
        {"sliding_window_pattern": "LLX", "layer_types": None},
        {"sliding_window_pattern": 3, "layer_types": None}, {"rope_local_base_freq": 10_000},
        {"rope_parameters": {"sliding_attention": {"rope_type": "default"},
                             "full_attention": {"rope_type": "proportional"}}},
        {"partial_rotary_factor": 0.5}, {"rotary_dim": 16},
    )),
    **dict.fromkeys(("mixtral", "qwen3_moe", "glm4_moe", "ernie4_5_moe", "hunyuan_v1_moe"), (
        {"intermediate_size": [512, 1024]}, {"num_experts": [8, 16]}, {"moe_num_experts": 8},
        {"use_head_wise_attn_gate": True}, {"routed_expert_hidden_size": 128},
        {"use_expert_bias": True}, {"moe_shared_expert_intermediate_size": 64},
    )),
    **dict.fromkeys(("llama", "opt", "gpt2", "falcon", "bloom", "phi3", "mpt"), (
        {"use_mla": True}, {"intermediate_size": [512, 1024]},
        {"hidden_size": 16, "head_dim": None}, {"multi_query": True},
        {"new_decoder_architecture": True}, {"ffn_dim": 2048}, {"n_inner": 512},
        {"intermediate_size": None}, {"num_experts": 1},
    )),
}  # fmt: skip


def odd(type_: str) -> Iterator[str]:
    """Shapes that only some families have."""
    base = _base(type_)
    for changes in ODD[type_]:
        changed = base | changes
        yield _config(type_, {name: v for name, v in changed.items() if v is not None})


_GROUPS = {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 4, "group_size": 128}}}
_MODULE = "model.layers.1.self_attn.q_proj"
_EXPERT = "model.layers.1.mlp.experts.3.up_proj"
_QUANTIZED: tuple[dict[str, Any], ...] = (
    {"quant_method": "compressed-tensors", "config_groups": _GROUPS, "ignore": ["lm_head"]},
    {"quant_method": "compressed-tensors", "config_groups": _GROUPS, "ignore": ["re:.*attn.*"]},
    {"quant_method": "compressed-tensors", "config_groups": {
        "a": {"targets": ["re:.*experts.*"], "weights": {"num_bits": 4, "group_size": 32,
                                                         "strategy": "group", "type": "int"}},
        "b": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float"}}}},
    {"quant_method": "compressed-tensors", "config_groups": {
        "a": {"targets": [_MODULE, 3], "weights": {"num_bits": 4, "type": "float",
                                                   "group_size": 16}, "format": "mxfp4-pack"}}},
    {"quant_method": "compressed-tensors", "config_groups": {"a": {"weights": {"num_bits": True}}}},
    {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {
        _MODULE: {"quant_algo": "FP8"}, _EXPERT: {"quant_algo": "NVFP4"}, "x": 3}},
    {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {
        _EXPERT: {"quant_algo": "W4A16_NVFP4"}, "lm_head": {"quant_algo": "FP8"}}},
    {"quant_method": "fp8", "quant_algo": "MIXED_PRECISION", "moe_quant_algo": "NVFP4"},
    {"quant_method": "modelopt", "quant_algo": "NVFP4", "exclude_modules": ["lm_head", "*attn*"]},
    {"quant_method": "modelopt", "quant_algo": "FP8", "exclude_modules": ["model.layers.1.*"]},
    {"quant_method": "fp8", "modules_to_not_convert": ["layers.1.self_attn", "q_proj"]},
    {"quant_method": "fp8", "expert_dtype": "fp4"}, {"quant_method": "fp8", "store_dtype": "mxfp4"},
    {"quant_method": "x", "routed_experts_quant_method": "mxfp4"},
    {"quant_method": "bitsandbytes", "load_in_4bit": True}, {"quant_method": "bitsandbytes"},
    {"quant_method": "awq", "w_bit": 4, "q_group_size": 64}, {"quant_method": "gptq", "bits": 3},
    {"quant_method": "gptq", "bits": 4, "group_size": -1}, {"quant_method": "gptq", "bits": True},
    {"quant_method": "unknown"}, {"bits": 4}, {"quant_algo": "W4A8_AWQ"}, {},
)  # fmt: skip
SCHEMES = ("llama", "qwen3_moe", "deepseek_v3", "gpt_oss", "nemotron_h", "mixtral")


def schemes(type_: str) -> Iterator[str]:
    """What each scheme of quantisation makes of a model's weights."""
    base = _base(type_)
    for held in _QUANTIZED:
        yield _config(type_, base | {"quantization_config": held})
        yield _config(type_, base | {"quantization_config": held, "expert_dtype": "fp4"})
