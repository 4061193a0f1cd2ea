"""The length an engine serves where nobody names one: the config's keys, and RoPE's factor."""

from __future__ import annotations

from typing import Any

import pytest
from packaging.version import Version

from kvgate.architecture import Architecture, parse
from kvgate.errors import InputError
from kvgate.kvcache import size
from kvgate.kvcache.length import length

LLAMA: dict[str, Any] = {
    "model_type": "llama", "num_hidden_layers": 2, "hidden_size": 4096,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000,
}  # fmt: skip
MAMBA: dict[str, Any] = {
    "model_type": "mamba", "num_hidden_layers": 2, "hidden_size": 2560, "state_size": 16,
    "conv_kernel": 4, "intermediate_size": 5120, "vocab_size": 50280,
}  # fmt: skip
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}


def _model(**keys: Any) -> Architecture:
    return parse({**LLAMA, **keys}, id="a/b")


def _tokens(arch: Architecture, engine: str = "vllm", version: str = "0.33.0") -> int:
    return length(arch, None, engine=engine, version=Version(version)).tokens


@pytest.mark.parametrize(
    ("keys", "before", "after", "sglang"),
    [
        ({"max_position_embeddings": 8192}, 8192, 8192, 8192),
        # Qwen's cards: YaRN switched on over the config's own 40,960.
        ({"max_position_embeddings": 40960, "rope_scaling": YARN}, 131072, 40960, 40960),
        ({"max_position_embeddings": 131072, "rope_scaling": YARN}, 131072, 131072, 131072),
        (
            {"max_position_embeddings": 8192, "rope_scaling": {"type": "linear", "factor": 4.0}},
            32768, 32768, 32768,
        ),
        (
            {"max_position_embeddings": 32768, "rope_scaling": {"type": "dynamic", "factor": 2.0}},
            65536, 65536, 65536,
        ),
        (
            {"max_position_embeddings": 131072, "rope_scaling": {
                "rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192}},
            131072, 131072, 131072,
        ),
        (
            {"max_position_embeddings": 131072, "rope_scaling": {
                "type": "longrope", "original_max_position_embeddings": 4096}},
            4096, 4096, 131072,
        ),
        # Command-R: the key of its own goes before.
        ({"max_position_embeddings": 8192, "model_max_length": 131072}, 131072, 131072, 131072),
        ({"max_position_embeddings": 8192, "max_seq_len": 4096}, 4096, 4096, 4096),
    ],
)  # fmt: skip
def test_the_length_by_engine_and_version(
    keys: dict[str, Any], before: int, after: int, sglang: int
) -> None:
    arch = _model(**keys)
    assert _tokens(arch, version="0.29.0") == before
    assert _tokens(arch, version="0.30.0") == after
    assert _tokens(arch, "sglang", "0.5.23") == sglang


def test_gemma_3_has_its_factor_already() -> None:
    arch = parse(
        {
            **LLAMA, "model_type": "gemma3_text", "max_position_embeddings": 131072,
            "sliding_window": 1024, "rope_scaling": {"rope_type": "linear", "factor": 8.0},
        },
        id="a/b",
    )  # fmt: skip
    assert _tokens(arch) == _tokens(arch, "sglang", "0.5.23") == 131072
    # With transformers 4 SGLang saw the factor, and multiplied.
    assert _tokens(arch, "sglang", "0.5.9") == 8 * 131072


def test_a_model_without_attention_has_the_engines_2048() -> None:
    sizing = size(parse(MAMBA, id="a/b"))
    assert sizing.max_model_len == 2048
    assert any("vllm takes 2,048" in note for note in sizing.assumptions)


def test_attention_without_a_length_is_asked_for_one() -> None:
    with pytest.raises(InputError, match="names no maximum length"):
        size(_model())
    assert size(_model(), max_model_len=4096).max_model_len == 4096


def test_longrope_says_what_it_could_have() -> None:
    sizing = size("microsoft/Phi-3.5-mini-instruct")
    assert sizing.max_model_len == 4096
    assert any("not the 131,072" in note for note in sizing.assumptions)
    longer = size("microsoft/Phi-3.5-mini-instruct", max_model_len=131072)
    assert not any("131,072" in note for note in longer.assumptions)


def test_beyond_the_derived_length_is_said() -> None:
    arch = _model(max_position_embeddings=8192, rope_scaling={"type": "linear", "factor": 4.0})
    assert not any("beyond" in note for note in size(arch, max_model_len=32768).assumptions)
    assert any(
        "32,769 tokens is beyond the 32,768 that the config of a/b gives vllm" in note
        for note in size(arch, max_model_len=32769).assumptions
    )
