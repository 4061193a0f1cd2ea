"""llama.cpp's answers: slots, types of keys and values, and a card that is too small."""

from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner

from kvgate.cli.commands import cli
from kvgate.errors import InputError
from kvgate.kvcache import Sizing, size
from kvgate.kvcache.answer import PoolAnswer
from kvgate.kvcache.lines import sizing as lines
from kvgate.kvcache.llamacpp import LlamaOptions, slot_context
from kvgate.units import GiB

_LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


def _sized(model: str = _LLAMA, *, engine: str = "llama.cpp", **asked: Any) -> Sizing:
    return size(model, engine=engine, **{"kv_cache_memory": 8 * GiB, **asked})


def _pool(sizing: Sizing) -> PoolAnswer:
    assert sizing.pool is not None
    return sizing.pool


def _shown(*words: str) -> str:
    result = CliRunner().invoke(cli, ["size", *words])
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def test_the_context_is_of_all_slots_together() -> None:
    slots = LlamaOptions(slots=4)
    assert slot_context(32_768, slots, None) == 8192
    assert slot_context(32_768, LlamaOptions(slots=4, unified=True), None) == 32_768
    assert slot_context(0, slots, 131_072) == 32_768
    assert slot_context(0, slots, None) is None
    with pytest.raises(InputError, match="leaves none for one of 4 slots"):
        slot_context(3, slots, None)


def test_ctx_size_is_a_total_and_max_model_len_a_requests_own() -> None:
    engine = ("--engine", "llama.cpp", "--kv-cache-memory", "16", "--parallel", "4")
    total = _shown(_LLAMA, *engine, "--ctx-size", "32768")
    assert "a sequence of 8,192 tokens fits, 4.00 at once" in total
    assert "8,192 cells x 4 streams: 4.00 GiB" in total
    each = _shown(_LLAMA, *engine, "--max-model-len", "32768")
    assert "32,768 cells x 4 streams: 16.00 GiB" in each
    shared = _shown(_LLAMA, *engine, "--ctx-size", "32768", "--kv-unified")
    assert "a sequence of 32,768 tokens fits, 1.00 at once" in shared
    assert "32,768 cells x 1 stream" in shared
    other = _shown(_LLAMA, "--kv-cache-memory", "16", "--ctx-size", "32768")
    assert "a sequence of 32,768 tokens fits" in other


def test_a_length_is_given_once() -> None:
    result = CliRunner().invoke(cli, ["size", _LLAMA, "-c", "8192", "--max-model-len", "8192"])
    assert isinstance(result.exception, InputError)
    assert result.exception.message == "the length is given twice"


@pytest.mark.parametrize(
    ("keys", "values", "per_token", "dtype"),
    [
        ("f16", "f16", 131_072, "float16"),
        ("q8_0", "q8_0", 69_632, "q8_0"),
        ("q8_0", "q4_0", 53_248, "q8_0/q4_0"),
        ("f16", "q8_0", 100_352, "f16/q8_0"),
    ],
)
def test_the_types_of_keys_and_values_decide_the_need_as_they_decide_the_cache(
    keys: str, values: str, per_token: int, dtype: str
) -> None:
    sizing = _sized(
        max_model_len=4096, options=LlamaOptions(cache_type_k=keys, cache_type_v=values)
    )
    told = sizing.to_json()["kv"]
    assert (told["bytes_per_token"], told["dtype"]) == (per_token, dtype)
    assert dict(_pool(sizing).extra)["allocated_bytes"] == per_token * 4096
    same = _sized(max_model_len=4096, kv_cache_dtype=f"{keys}/{values}")
    assert same.needs.bytes_per_token == per_token


def test_a_type_that_does_not_exist_is_named_on_either_side() -> None:
    for options in (LlamaOptions(cache_type_k="q8_1"), LlamaOptions(cache_type_v="q8_1")):
        with pytest.raises(InputError, match="no KV dtype 'q8_1'"):
            _sized(options=options)
    with pytest.raises(InputError, match="given twice"):
        _sized(kv_cache_dtype="q4_0", options=LlamaOptions(cache_type_k="q8_0"))


def test_a_latent_takes_the_type_of_the_keys() -> None:
    options = LlamaOptions(cache_type_k="q8_0", cache_type_v="f16", mla="latent")
    sizing = _sized("deepseek-ai/DeepSeek-V3", max_model_len=4096, options=options)
    assert sizing.needs.bytes_per_token == 61 * 576 // 32 * 34
    assert dict(_pool(sizing).extra)["allocated_bytes"] == 61 * 576 // 32 * 34 * 4096


def test_what_an_mla_file_holds_is_an_option() -> None:
    words = ("deepseek-ai/DeepSeek-V3", "--engine", "llama.cpp", "--kv-cache-memory", "80")
    result = CliRunner().invoke(cli, ["size", *words, "-c", "4096"])
    assert isinstance(result.exception, InputError)
    assert "--gguf-mla latent" in (result.exception.hint or "")
    assert "LlamaOptions" not in (result.exception.hint or "")
    assert "4,096 cells x 1 stream: 274.50 MiB" in _shown(
        *words, "-c", "4096", "--gguf-mla", "latent"
    )


@pytest.mark.parametrize("engine", ["llama.cpp", "tensorrt-llm"])
def test_a_card_that_the_weights_exceed_has_no_memory_and_no_concurrency(engine: str) -> None:
    sizing = _sized(
        "meta-llama/Llama-3.1-70B-Instruct", engine=engine, kv_cache_memory=None, gpu="RTX 4090",
        max_model_len=4096,
    )  # fmt: skip
    pool = _pool(sizing)
    assert (pool.memory.low, pool.memory.likely, pool.memory.high) == (0, 0, 0)
    assert sizing.fits is False
    assert not pool.tokens
    assert not pool.max_concurrency
    assert "the weights alone exceed the card" in (pool.refusal or "")
    text = "\n".join(line for _, line, _ in lines(sizing))
    assert "-" not in text.partition("KV memory ")[2][:1]
    assert "1.00x" not in text
