"""TensorRT-LLM's pools: one for all layers, or one for each window that is told."""

from __future__ import annotations

import pytest

from kvgate.errors import InputError
from kvgate.kvcache import Sizing, size
from kvgate.kvcache.answer import PoolAnswer
from kvgate.kvcache.trtllm import TrtllmOptions
from kvgate.units import GiB

# gpt-oss-20b: 12 full and 12 sliding layers of 8 KV heads of 64, window 128: 2,048 B a layer.
_GPT_OSS = "openai/gpt-oss-20b"
_LENGTH = 131_072


def _pool(sizing: Sizing) -> PoolAnswer:
    assert sizing.pool is not None
    return sizing.pool


def test_windowed_layers_are_kept_whole_where_no_window_is_told() -> None:
    sizing = size(_GPT_OSS, engine="tensorrt-llm", kv_cache_memory=24 * GiB, max_model_len=_LENGTH)
    pool = _pool(sizing)
    assert pool.blocks == 24 * GiB // (24 * 2048 * 32)
    assert pool.tokens == pool.blocks * 32
    assert pool.max_concurrency == pool.tokens / _LENGTH
    # The model needs half of it and a little: the pool is what the engine keeps.
    assert sizing.needs.bytes_per_token == 12 * 2048
    assert any("kept whole" in note for note in sizing.assumptions)


def test_each_window_that_is_told_has_an_equal_share_of_the_memory() -> None:
    options = TrtllmOptions(max_attention_window=(128, _LENGTH))
    sizing = size(
        _GPT_OSS, engine="tensorrt-llm", kv_cache_memory=24 * GiB, max_model_len=_LENGTH,
        options=options,
    )  # fmt: skip
    pool = _pool(sizing)
    blocks = 12 * GiB // (12 * 2048 * 32)
    assert dict(pool.extra) == {"windows": {"128": blocks, str(_LENGTH): blocks}}
    # The full layers decide: a request takes 4,096 blocks there, and 4 in the window's pool.
    assert pool.max_concurrency == blocks / 4096
    assert pool.longest == blocks * 32
    assert not any("kept whole" in note for note in sizing.assumptions)


def test_where_every_layer_forgets_no_length_fills_the_pool() -> None:
    options = TrtllmOptions(max_attention_window=(4096,))
    sizing = size(
        "meta-llama/Llama-3.1-8B-Instruct", engine="tensorrt-llm", kv_cache_memory=GiB,
        max_model_len=_LENGTH, options=options,
    )  # fmt: skip
    pool = _pool(sizing)
    assert pool.blocks == GiB // (131_072 * 32) == 256
    assert pool.max_concurrency == 256 / 128
    assert pool.fits
    assert pool.longest == _LENGTH


def test_the_stage_with_the_most_to_keep_decides() -> None:
    whole = _pool(size(_GPT_OSS, engine="tensorrt-llm", kv_cache_memory=GiB, max_model_len=8192))
    halves = _pool(
        size(_GPT_OSS, engine="tensorrt-llm", kv_cache_memory=GiB, max_model_len=8192, pp=2)
    )
    assert whole.blocks is not None
    assert halves.blocks == GiB // (12 * 2048 * 32)
    assert halves.blocks >= 2 * whole.blocks


def test_a_window_of_no_tokens_is_refused() -> None:
    with pytest.raises(InputError, match="max_attention_window"):
        TrtllmOptions(max_attention_window=(0,))
