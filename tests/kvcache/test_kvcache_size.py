"""The facade: its JSON contract, its explanation, and what it refuses."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from kvgate.architecture import model
from kvgate.errors import InputError
from kvgate.kvcache import Sizing, size
from kvgate.kvcache.llamacpp import LlamaOptions
from kvgate.kvcache.plot import plot_svg
from kvgate.kvcache.sglang_options import SglangOptions
from kvgate.kvcache.trtllm import TrtllmOptions
from kvgate.units import GiB

_LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
_CONTRACT = {
    "kv": {
        "dtype", "bytes_per_token", "bytes_per_token_per_rank", "window_bytes_per_sequence",
        "state_bytes_per_sequence", "sequence_bytes",
    },
    "pool": {
        "bytes_per_rank", "block_size", "blocks", "tokens", "max_concurrency",
        "max_model_len_that_fits",
    },
    "weights": {"bytes_per_rank", "basis"},
    "model": {"id", "layers"},
}  # fmt: skip


def _llama(**asked: Any) -> Sizing:
    return size(_LLAMA, engine="vllm==0.33.0", **asked)


def test_the_json_keeps_its_contract() -> None:
    found = json.loads(json.dumps(_llama(gpu="H100", max_model_len=131_072).to_json()))
    assert found["schema_version"] == 1
    assert set(found) == {
        "schema_version", "model", "kv", "pool", "weights", "fits", "assumptions", "explanation",
    }  # fmt: skip
    for part, keys in _CONTRACT.items():
        assert keys <= set(found[part])
    layer = found["model"]["layers"][0]
    assert layer["kind"] == "full"
    assert (layer["count"], layer["kv_heads"], layer["head_dim"]) == (32, 8, 128)
    assert found["kv"]["bytes_per_token"] == 131_072
    assert found["fits"] is True
    assert found["weights"]["bytes_per_rank"] == pytest.approx(16.06e9, rel=0.01)


def test_without_a_gpu_only_the_need_is_answered() -> None:
    found = _llama().to_json()
    assert found["fits"] is None
    assert set(found["pool"].values()) == {None}
    assert found["kv"]["sequence_bytes"] == 16 * GiB


def test_the_explanation_shows_formula_pool_and_longest() -> None:
    text = "\n".join(_llama(kv_cache_memory=40 * GiB, max_model_len=32_768).explanation)
    assert "32 layers x 8 KV heads x 512 B" in text
    assert "20,480 blocks / 2,048 a request = 10.00x" in text
    assert "the longest sequence that fits has 327,664 tokens" in text


def test_a_pool_that_is_too_small_says_so_in_the_engines_words() -> None:
    sizing = _llama(kv_cache_memory=4 * GiB, max_model_len=131_072)
    assert sizing.fits is False
    assert sizing.pool is not None
    assert sizing.pool.refusal is not None
    assert "(131072), (16.0 GiB KV cache is needed" in sizing.pool.refusal
    assert "estimated maximum model length is 32752" in sizing.pool.refusal
    assert sizing.pool.longest == 32_752
    assert "to fit: max_model_len 32,752" in sizing.explanation


def test_what_would_fit_is_tried_out() -> None:
    ways = [
        line
        for line in _llama(kv_cache_memory=10 * GiB, max_model_len=131_072).explanation
        if line.startswith("to fit: ")
    ]
    assert any("kv_cache_dtype fp8 (then up to 163," in way for way in ways)
    assert not any("utilization" in way for way in ways)


def test_a_length_beyond_the_model_is_noted() -> None:
    notes = _llama(max_model_len=1 << 20).assumptions
    assert any("beyond the 131,072" in note for note in notes)


def test_the_two_meanings_of_the_token_line() -> None:
    old, new = (
        size(
            "google/gemma-4-31B-it", engine=f"vllm=={version}", kv_cache_memory=60 * GiB,
            max_model_len=65_536, max_num_batched_tokens=8192,
        )
        for version in ("0.19.0", "0.20.2")
    )  # fmt: skip
    assert old.pool is not None
    assert new.pool is not None
    assert old.pool.blocks == new.pool.blocks
    assert old.pool.max_concurrency == new.pool.max_concurrency
    assert new.tokens == int((new.max_concurrency or 0) * 65_536)
    assert old.tokens != new.tokens


def test_windowed_layers_reserve_for_two_batches_in_flight_from_0_26_on() -> None:
    one, two, off = (
        size(
            "openai/gpt-oss-120b", engine=f"vllm=={version}", kv_cache_memory=40 * GiB,
            max_model_len=131_072, max_num_batched_tokens=8192, async_scheduling=asynchronous,
        ).max_concurrency
        for version, asynchronous in (("0.25.0", None), ("0.26.0", None), ("0.26.0", False))
    )  # fmt: skip
    assert one == off
    assert two is not None
    assert one is not None
    assert two < one


def test_prefix_caching_costs_a_hybrid_a_second_state_block() -> None:
    with_it, without = (
        size(
            "Qwen/Qwen3-Next-80B-A3B-Instruct",
            engine="vllm==0.27.0",
            kv_cache_memory=20 * GiB,
            max_model_len=8192,
            prefix_caching=on,
        ).pool
        for on in (True, False)
    )
    assert with_it is not None
    assert without is not None
    assert with_it.blocks == without.blocks
    assert (with_it.max_concurrency or 0) < (without.max_concurrency or 0)


def test_a_hybrid_on_a_h100_holds_prefill_checkpoints_from_0_33_on() -> None:
    blocks = [
        size(
            "Qwen/Qwen3-Next-80B-A3B-Instruct", engine=f"vllm=={version}", gpu="H100", tp=4,
            kv_cache_memory=20 * GiB, max_model_len=8192,
        ).pool
        for version in ("0.32.0", "0.33.0")
    ]  # fmt: skip
    assert blocks[0] is not None
    assert blocks[1] is not None
    assert (blocks[0].block_size, blocks[1].block_size) == (272, 320)


def test_decode_context_parallelism_multiplies_the_token_line() -> None:
    one, eight = (
        size("moonshotai/Kimi-K2-Instruct", engine="vllm==0.19.0", tp=8, dcp=dcp,
             kv_cache_memory=int(46.8 * GiB), max_model_len=131_072).tokens
        for dcp in (1, 8)
    )  # fmt: skip
    assert eight == 8 * (one or 0)


def test_the_smallest_stage_sets_the_pool() -> None:
    even = _llama(pp=2, kv_cache_memory=[10 * GiB, 10 * GiB]).pool
    uneven = _llama(pp=2, kv_cache_memory=[10 * GiB, 5 * GiB]).pool
    assert even is not None
    assert uneven is not None
    assert uneven.blocks == (even.blocks or 0) // 2


def test_every_engine_answers() -> None:
    for engine in ("vllm", "sglang", "llama.cpp", "tensorrt-llm"):
        found = size(_LLAMA, engine=engine, gpu="H100", max_model_len=32_768)
        assert found.fits
        assert found.tokens
        assert found.pool is not None
        low, likely, high = found.pool.memory.low, found.pool.memory.likely, found.pool.memory.high
        assert 0 < low <= likely <= high < 79.65 * GiB


def test_two_stages_in_sglang_hold_twice_the_tokens() -> None:
    one, two = (
        size(_LLAMA, engine="sglang", pp=pp, kv_cache_memory=10 * GiB).tokens for pp in (1, 2)
    )
    assert two == 2 * (one or 0)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"engine": "vlm"}, "unknown engine 'vlm'"),
        ({"engine": "vllm==soon"}, "not a version"),
        ({"engine": "vllm==0.6.0", "kv_cache_memory": GiB}, "older than the oldest"),
        ({"gpu": "H101"}, "unknown GPU"),
        ({"kv_cache_dtype": "fp9"}, "no KV dtype 'fp9'"),
        ({"kv_cache_dtype": "fp8_ds_mla"}, "for sparse MLA models"),
        ({"kv_cache_dtype": "octave_k3v4"}, "does not know the bytes"),
        ({"dtype": "int3"}, "unknown dtype 'int3'"),
        ({"max_model_len": 0}, "must be at least 1"),
        ({"kv_cache_memory": -1}, "impossible"),
        ({"kv_cache_memory": [GiB, GiB]}, "2 memory figures for 1 pipeline stages"),
        ({"weights_bytes": -5, "gpu": "H100"}, "impossible"),
        ({"kv_cache_memory": GiB, "block_size": 0, "max_model_len": 16}, "block size 0"),
        ({"kv_cache_memory": GiB, "mamba_cache_mode": "alin"}, "has no mamba_cache_mode"),
        ({"kv_cache_memory": GiB, "options": LlamaOptions()}, "takes no LlamaOptions"),
    ],
)  # fmt: skip
def test_what_is_unknown_or_impossible_is_named(asked: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        size(_LLAMA, **{"engine": "vllm==0.33.0", **asked})


def test_an_unknown_model_is_an_error() -> None:
    with pytest.raises(InputError, match="not in the catalogue"):
        size("nobody/knows-this-one")


def test_a_newer_version_is_answered_with_a_note() -> None:
    found = size(_LLAMA, engine="vllm==0.99.0", kv_cache_memory=GiB)
    assert any("newer than the rules known" in note for note in found.assumptions)


def test_engines_refuse_what_they_cannot_do() -> None:
    with pytest.raises(InputError, match="splits layers over cards"):
        size(_LLAMA, engine="llama.cpp", tp=2, kv_cache_memory=GiB)
    with pytest.raises(InputError, match="expanded heads or the latent"):
        size("deepseek-ai/DeepSeek-V3", engine="llama.cpp", kv_cache_memory=GiB)
    with pytest.raises(InputError, match="TensorRT-LLM's pools for mamba2 layers"):
        size("nvidia/Nemotron-H-56B-Base-8K", engine="tensorrt-llm", kv_cache_memory=GiB)
    with pytest.raises(InputError, match="unknown Mamba cache strategy"):
        SglangOptions(mamba_strategy="extra")
    with pytest.raises(InputError, match="in range"):
        SglangOptions(swa_full_tokens_ratio=1.5)
    with pytest.raises(InputError, match="tokens_per_block"):
        TrtllmOptions(tokens_per_block=0)


def test_the_plot_draws_the_need_and_the_pool() -> None:
    sizing = size(
        "google/gemma-3-27b-it", engine="vllm==0.33.0", kv_cache_memory=20 * GiB,
        max_model_len=131_072,
    )  # fmt: skip
    values = sizing.plot(points=5)
    # Evenly, and where the window of 1,024 tokens stops the local layers.
    assert [tokens for tokens, _, _ in values] == [0, 1024, 32_768, 65_536, 98_304, 131_072]
    assert values[-1][1] == sizing.needs.rank_sequence_bytes(131_072)
    svg = plot_svg(sizing)
    assert svg.startswith("<svg")
    assert "pool 20.00 GiB" in svg
    assert "google/gemma-3-27b-it" in svg
    # The engine reserves more than the need, so the pool is full long before the lines cross.
    assert sizing.pool is not None
    assert sizing.pool.longest is not None
    assert sizing.pool.longest < sizing.needs.tokens_that_fit(20 * GiB, 1 << 24)


def test_the_plot_marks_the_longest_sequence_and_the_range_of_the_pool() -> None:
    sizing = size("google/gemma-4-31B-it", gpu="H100", engine="vllm==0.33.0")
    assert sizing.pool is not None
    assert sizing.pool.longest is not None
    svg = plot_svg(sizing)
    assert f"longest that fits: {sizing.pool.longest:,}" in svg
    assert f"pool {sizing.pool.memory.likely / GiB:.2f} GiB (" in svg
    numbers = [float(n) for n in re.findall(r' x="([\d.]+)"', svg)]
    assert all(0 <= x <= 720 for x in numbers)
    assert "<script" not in svg


def test_a_parsed_architecture_is_sized_as_its_catalogue_entry() -> None:
    arch = model(_LLAMA)
    assert size(arch, kv_cache_memory=GiB).to_json() == size(_LLAMA, kv_cache_memory=GiB).to_json()


def test_the_plot_marks_the_longest_sequence_only_where_the_axis_goes_on() -> None:
    for length, marked in ((8192, True), (4096, False), (2048, False)):
        # 4,096 tokens of 131,072 bytes, and the null block's 16.
        pool = _llama(max_model_len=length, kv_cache_memory=(4096 + 16) * 131_072)
        assert pool.pool is not None
        assert pool.pool.longest == 4096
        assert ("longest that fits" in plot_svg(pool)) is marked


def test_the_plot_has_five_lengths_a_frame_and_the_pools_range_over_its_width() -> None:
    svg = plot_svg(size("google/gemma-4-31B-it", gpu="H100", engine="vllm==0.33.0"))
    shown = re.findall(r'<text x="([\d.]+)" y="368" text-anchor="(\w+)">([\d,]+)</text>', svg)
    assert [tokens for _, _, tokens in shown] == ["0", "65,536", "131,072", "196,608", "262,144"]
    assert [float(x) for x, _, _ in shown] == [60.0, 219.0, 378.0, 537.0, 696.0]
    assert [anchor for _, anchor, _ in shown] == ["middle"] * 4 + ["end"]
    assert '<rect width="720" height="400" fill="white"/>' in svg
    (width,) = re.findall(r'<rect x="60" y="[\d.]+" width="(\d+)"', svg)
    assert width == "636"


def test_the_plot_of_a_model_that_keeps_nothing_by_the_token_is_drawn_all_the_same() -> None:
    svg = plot_svg(size("tiiuae/falcon-mamba-7b", max_model_len=1))
    assert "longest" not in svg
