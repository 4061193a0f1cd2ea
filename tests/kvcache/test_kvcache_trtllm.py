"""TensorRT-LLM's pools: one for all layers, or one for each window that is told."""

from __future__ import annotations

from typing import Any

import pytest

from kvgate.architecture import Architecture, Attention, LayerGroup, NoCache, model
from kvgate.catalog import gpu
from kvgate.errors import InputError
from kvgate.kvcache import Sizing, size
from kvgate.kvcache.answer import PoolAnswer
from kvgate.kvcache.reserve import visible_bytes
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
    assert pool.longest is None


def test_the_stage_with_the_most_to_keep_decides() -> None:
    whole = _pool(size(_GPT_OSS, engine="tensorrt-llm", kv_cache_memory=GiB, max_model_len=8192))
    halves = _pool(
        size(_GPT_OSS, engine="tensorrt-llm", kv_cache_memory=GiB, max_model_len=8192, pp=2)
    )
    assert whole.blocks is not None
    assert halves.blocks == GiB // (12 * 2048 * 32)
    assert halves.blocks >= 2 * whole.blocks


# Full layers of 8 KV heads of 128 in 16 bits: 4,096 B of a token each.
_FULL = Attention("full", 32, 8, 128, 128)


def _asked(layers: int | tuple[LayerGroup, ...], **asked: Any) -> Sizing:
    groups = layers
    if isinstance(groups, int):
        groups = (LayerGroup(_FULL, tuple(range(groups)), ()),)
    arch = Architecture(
        id="any", model_type="any", architectures=(), groups=groups,
        num_layers=sum(group.count for group in groups), hidden_size=4096, vocab_size=32_000,
        query_heads=32, dtype="bfloat16", max_position_embeddings=_LENGTH,
    )  # fmt: skip
    windows = asked.pop("windows", ())
    options = TrtllmOptions(max_attention_window=windows, **asked.pop("settings", {}))
    return size(arch, engine="tensorrt-llm", options=options, weights_bytes=8 * GiB, **asked)


def test_the_windows_are_repeated_over_the_layers() -> None:
    sizing = _asked(5, windows=(1024, 2048, 4096), kv_cache_memory=3 * GiB, max_model_len=4096)
    pool = _pool(sizing)
    # Layers 0 and 3, 1 and 4, 2: the last window has half as much to keep in its third.
    two, one = GiB // (2 * 4096 * 32), GiB // (4096 * 32)
    assert dict(pool.extra) == {"windows": {"1024": two, "2048": two, "4096": one}}
    assert pool.blocks == two + two + one
    assert pool.lines == (
        "2 layers keep 1,024 tokens: 3.00 GiB / 3 / (32 tokens x 8.00 KiB) = 4,096 blocks",
        "2 layers keep 2,048 tokens: 3.00 GiB / 3 / (32 tokens x 8.00 KiB) = 4,096 blocks",
        "1 layer keeps 4,096 tokens: 3.00 GiB / 3 / (32 tokens x 4.00 KiB) = 8,192 blocks",
    )
    # 4,096 tokens are 32 blocks of the first pool, 64 of the second, 128 of the third.
    assert pool.max_concurrency == 4096 / 64
    assert pool.longest == one * 32


def test_a_window_beyond_the_length_is_the_length() -> None:
    pool = _pool(_asked(4, windows=(9000, 4096), kv_cache_memory=GiB, max_model_len=4096))
    assert pool.blocks == GiB // (4 * 4096 * 32)
    assert pool.extra == ()
    assert pool.max_concurrency == GiB // (4 * 4096 * 32) * 32 / 4096


def test_a_request_takes_whole_blocks_of_each_window() -> None:
    pool = _pool(_asked(2, windows=(33, 100), kv_cache_memory=2 * GiB, max_model_len=100))
    blocks = GiB // (4096 * 32)
    assert dict(pool.extra) == {"windows": {"33": blocks, "100": blocks}}
    assert pool.max_concurrency == blocks / 4


