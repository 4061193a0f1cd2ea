"""Bad configs: the message names the key, says all that is wrong, and is never another error."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvgate.architecture import index_bytes, parse, read_json, weights_per_rank
from kvgate.architecture.serial import dump, load
from kvgate.errors import InputError

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 131072,
    "rope_scaling": {
        "rope_type": "llama3",
        "factor": 8.0,
        "original_max_position_embeddings": 8192,
    },
    "torch_dtype": "bfloat16",
    "vocab_size": 128256,
}
HYBRID: dict[str, Any] = {
    "model_type": "qwen3_5",
    "text_config": {
        "model_type": "qwen3_5_text",
        "hidden_size": 5120,
        "intermediate_size": 17408,
        "num_hidden_layers": 8,
        "num_attention_heads": 24,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "full_attention_interval": 4,
        "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 2,
        "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": 128,
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 48,
        "linear_value_head_dim": 128,
        "mamba_ssm_dtype": "float32",
        "max_position_embeddings": 262144,
        "mtp_num_hidden_layers": 1,
        "vocab_size": 248320,
    },
    "vision_config": {"depth": 27, "hidden_size": 1152, "intermediate_size": 4304},
}
LATENT: dict[str, Any] = {
    "model_type": "glm_moe_dsa",
    "hidden_size": 6144,
    "num_hidden_layers": 6,
    "num_attention_heads": 64,
    "num_key_value_heads": 64,
    "q_lora_rank": 2048,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 192,
    "qk_rope_head_dim": 64,
    "v_head_dim": 256,
    "index_topk": 2048,
    "index_head_dim": 128,
    "index_n_heads": 32,
    "indexer_types": ["full", "full", "full", "shared", "shared", "full"],
    "first_k_dense_replace": 3,
    "intermediate_size": 12288,
    "moe_intermediate_size": 2048,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_nextn_predict_layers": 1,
    "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
    "vocab_size": 154880,
}
COMPRESSED: dict[str, Any] = {
    "model_type": "deepseek_v4",
    "hidden_size": 4096,
    "num_hidden_layers": 4,
    "num_attention_heads": 64,
    "head_dim": 512,
    "qk_rope_head_dim": 64,
    "q_lora_rank": 1024,
    "o_lora_rank": 1024,
    "o_groups": 8,
    "compress_ratios": [0, 0, 4, 128, 0],
    "sliding_window": 128,
    "index_topk": 512,
    "index_head_dim": 128,
    "index_n_heads": 64,
    "n_routed_experts": 256,
    "moe_intermediate_size": 2048,
    "vocab_size": 129280,
}
PATTERN: dict[str, Any] = {
    "model_type": "nemotron_h",
    "hidden_size": 2688,
    "hybrid_override_pattern": "MEM*-",
    "num_hidden_layers": 5,
    "mamba_num_heads": 64,
    "mamba_head_dim": 64,
    "ssm_state_size": 128,
    "n_groups": 8,
    "conv_kernel": 4,
    "num_attention_heads": 32,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "n_routed_experts": 128,
    "moe_intermediate_size": 1856,
    "intermediate_size": 1856,
    "vocab_size": 131072,
}
ALL = [LLAMA, HYBRID, LATENT, COMPRESSED, PATTERN]


def _refusal(config: Any) -> str:
    with pytest.raises(InputError) as caught:
        parse(config, id="org/name")
    return str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"num_hidden_layers": None}, "num_hidden_layers is missing (it is null)"),
        ({"num_hidden_layers": 0}, "num_hidden_layers=0 is out of range"),
        ({"num_hidden_layers": -3}, "num_hidden_layers=-3 is out of range"),
        ({"num_hidden_layers": 10_001}, "num_hidden_layers=10001 is out of range"),
        ({"num_hidden_layers": 10**5000}, "num_hidden_layers=an enormous number"),
        ({"num_hidden_layers": "32"}, 'num_hidden_layers must be a whole number, not "32"'),
        ({"num_hidden_layers": True}, "num_hidden_layers must be a whole number, not true"),
        ({"num_hidden_layers": 32.5}, "num_hidden_layers must be a whole number, not 32.5"),
        ({"num_hidden_layers": float("nan")}, "num_hidden_layers must be a whole number, not nan"),
        ({"num_hidden_layers": [32]}, "num_hidden_layers must be a whole number, not [32]"),
        ({"num_attention_heads": 33}, "num_attention_heads=33 is not a multiple"),
        ({"hidden_size": 4095, "head_dim": None}, "head_dim is missing, and hidden_size=4095"),
        ({"head_dim": -128}, "head_dim=-128 is out of range"),
        ({"torch_dtype": "float8"}, "torch_dtype=float8 is not a dtype"),
        ({"tie_word_embeddings": "yes"}, 'tie_word_embeddings must be true or false, not "yes"'),
        ({"architectures": "Llama"}, 'architectures must be a list, not "Llama"'),
        ({"n_layer": 24}, "num_hidden_layers=32 and n_layer=24 contradict each other"),
        ({"layer_types": ["full_attention"] * 31}, "layer_types has 31 entries for 32 layers"),
        ({"layer_types": ["full_attention"] * 31 + ["full"]}, "layer_types[31] is 'full'"),
        ({"layer_types": 7}, "layer_types must be a list, not 7"),
        ({"model_type": "lama"}, "unknown model_type 'lama' (did you mean 'llama'"),
        ({"model_type": None}, "model_type is missing"),
        ({"model_type": 4}, "model_type must be a string, not 4"),
        ({"model_type": "llava"}, "text_config is missing, where model_type 'llava' keeps"),
        ({"model_type": "qwen3_5", "num_hidden_layers": None}, "text_config is missing"),
        ({"model_type": "llava", "text_config": [1]}, "text_config must be an object, not list"),
        ({"model_type": "recurrent_gemma"}, "RG-LRU"),
    ],
)
def test_a_bad_value_is_named(change: dict[str, Any], words: str) -> None:
    assert words in _refusal({**LLAMA, **change})


def test_a_missing_key_is_named_with_its_path() -> None:
    config = copy.deepcopy(HYBRID)
    del config["text_config"]["num_hidden_layers"]
    assert "text_config.num_hidden_layers is missing" in _refusal(config)


def test_several_problems_are_told_at_once() -> None:
    message = _refusal({**LLAMA, "num_hidden_layers": None, "vocab_size": "x", "head_dim": 0})
    assert "3 problems" in message
    for key in ("num_hidden_layers", "vocab_size", "head_dim"):
        assert key in message


def test_what_is_no_object_is_refused() -> None:
    for value in ([1], "x", None, 3):
        assert "a config is a JSON object" in _refusal(value)


def test_draft_entries_after_the_layers_are_no_error() -> None:
    architecture = parse({**COMPRESSED, "num_nextn_predict_layers": 1}, id="x")
    assert architecture.num_layers == 4
    assert architecture.draft is not None
    assert [group.indices for group in architecture.draft.groups] == [(4,)]


def test_a_draft_layer_that_no_block_describes_is_an_error() -> None:
    blocks = [{"attention": {"n_heads_in_group": 4}, "ffn": {"ffn_mult": 2.0}}] * 32
    nas = {**LLAMA, "model_type": "nemotron-nas", "block_configs": blocks}
    assert parse(nas, id="x").num_layers == 32
    assert "none for the draft layer 32" in _refusal({**nas, "num_nextn_predict_layers": 1})


def test_too_few_ratios_are_an_error() -> None:
    assert "compress_ratios has 3 entries for 4 layers" in _refusal(
        {**COMPRESSED, "compress_ratios": [0, 0, 4]}
    )


def test_an_unknown_ratio_is_an_error() -> None:
    assert "8 is no ratio" in _refusal({**COMPRESSED, "compress_ratios": [0, 0, 8, 128]})


def test_an_unknown_letter_of_a_pattern_is_an_error() -> None:
    assert "hybrid_override_pattern[2] is 'X'" in _refusal(
        {**PATTERN, "hybrid_override_pattern": "MEX*-"}
    )


def test_a_null_head_dim_is_hidden_size_by_heads() -> None:
    assert parse({**LLAMA, "head_dim": None}, id="x").head_sizes() == {128: 32}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1,', "c.json:1:9: is not JSON: it ends in the middle"),
        ('{"a":\n tru}', "c.json:2:2: is not JSON: Expecting"),
        ("", "c.json:1:1: is not JSON: it ends"),
        ("[1]", "c.json:1:1: is a list, not an object"),
        ("null", "is null, not an object"),
        ("[" * 100_000, "c.json:1:1: is not JSON that can be read"),
        ('{"a":' + "9" * 5000 + "}", "c.json:1:1: is not JSON that can be read"),
    ],
)
def test_text_that_is_no_config_is_refused_with_its_place(text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read_json(text, path="c.json")
    assert words in str(caught.value)


def test_an_index_gives_its_total_size_or_says_that_it_has_none() -> None:
    assert index_bytes({"metadata": {"total_size": 16060522496}}) == 16060522496
    bad_ones: list[dict[str, Any]] = [
        {}, {"metadata": {}}, {"metadata": {"total_size": "x"}}, {"metadata": 3},
    ]  # fmt: skip
    for bad in bad_ones:
        with pytest.raises(InputError, match=r"metadata\.total_size"):
            index_bytes(bad)


_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.integers(-2, 300),
    st.floats(),
    st.sampled_from(["", "x", "32", "auto", "LLLG", "full_attention", "fp8", "M*-E"]),
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=8),
        st.dictionaries(st.sampled_from(["a", "rope_type", "head_dim"]), inner, max_size=3),
    ),
    max_leaves=8,
)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        for key, inner in value.items():
            found += _paths(inner, (*path, key))
    if isinstance(value, list):
        for position, inner in enumerate(value):
            found += _paths(inner, (*path, position))
    return found


_KEYS = sorted({path[-1] for config in ALL for path in _paths(config) if isinstance(path[-1], str)})


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_change_of_a_config_is_read_or_refused(data: st.DataObject) -> None:
    config = copy.deepcopy(data.draw(st.sampled_from(ALL)))
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(_paths(config)))
        parent: Any = config
        for key in path[:-1]:
            parent = parent[key]
        change = data.draw(st.sampled_from(["set", "remove", "add"]))
        if change == "remove":
            del parent[path[-1]]
        elif change == "add" and isinstance(parent, dict):
            parent[data.draw(st.sampled_from(_KEYS))] = data.draw(_VALUES)
        else:
            parent[path[-1]] = data.draw(_VALUES)
        if not _paths(config):
            break
    try:
        architecture = parse(config, id="x")
    except InputError:
        return
    assert load(json.loads(json.dumps(dump(architecture)))) == architecture
    if architecture.parts:
        assert weights_per_rank(architecture, tp=4) > 0


@pytest.mark.parametrize("outer", ["internvl_chat", "ovis", "skywork_chat"])
def test_a_text_part_that_repeats_a_wrapper_without_a_type_of_its_own_is_refused(
    outer: str,
) -> None:
    with pytest.raises(InputError, match=f"model_type repeats '{outer}'") as caught:
        parse({"model_type": outer, "llm_config": {"model_type": outer}}, id="x")
    assert "such as llama" in str(caught.value.hint)


@pytest.mark.parametrize("index", [4, 5, 39])
def test_a_crossing_layer_beyond_the_last_is_refused(index: int) -> None:
    config = {
        "model_type": "mllama_text_model", "hidden_size": 1024, "num_hidden_layers": 4,
        "num_attention_heads": 8, "num_key_value_heads": 2, "intermediate_size": 4096,
        "vocab_size": 32000, "max_position_embeddings": 131072,
        "cross_attention_layers": [1, index],
    }  # fmt: skip
    with pytest.raises(InputError, match=f"names layer {index} of 4 layers"):
        parse(config, id="x")
