"""Mistral's params.json: the same model in other words, or a refusal."""

from __future__ import annotations

from typing import Any

import pytest

from kvgate.architecture import parse
from kvgate.errors import InputError

PARAMS: dict[str, Any] = {
    "dim": 4096, "n_layers": 32, "head_dim": 128, "hidden_dim": 14336, "n_heads": 32,
    "n_kv_heads": 8, "norm_eps": 1e-05, "vocab_size": 32768, "rope_theta": 1000000.0,
}  # fmt: skip


def test_it_is_the_config_json_of_the_same_model() -> None:
    config = {
        "model_type": "mistral", "architectures": ["MistralForCausalLM"], "hidden_size": 4096,
        "num_hidden_layers": 32, "head_dim": 128, "intermediate_size": 14336,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32768,
        "max_position_embeddings": 128000, "sliding_window": None, "tie_word_embeddings": False,
    }  # fmt: skip
    assert parse(PARAMS, id="x/y") == parse(config, id="x/y")


def test_a_length_and_tied_embeddings_are_taken_from_it() -> None:
    arch = parse({**PARAMS, "max_seq_len": 32768, "tied_embeddings": True}, id="x/y")
    assert arch.max_position_embeddings == 32768
    assert arch.tie_word_embeddings


@pytest.mark.parametrize(
    ("window", "kinds"),
    [
        (None, {"full": 32}),
        (4096, {"sliding": 32}),
        ([None, 4096, 4096, 4096], {"full": 8, "sliding": 24}),
        ([4096, None], {"sliding": 16, "full": 16}),
    ],
)
def test_a_window_may_be_a_pattern(window: Any, kinds: dict[str, int]) -> None:
    assert parse({**PARAMS, "sliding_window": window}, id="x/y").kinds() == kinds


@pytest.mark.parametrize("window", [[4096, 2048], [], [4096] * 5, ["4096"], [None, True, 3]])
def test_what_is_no_pattern_of_one_window_is_refused(window: Any) -> None:
    with pytest.raises(InputError, match="no pattern of one window"):
        parse({**PARAMS, "sliding_window": window}, id="x/y")


def test_the_vision_model_around_it_is_kept() -> None:
    tower = {"hidden_size": 1024, "num_hidden_layers": 24, "intermediate_size": 4096}
    arch = parse({**PARAMS, "vision_encoder": tower}, id="x/y")
    assert arch.multimodal
    assert arch.kinds() == {"full": 32}
    assert arch.architectures == ("PixtralForConditionalGeneration",)
    spoken = parse({**PARAMS, "multimodal": {"whisper_model_args": {"encoder_args": {}}}}, id="x")
    assert spoken.architectures == ("VoxtralForConditionalGeneration",)


@pytest.mark.parametrize(
    ("said", "method"),
    [
        ({"qformat_weight": "fp8_e4m3", "qscheme_act": "TENSOR"}, "fp8"),
        ({"quant_method": "compressed_tensors", "config_groups": {}}, "compressed-tensors"),
    ],
)
def test_its_quantisation_is_read(said: dict[str, Any], method: str) -> None:
    found = parse({**PARAMS, "quantization": said}, id="x/y").quantization
    assert found is not None
    assert found.method == method


def test_a_quantisation_that_is_not_known_is_refused() -> None:
    with pytest.raises(InputError, match="none that kvgate knows"):
        parse({**PARAMS, "quantization": {"qformat_weight": "int3"}}, id="x/y")


def test_a_mamba_models_file_is_refused() -> None:
    with pytest.raises(InputError, match=r"pass its config\.json"):
        parse({**PARAMS, "model_type": "mamba"}, id="x/y")


@pytest.mark.parametrize("layers", [None, 10**30, "32", -4, 33])
def test_a_pattern_over_no_number_of_layers_is_refused(layers: Any) -> None:
    with pytest.raises(InputError):
        parse({**PARAMS, "n_layers": layers, "sliding_window": [None, 4096]}, id="x/y")
