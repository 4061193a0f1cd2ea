"""Figures that other people measured and published, reproduced to the unit."""

from __future__ import annotations

import pytest

from kvgate.architecture import Architecture, Attention, LayerGroup, ShortConv, model
from kvgate.errors import InputError
from kvgate.kvcache import needs, size
from kvgate.kvcache.llamacpp import LlamaOptions, llama_cache
from kvgate.units import GiB, MiB


def _dense(layers: int, kv_heads: int, head: int, query: int = 32) -> Architecture:
    group = LayerGroup(Attention("full", query, kv_heads, head, head), tuple(range(layers)), ())
    return Architecture(
        id="dense", model_type="llama", architectures=(), groups=(group,), num_layers=layers,
        hidden_size=1024, vocab_size=None, query_heads=query, dtype="bfloat16",
        max_position_embeddings=131_072,
    )  # fmt: skip


def test_gemma_4_31b_on_an_h200_reserves_626949_tokens() -> None:
    # configiq issue 112: 64.68 GiB, 262,144 tokens, one batch of 8,192 in flight.
    pools = [
        size(
            "google/gemma-4-31B-it", engine="vllm==0.26.0", kv_cache_memory=int(gib * GiB),
            max_model_len=262_144, max_num_batched_tokens=8192, async_scheduling=False,
        ).pool
        for gib in (64.675, 64.685)
    ]  # fmt: skip
    assert pools[0] is not None
    assert pools[1] is not None
    assert pools[0].tokens is not None
    assert pools[1].tokens is not None
    assert pools[0].tokens <= 626_949 <= pools[1].tokens


def test_the_same_model_in_nvfp4_kept_a_16_bit_cache() -> None:
    # The same issue, NVFP4 weights: 103.92 GiB gave 1,007,303 tokens.
    low, high = (
        size(
            "google/gemma-4-31B-it", engine="vllm==0.26.0", kv_cache_memory=int(gib * GiB),
            max_model_len=262_144, max_num_batched_tokens=8192, async_scheduling=False,
        ).tokens
        for gib in (103.915, 103.925)
    )  # fmt: skip
    assert low is not None
    assert high is not None
    assert low <= 1_007_303 <= high


def test_a_27b_hybrid_on_two_cards_has_208_blocks_of_1568_tokens() -> None:
    # talos-argocd-proxmox pull request 1995: fp8 KV, TP2, 4.99 GiB, 302,921 tokens, 2.31x.
    sizing = size(
        "Qwen/Qwen3.5-27B", engine="vllm==0.26.0", tp=2, kv_cache_dtype="fp8",
        kv_cache_memory=int(4.99 * GiB), max_model_len=131_072,
    )  # fmt: skip
    assert sizing.pool is not None
    assert sizing.pool.block_size == 1568
    assert sizing.pool.blocks == 208
    assert sizing.pool.tokens == 302_921
    assert sizing.pool.max_concurrency == pytest.approx(208 / 90)


def test_llama_cpp_keeps_a_27b_hybrids_cache_and_states() -> None:
    # lmstudio-bug-tracker issue 1862: 16,384 MiB at 262,144 tokens; 598.5 MiB for 4 sequences.
    cache = llama_cache(model("Qwen/Qwen3.5-27B"), 262_144, LlamaOptions(slots=4, unified=True))
    assert cache.base_bytes == 16_384 * MiB
    assert cache.state_bytes == 598.5 * MiB


def test_gemma_3_1b_needs_139_mib_at_32768_tokens() -> None:
    # mlxcel issue 172: 128 MiB growing, 11 MiB in windows.
    need = needs(model("google/gemma-3-1b-it"))
    assert need.bytes_per_token * 32_768 == 128 * MiB
    assert need.window_bytes_per_sequence == 11 * MiB
    assert need.sequence_bytes(32_768) == 139 * MiB


def test_lfm2_needs_384_mib_at_32768_tokens() -> None:
    # gguf-parser-go issue 31: 6 attention layers of 8 heads x 64 among 16.
    dense = _dense(16, 8, 64)
    attention = tuple(i for i in (2, 5, 8, 10, 12, 14))
    groups = (
        LayerGroup(dense.groups[0].layer, attention, ()),
        LayerGroup(ShortConv(2048, 3), tuple(i for i in range(16) if i not in attention), ()),
    )
    arch = Architecture(
        id="lfm2", model_type="lfm2", architectures=(), groups=groups, num_layers=16,
        hidden_size=2048, vocab_size=None, query_heads=32, dtype="bfloat16",
        max_position_embeddings=131_072,
    )  # fmt: skip
    assert needs(arch).bytes_per_token * 32_768 == 384 * MiB


