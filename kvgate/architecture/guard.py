"""What protects from being silently wrong: a key that nothing read, but that changes the cache.

A family's reader acts on the keys it knows. A config may say more: a later release of the family, a
fork, another engine's addition. Where such a key speaks of what layers keep, ignoring it would give
a wrong number with a straight face, so it is refused by name, unless its value does nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvgate.architecture.config import Config, show

__all__ = ["leftover"]

# Words of a key (between underscores) that speak of windows, latents, states, sharing or sparsity.
_WORDS = frozenset(
    {
        "chunked", "cla", "compress", "compressed", "compression", "conv", "conv1d", "deltanet",
        "dsa", "gdn", "hybrid", "indexer", "kda", "kpool", "lightning", "lookback", "lru",
        "mamba", "mamba1", "mamba2", "mla", "mlstm", "moba", "nsa", "recurrent", "retention",
        "rwkv", "sliding", "slstm", "ssm", "swa", "window", "windows", "yoco",
    }
)  # fmt: skip
# Whole keys that do so without such a word.
_KEYS = frozenset(
    {
        "H_cycles", "L_cycles", "attention_chunk_size", "attention_other_setting",
        "attention_pattern", "attention_types", "attn_chunk_size", "attn_config", "attn_layer_idx",
        "attn_layer_indices", "attn_layer_offset", "attn_layer_period", "attn_type_list",
        "block_configs", "block_types", "chunk_attention", "compress_rates", "compress_ratios",
        "cross_attention_freq", "cross_attention_layers", "d_conv", "d_state",
        "full_attention_interval", "full_attention_layers", "full_attn_idxs", "full_attn_layers",
        "global_attention_layers", "global_attn_every_n_layers", "global_head_dim",
        "index_head_dim", "index_n_heads", "index_source_layer_ids", "index_topk",
        "interleaved_attention", "kv_lora_rank", "kv_sharing_groups", "kv_source_layer_ids",
        "kv_source_layers", "layer_group_size", "layer_pattern", "layer_type", "layer_types",
        "layers_block_type", "linear_attention_layers", "linear_attn_config", "linear_head_dim",
        "linear_key_head_dim", "linear_num_heads", "linear_num_key_heads", "linear_num_value_heads",
        "linear_value_head_dim", "local_attention", "local_attention_layers", "local_layer_ids",
        "loop_num", "multi_query_group_num", "n_recurrent_loops", "num_attention_groups",
        "num_global_key_value_heads", "num_key_value_heads_per_layer", "num_kv_heads_per_layer",
        "num_kv_shared_layers", "num_loops", "param_sink_number", "per_layer_config",
        "qk_nope_head_dim", "qk_rope_head_dim", "sconv_kernel_size", "share_q_dim",
        "sparse_attention_config", "sparse_attention_freq", "ssm_state_size", "state_size",
        "total_ut_steps", "use_sconv", "v_head_dim", "window_sizes",
    }
)  # fmt: skip
# Keys with such a word that change speed, numerics or training, never what a layer keeps.
_HARMLESS = frozenset(
    {
        "add_swa_attention_sink_bias", "chunk_size_feed_forward",
        "compress_rope_parameters", "compress_rope_theta", "compression_config",
        "conv_bias", "conv_dim", "conv_dim_out", "conv_kernel_size", "conv_use_xavier_init",
        "gated_mla", "indexer_rope_interleave", "kda_lower_bound", "kda_safe_gate",
        "mamba_chunk_size", "mamba_conv_bias", "mamba_dt_init_floor", "mamba_dt_limit",
        "mamba_dt_max", "mamba_dt_min", "mamba_dt_rank", "mamba_hidden_act",
        "mamba_inner_layernorms", "mamba_norm_before_gate", "mamba_proj_bias",
        "mamba_rms_norm", "mamba_ssm_cache_dtype", "mamba_ssm_dtype", "mamba_use_mlp",
        "max_window_layers", "mla_scaling_factors", "mla_use_output_gate",
        "num_conv_pos_embeddings", "ple_conv_kernel_size", "rescale_every", "ssm_cfg",
        "ssm_in_multiplier", "ssm_multipliers", "ssm_out_multiplier",
        "swa_partial_rotary_factor", "swa_rope_parameters", "swa_rope_theta",
        "use_conv_bias", "use_conv_lora", "use_mamba_kernels", "use_mambapy",
    }
)  # fmt: skip
# How often layers run; once is how all run.
_LOOPS = frozenset({"loop_num", "n_recurrent_loops", "num_loops", "total_ut_steps"})
_FLAGS = ("use_sliding_window", "use_swa", "enable_sliding_window")


# Words of state layers: a reader that acts on one key of them knows the layer, and further ones are
# about its numerics.
_OF_STATES = frozenset({"mamba", "ssm", "conv", "kda", "indexer"})


def leftover(config: Config) -> None:
    """Record a problem for each such key that the reader has not read."""
    known = _OF_STATES & {word for key in config.used for word in key.split("_")}
    for key, value in config.data.items():
        if not isinstance(key, str) or key in config.used or not _speaks(key, known):
            continue
        if not _inert(config, key, value):
            config.problem(
                f"{config.name(key)}={show(value)} is not acted on by this family in kvgate, and "
                "would change what a layer keeps"
            )


def _speaks(key: str, known: frozenset[str]) -> bool:
    if key in _HARMLESS:
        return False
    return key in _KEYS or not (_WORDS - known).isdisjoint(key.split("_"))


def _inert(config: Config, key: str, value: Any) -> bool:
    """Null, off, zero, empty, a window that its own flag switches off or that no context fills."""
    if value is None or value is False or value in (0, -1, "", "none", "None"):
        return True
    if key in _LOOPS and value == 1:
        return True
    if isinstance(value, list | tuple | Mapping):
        return not value or (isinstance(value, list | tuple) and not any(value))
    words = key.split("_")
    if "window" in words or "sliding" in words:
        if any(config.data.get(flag) is False for flag in _FLAGS):
            return True
        longest = config.data.get("max_position_embeddings")
        if isinstance(value, int) and isinstance(longest, int) and not isinstance(value, bool):
            return value >= longest
    if key == "layer_types":
        return False
    if key == "v_head_dim":
        return bool(value == config.data.get("head_dim"))
    return False
