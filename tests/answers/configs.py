"""One config with every key that some family reads, and other values for the keys that decide."""

from __future__ import annotations

from typing import Any

__all__ = ["KEYS", "OTHER", "OWN"]

_MIXED = ["linear_attention", "full_attention"] * 4
KEYS: dict[str, Any] = {
    "architectures": ["AnyForCausalLM"], "hidden_size": 1024, "intermediate_size": 2816,
    "num_hidden_layers": 8, "num_attention_heads": 16, "num_key_value_heads": 4, "head_dim": 96,
    "vocab_size": 32000, "max_position_embeddings": 65536, "torch_dtype": "bfloat16",
    "tie_word_embeddings": False, "sliding_window": 512, "sliding_window_pattern": 4,
    "global_head_dim": 192, "num_global_key_value_heads": 2, "full_attention_interval": 4,
    "linear_conv_kernel_dim": 4, "linear_key_head_dim": 64, "linear_num_key_heads": 8,
    "linear_num_value_heads": 16, "linear_value_head_dim": 64, "kv_lora_rank": 256,
    "q_lora_rank": 384, "qk_rope_head_dim": 32, "qk_nope_head_dim": 64, "v_head_dim": 80,
    "index_topk": 512, "index_n_heads": 8, "index_head_dim": 64, "n_routed_experts": 16,
    "num_experts": 16, "num_local_experts": 16, "n_shared_experts": 1, "num_experts_per_tok": 2,
    "moe_intermediate_size": 352, "shared_expert_intermediate_size": 704,
    "first_k_dense_replace": 1, "moe_layer_freq": 1, "decoder_sparse_step": 2,
    "interleave_moe_layer_step": 2, "num_nextn_predict_layers": 1, "mtp_num_hidden_layers": 1,
    "attn_layer_period": 4, "attn_layer_offset": 2, "expert_layer_period": 2,
    "expert_layer_offset": 1, "mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2,
    "mamba_n_heads": 16, "mamba_d_head": 128, "mamba_n_groups": 2, "mamba_num_heads": 16,
    "mamba_head_dim": 64, "ssm_state_size": 64, "n_groups": 4, "conv_kernel": 4, "state_size": 16,
    "time_step_rank": 64, "expand": 2, "hybrid_override_pattern": "M-E*M-E*", "conv_L_cache": 3,
    "num_kv_shared_layers": 2, "final_logit_softcapping": 30.0, "attention_bias": True,
    "qk_norm": True, "use_qk_norm": True, "mlp_bias": True, "hidden_act": "silu",
    "attention_chunk_size": 8192, "no_rope_layer_interval": 4,
}  # fmt: skip
# Each is put in the place of the key, or beside the others where the config has none of the name.
OTHER: dict[str, tuple[Any, ...]] = {
    "num_hidden_layers": (5, 9, 12), "num_key_value_heads": (1, 16, 3), "head_dim": (128, 64),
    "layer_types": (
        _MIXED, ["sliding_attention", "full_attention"] * 4, ["full_attention"] * 8,
        ["chunked_attention", "full_attention"] * 4, ["conv", "full_attention"] * 4,
        ["mamba", "attention"] * 4,
    ),
    "mlp_layer_types": (["dense", "sparse"] * 4, ["dense"] * 3),
    "moe_layer_freq": ([0, 1] * 4, 2), "moe_layers_enum": ("1,3,5", [2, 4]),
    "mlp_only_layers": ([0, 3],), "use_sliding_window": (True, False),
    "max_window_layers": (3, 6), "attention_bias": (False,), "add_qkv_bias": (True,),
    "tie_word_embeddings": (True,), "num_experts": (1, 8), "zero_expert_num": (4,),
    "hybrid_override_pattern": ("MMMM*-M-", "M*E-M*E-"), "hybrid_layer_pattern": ([0, 1] * 4,),
    "attn_type_list": ([0, 1] * 4,), "linear_attn_config": (
        {"kda_layers": [1, 2, 3, 5, 6, 7], "full_attn_layers": [4, 8], "num_heads": 8,
         "head_dim": 64, "short_conv_kernel_size": 4},
    ),
    "compress_ratios": ([0, 0, 4, 128, 4, 128, 4, 128],), "index_topk_freq": (2, 4),
    "index_topk_pattern": ("FSFSFSFS",), "index_skip_topk_offset": (1, 3),
    "rope_scaling": (
        {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16384},
        {"type": "linear", "factor": 2}, {"rope_type": "llama3", "factor": 0},
        {"rope_type": "dynamic", "factor": 10_000.0},
    ),
    "quantization_config": (
        {"quant_method": "fp8", "weight_block_size": [128, 128]},
        {"quant_method": "awq", "bits": 4, "group_size": 128},
        {"quant_method": "gptq", "bits": 8, "group_size": 32, "desc_act": True},
        {"quant_method": "mxfp4"}, {"quant_method": "compressed-tensors", "config_groups": {
            "group_0": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float"}}}},
        {"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"},
        {"quant_method": "modelopt", "quant_algo": "FP8_PB_WO"},
    ),
    "torch_dtype": ("float16", "float32"), "hidden_act": ("gelu", "relu2"),
    "vision_config": ({"depth": 4, "hidden_size": 256, "intermediate_size": 512, "patch_size": 14,
                       "num_heads": 4, "out_hidden_size": 1024, "spatial_merge_size": 2},),
    "audio_config": ({"hidden_size": 256, "num_hidden_layers": 2},),
    "max_position_embeddings": (4096,), "sliding_window": (4096, 0),
    "cross_attention_layers": ([3, 6],),
    "block_configs": (
        [
            {"attention": {"n_heads_in_group": 4, "no_op": False}, "ffn": {"ffn_mult": 2.0}},
            {"attention": {"no_op": True}, "ffn": {"no_op": True}},
        ] * 4,
    ),
    "layers_block_type": (["mamba", "hybrid"] * 4,), "layer_group_size": (4,), "num_heads": (16,),
    "num_key_value_heads_per_layer": ([4, 0, 4, 4, 2, 4, 1, 4],),
    "q_lora_rank": (768, None), "moe_latent_size": (256,), "use_head_wise_attn_gate": (True,),
    "n_recurrent_layers": (-1, 4), "n_input_layers": (2,), "n_recurrent_loops": (3,),
    "num_attention_heads": (15, 32), "kv_lora_rank": (512,), "num_nextn_predict_layers": (2, 0),
}  # fmt: skip
# What some families need otherwise; None takes a key away.
_CONV: dict[str, Any] = {"layer_types": ["conv", "full_attention"] * 4}
_V4: dict[str, Any] = {"o_lora_rank": 64, "o_groups": 2}
_V41: dict[str, Any] = {
    "compress_ratios": [0, 0, 1, 2, 1, 2, 1, 2], "kv_source_layer_ids": [2, 3, 6],
    "index_source_layer_ids": [2, 6], "o_lora_rank": 64,
}  # fmt: skip
OWN: dict[str, dict[str, Any]] = {
    "nemotron-nas": {"num_nextn_predict_layers": None, "mtp_num_hidden_layers": None},
    "deci": {"num_key_value_heads_per_layer": [4, 2, 4, 4, 2, 4, 1, 4]},
    "glm5_next_text": {"linear_num_heads": 8, "linear_head_dim": 64},
    "deepseek_v41": _V41, "deepseek_v41_text": _V41, "deepseek_v4": _V4, "deepseek_ref": _V4,
    "alice_ai": {"linear_num_value_heads": 8}, "inkling_model": {"v_head_dim": 96},
    "inkling_text": {"v_head_dim": 96}, "domyn_edge": {"window_sizes": [[511, 0], [-1, -1]] * 4},
    "gpt_neo": {"attention_types": [[["global", "local"], 4]]},
    "hrm_text": {"H_cycles": 2, "L_cycles": 2, "num_layers_per_stage": 2},
    "lfm2": _CONV, "lfm2_moe": _CONV, "lfm3": _CONV,
}  # fmt: skip