def test_gpt_oss_120b_holds_73728_bytes_a_token_over_all_layers() -> None:
    # hf-mem issue 60 counts every layer.
    need = needs(model("openai/gpt-oss-120b"))
    assert need.bytes_per_token + need.whole.windows[0][1] == 73_728


def test_gemma_4_31b_on_four_cards_has_six_groups_and_two_block_sizes() -> None:
    # flashinfer issue 3327: 20,480 + 204,800 bytes a token and card, 655,360-byte blocks.
    need = needs(model("google/gemma-4-31B-it"), tp=4)
    assert need.stages[0].growing == 20_480
    assert need.stages[0].windows == ((1024, 204_800),)
    sizing = size(
        "google/gemma-4-31B-it", engine="vllm==0.26.0", tp=4, kv_cache_memory=10 * GiB,
        max_model_len=8192,
    )  # fmt: skip
    assert sizing.pool is not None
    text = "\n".join(sizing.pool.lines)
    assert "655,360 B" in text
    assert "5 groups of 10 layers, sliding window 1,024: 16 tokens" in text
    assert "1 group of 10 layers, full: 32 tokens" in text


def test_deepseek_v4_flash_on_eight_cards_is_within_the_logs_rounding() -> None:
    low, high = (
        size(
            "deepseek-ai/DeepSeek-V4-Flash", engine="vllm==0.22.1", tp=8,
            kv_cache_memory=int(gib * GiB), max_model_len=256_000, max_num_batched_tokens=8192,
        )
        for gib in (37.925, 37.935)
    )  # fmt: skip
    assert low.tokens is not None
    assert high.tokens is not None
    assert low.tokens <= 2_497_693 <= high.tokens
    assert low.max_concurrency == pytest.approx(9.76, abs=0.01)


@pytest.mark.parametrize(
    ("arch", "cells", "slots", "mib"),
    [
        (_dense(94, 4, 128, 64), 4096, 1, 752),
        (_dense(126, 8, 128, 128), 4096, 1, 2016),
        (_dense(32, 32, 96), 4096, 1, 1536),
        (_dense(4, 2, 512), 32_768, 1, 512),
    ],
)
def test_llama_cpp_allocates_what_its_log_says(
    arch: Architecture, cells: int, slots: int, mib: int
) -> None:
    assert llama_cache(arch, cells, LlamaOptions(slots=slots)).base_bytes == mib * MiB


def test_llama_cpp_keeps_a_batch_beside_the_window() -> None:
    # Two logs: 1,024 cells for a window of 512, 768 for one of 128.
    e4b = llama_cache(model("google/gemma-4-E4B-it"), 32_768, LlamaOptions())
    assert (e4b.swa_cells, e4b.swa_bytes, e4b.base_bytes) == (1024, 40 * MiB, 512 * MiB)
    oss = llama_cache(model("openai/gpt-oss-20b"), 131_072, LlamaOptions())
    assert (oss.swa_cells, oss.base_bytes) == (768, 3072 * MiB)


def test_tensorrt_llm_prints_263008_tokens_in_8219_blocks() -> None:
    sizing = size(
        "meta-llama/Llama-3.1-8B-Instruct", engine="tensorrt-llm", kv_cache_dtype="fp8",
        kv_cache_memory=8219 * 32 * 65_536,
    )  # fmt: skip
    assert sizing.pool is not None
    assert (sizing.pool.blocks, sizing.pool.tokens) == (8219, 263_008)
    assert f"{sizing.pool.memory.likely / GiB:.2f}" == "16.05"


def test_sglang_prints_2454421_tokens_of_kimi_k25() -> None:
    low, high = (
        size("moonshotai/Kimi-K2.5", engine="sglang==0.5.23", tp=8, kv_cache_dtype="bfloat16",
             kv_cache_memory=int(gib * GiB)).tokens
        for gib in (160.625, 160.635)
    )  # fmt: skip
    assert low is not None
    assert high is not None
    assert low - 1 <= 2_454_421 <= high + 1


def test_a_page_too_small_for_deepseek_v4_is_refused_by_name() -> None:
    from kvgate.kvcache.sglang_options import SglangOptions
    from kvgate.kvcache.size import size

    with pytest.raises(InputError, match="256 tokens"):
        size(
            "deepseek-ai/DeepSeek-V4-Flash", gpu="MI300X", engine="sglang==0.5.17",
            options=SglangOptions(page_size=64),
        )  # fmt: skip
