"""A key that a family does not act on is refused where it would change the cache, only there."""

from __future__ import annotations

from typing import Any

import pytest

from kvgate.architecture import parse
from kvgate.errors import InputError

PLAIN: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 131072,
    "vocab_size": 128256,
}


@pytest.mark.parametrize(
    "change",
    [
        {"kv_lora_rank": 512},
        {"qk_rope_head_dim": 64},
        {"index_topk": 2048},
        {"compress_ratios": [4] * 32},
        {"sliding_window": 4096},
        {"use_sliding_window": True},
        {"attention_chunk_size": 8192},
        {"full_attention_interval": 4},
        {"linear_num_value_heads": 32},
        {"linear_attn_config": {"kda_layers": [1]}},
        {"mamba_d_state": 128},
        {"ssm_state_size": 128},
        {"hybrid_override_pattern": "M*"},
        {"layers_block_type": ["mamba"]},
        {"attn_type_list": [0, 1]},
        {"num_kv_shared_layers": 8},
        {"global_head_dim": 512},
        {"use_cla": True},
        {"cross_attention_layers": [3]},
        {"block_configs": [{"attention": {}}]},
        {"some_new_sliding_thing": 7},
        {"nsa_block": 64},
        {"v_head_dim": 64},
    ],
)
def test_a_key_that_changes_the_cache_is_refused_by_name(change: dict[str, Any]) -> None:
    (key,) = change
    with pytest.raises(InputError) as caught:
        parse({**PLAIN, **change}, id="x")
    assert f"{key}=" in str(caught.value)
    assert "not acted on" in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {"sliding_window": None},
        {"sliding_window": 0},
        {"sliding_window": 131072},
        {"sliding_window": 4096, "use_sliding_window": False},
        {"kv_lora_rank": None},
        {"use_cla": False},
        {"no_rope_layers": []},
        {"chunk_size_feed_forward": 0},
        {"cross_attention_hidden_size": None},
        {"add_cross_attention": False},
        {"compress_ratios": []},
        {"num_kv_shared_layers": 0},
        {"v_head_dim": 128, "head_dim": 128},
        {"image_token_index": 128256},
        {"layer_norm_eps": 1e-5},
        {"mlp_layer_types": ["dense"] * 32},
    ],
)
def test_a_key_that_does_nothing_is_not_refused(change: dict[str, Any]) -> None:
    assert parse({**PLAIN, **change}, id="x").kinds() == {"full": 32}


def test_every_model_type_has_one_reader() -> None:
    from kvgate.architecture import table

    names = [name for module in table._MODULES for name in module.TYPES]
    assert len(names) == len(set(names))
    assert not set(names) & set(table.UNSIZED)


def test_every_wrapper_leads_to_a_known_text_model() -> None:
    from kvgate.architecture.table import TYPES
    from kvgate.architecture.wrappers import WRAPPERS

    for name, wrapper in WRAPPERS.items():
        assert not wrapper.text or wrapper.text in TYPES or wrapper.text in WRAPPERS, name