def test_a_stage_that_lacks_a_window_leaves_its_share_to_the_others() -> None:
    # Three layers on two stages: the first has one, of the first window, the second has both.
    pool = _pool(_asked(3, windows=(1024, 4096), kv_cache_memory=GiB, max_model_len=4096, pp=2))
    half = GiB // 2 // (4096 * 32)
    assert dict(pool.extra) == {"windows": {"1024": half, "4096": half}}
    # With one window they share nothing: the stage with two layers has the fewest blocks.
    alone = _pool(_asked(3, kv_cache_memory=GiB, max_model_len=4096, pp=2))
    assert alone.blocks == GiB // (2 * 4096 * 32)
    assert alone.lines == ("1.00 GiB / (32 tokens x 8.00 KiB) = 4,096 blocks",)


def test_layers_that_keep_nothing_take_no_turn_of_the_windows() -> None:
    groups = (
        LayerGroup(_FULL, (0, 2), ()),
        LayerGroup(NoCache("no-op"), (1,), ()),
    )
    pool = _pool(_asked(groups, windows=(1024, 4096), kv_cache_memory=GiB, max_model_len=4096))
    half = GiB // 2 // (4096 * 32)
    assert dict(pool.extra) == {"windows": {"1024": half, "4096": half}}


def test_windows_whose_pool_holds_no_request_bound_the_length() -> None:
    pool = _pool(_asked(1, windows=(2048,), kv_cache_memory=GiB // 256, max_model_len=4096))
    assert pool.blocks == 32
    assert pool.longest == 32 * 32
    assert pool.max_concurrency == 32 / 64
    assert not pool.fits
    just = _pool(_asked(1, windows=(2048,), kv_cache_memory=GiB // 128, max_model_len=4096))
    assert (just.blocks, just.max_concurrency, just.fits) == (64, 1.0, True)
    assert just.longest is None  # every layer forgets what is beyond its window
    much = _pool(_asked(1, windows=(2048,), kv_cache_memory=GiB, max_model_len=4096))
    assert much.longest is None


def test_where_one_pool_of_two_holds_no_request_the_length_stays_bounded() -> None:
    groups = (LayerGroup(_FULL, tuple(range(3)), ()),)
    pool = _pool(
        _asked(groups, windows=(1024, 2048, 1024), kv_cache_memory=GiB // 64, max_model_len=4096)
    )
    # 8 MiB for each: 32 blocks for the two layers of 1,024 tokens, 64 for the one of 2,048.
    assert dict(pool.extra) == {"windows": {"1024": 32, "2048": 64}}
    assert (pool.max_concurrency, pool.longest, pool.fits) == (1.0, None, True)
    # 48 blocks for each of two layers hold the first window but not the second.
    half = _pool(_asked(2, windows=(1024, 2048), kv_cache_memory=12 << 20, max_model_len=4096))
    assert dict(half.extra) == {"windows": {"1024": 48, "2048": 48}}
    assert (half.longest, half.fits) == (48 * 32, False)
    less = _pool(
        _asked(groups, windows=(1024, 2048, 1024), kv_cache_memory=GiB // 65, max_model_len=4096)
    )
    assert dict(less.extra) == {"windows": {"1024": 31, "2048": 63}}
    assert (less.longest, less.fits) == (63 * 32, False)
    assert less.max_concurrency == 31 / 32


def test_the_block_is_the_settings_or_what_is_asked_for() -> None:
    assert _pool(_asked(1, kv_cache_memory=GiB)).block_size == 32
    settings = {"tokens_per_block": 64}
    assert _pool(_asked(1, kv_cache_memory=GiB, settings=settings)).block_size == 64
    asked = _pool(_asked(1, kv_cache_memory=GiB, settings=settings, block_size=16))
    assert (asked.block_size, asked.blocks) == (16, GiB // (4096 * 16))


def test_pools_are_told_from_the_shortest_window_on() -> None:
    pool = _pool(_asked(2, windows=(4096, 1024), kv_cache_memory=GiB, max_model_len=4096))
    ((name, windows),) = pool.extra
    assert name == "windows"
    assert isinstance(windows, dict)
    assert list(windows) == ["1024", "4096"]
    assert [line[:19] for line in pool.lines] == ["1 layer keeps 1,024", "1 layer keeps 4,096"]


def test_blocks_are_whole() -> None:
    pool = _pool(_asked(1, kv_cache_memory=3 * 4096 * 32 - 1, max_model_len=64))
    assert (pool.blocks, pool.tokens, pool.max_concurrency) == (2, 64, 1.0)
    assert pool.fits
    small = _pool(_asked(1, kv_cache_memory=3 * 4096 * 32 - 1, max_model_len=65))
    assert not small.fits
    assert small.max_concurrency == 64 / 65


def test_ranks_with_unlike_memory_have_the_blocks_of_the_least() -> None:
    pool = _pool(_asked(1, kv_cache_memory=[2 * GiB, GiB], max_model_len=64, pp=1, tp=2))
    assert pool.memory.likely == pool.memory.low == pool.memory.high == GiB


def test_the_fraction_is_of_what_the_weights_and_the_runtime_leave() -> None:
    sizing = _asked(32, gpu="H100", max_model_len=4096)
    memory = _pool(sizing).memory
    left = visible_bytes(gpu("H100")) - 8 * GiB
    assert memory.low == int((left - 6 * GiB) * 0.9)
    assert memory.likely == int((left - 2.5 * GiB) * 0.9)
    assert memory.high == int((left - 0.8 * GiB) * 0.9)
    assert any("0.8 to 6 GiB" in note for note in sizing.assumptions)
    half = _asked(32, gpu="H100", max_model_len=64, settings={"free_gpu_memory_fraction": 0.5})
    assert _pool(half).memory.likely == int((left - 2.5 * GiB) * 0.5)
    assert not any("kept whole" in note for note in sizing.assumptions)


def test_weights_that_fill_the_card_leave_no_block() -> None:
    small = size(
        "meta-llama/Llama-3.1-8B-Instruct", gpu="L4", engine="tensorrt-llm",
        weights_bytes=30 * GiB, max_model_len=4096,
    )  # fmt: skip
    pool = _pool(small)
    assert (pool.blocks, pool.tokens, pool.max_concurrency, pool.fits) == (0, 0, 0, False)
    told = size(
        "meta-llama/Llama-3.1-8B-Instruct", gpu="L4", engine="tensorrt-llm",
        weights_bytes=30 * GiB, max_model_len=4096,
        options=TrtllmOptions(max_attention_window=(1024, 4096)),
    )  # fmt: skip
    assert dict(_pool(told).extra) == {"windows": {"1024": 0, "4096": 0}}


def test_latent_attention_has_a_pool_too() -> None:
    pool = _pool(
        size("deepseek-ai/DeepSeek-V3", engine="tensorrt-llm", kv_cache_memory=GiB,
             max_model_len=4096, tp=8)
    )  # fmt: skip
    # 61 layers of 512 + 64 numbers, on every rank.
    assert pool.blocks == GiB // (61 * 576 * 2 * 32)


@pytest.mark.parametrize(
    "name", ["Qwen/Qwen3-Next-80B-A3B-Instruct", "meta-llama/Llama-3.2-90B-Vision-Instruct"]
)
def test_layers_whose_pools_are_not_known_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="does not know TensorRT-LLM's pools for"):
        size(model(name), engine="tensorrt-llm", kv_cache_memory=GiB, max_model_len=448)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"max_attention_window": (0,)}, "max_attention_window"),
        ({"max_attention_window": (128, 0)}, "max_attention_window"),
        ({"free_gpu_memory_fraction": 0.0}, "above 0, up to 1"),
        ({"free_gpu_memory_fraction": 1.01}, "above 0, up to 1"),
        ({"tokens_per_block": 0}, "tokens_per_block must be at least 1"),
    ],
)
def test_settings_that_hold_nothing_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        TrtllmOptions(**settings)


def test_the_least_and_the_most_are_accepted() -> None:
    TrtllmOptions(free_gpu_memory_fraction=1, tokens_per_block=1, max_attention_window=(1,))
    assert TrtllmOptions() == TrtllmOptions(0.9, 32, ())


def test_a_model_that_keeps_nothing_has_no_pool() -> None:
    groups = (LayerGroup(NoCache("no-op"), (0, 1), ()),)
    with pytest.raises(InputError, match="no layer of any keeps a KV cache"):
        _asked(groups, kv_cache_memory=GiB, max_model_len=64)
