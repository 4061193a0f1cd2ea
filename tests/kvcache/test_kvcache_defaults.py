"""What vLLM sets by itself, by version, model and card: batches, modes, KV dtype, page widths."""

from __future__ import annotations

from dataclasses import replace
from math import gcd
from typing import Any

import pytest
from packaging.version import Version

from kvgate import model
from kvgate.architecture import Architecture, Quantization, parse
from kvgate.catalog.gpus import gpu
from kvgate.errors import InputError
from kvgate.kvcache import size
from kvgate.kvcache.choice import choose_format
from kvgate.kvcache.request import Request
from kvgate.kvcache.vllm import Defaults, vllm_defaults
from kvgate.kvcache.vllm_rules import vllm_rules
from kvgate.units import GiB

DENSE = model("Qwen/Qwen3-8B")
ROUTED = model("Qwen/Qwen3-30B-A3B")
HYBRID = model("Qwen/Qwen3-Next-80B-A3B-Instruct")
MAMBA2 = model("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16")


def _defaults(arch: Architecture, version: str, **asked: Any) -> Defaults:
    request = Request(
        arch=arch, gpu=gpu("h200"), engine="vllm", version=Version(version), tp=1, pp=1, dcp=1,
        kv_cache_dtype="auto", dtype="auto", ssm_dtype="auto", max_model_len=32_768,
        block_size=None, max_num_batched_tokens=None, max_num_seqs=None,
        gpu_memory_utilization=None, memory=None, prefix_caching=None, weights_bytes=None,
        speculative=0, async_scheduling=None, hybrid=True, mamba_cache_mode=None,
        enforce_eager=False, encoder_tokens=None,
    )  # fmt: skip
    return vllm_defaults(replace(request, **asked), vllm_rules(Version(version)))


@pytest.mark.parametrize(
    ("arch", "version", "asked", "batches"),
    [
        (DENSE, "0.25.1", {}, 1),
        (DENSE, "0.26.0", {}, 2),
        (DENSE, "0.26.0", {"async_scheduling": False}, 1),
        (DENSE, "0.26.0", {"pp": 4}, 5),
        # With pipeline stages, asynchronous scheduling needs the V2 runner: all models from 0.29.
        (ROUTED, "0.26.0", {"pp": 4}, 4),
        (HYBRID, "0.28.0", {"pp": 2}, 2),
        (HYBRID, "0.29.0", {"pp": 2}, 3),
        (ROUTED, "0.33.0", {"pp": 2, "async_scheduling": False}, 2),
    ],
)
def test_batches_in_flight(
    arch: Architecture, version: str, asked: dict[str, Any], batches: int
) -> None:
    found = _defaults(arch, version, **asked)
    assert found.in_flight == batches * found.max_num_batched_tokens


def test_a_batch_follows_the_card_and_is_capped_by_what_the_requests_can_hold() -> None:
    assert _defaults(DENSE, "0.33.0").max_num_batched_tokens == 8192
    small = _defaults(DENSE, "0.33.0", gpu=gpu("l4"))
    assert small.max_num_batched_tokens == 2048
    assert _defaults(DENSE, "0.33.0", max_model_len=16, max_num_seqs=4).max_num_batched_tokens == 64
    assert _defaults(DENSE, "0.33.0", max_num_batched_tokens=100).max_num_seqs == 100


def test_gemma_4_batches_hold_a_whole_video() -> None:
    arch = model("google/gemma-4-31B-it")
    assert _defaults(arch, "0.33.0", gpu=gpu("l4")).max_num_batched_tokens == 2496
    assert _defaults(arch, "0.21.0", gpu=gpu("l4")).max_num_batched_tokens == 2048


@pytest.mark.parametrize(
    ("arch", "version", "asked", "mode", "prefix"),
    [
        (HYBRID, "0.25.1", {}, "none", False),
        (HYBRID, "0.26.0", {}, "align", True),
        (HYBRID, "0.33.0", {"prefix_caching": False}, "none", False),
        (HYBRID, "0.33.0", {"mamba_cache_mode": "none"}, "align", True),
        (MAMBA2, "0.31.0", {"mamba_cache_mode": "all"}, "all", True),
        (DENSE, "0.33.0", {}, "none", True),
        (model("tiiuae/falcon-mamba-7b"), "0.33.0", {}, "none", False),
    ],
)
def test_a_hybrids_mode(
    arch: Architecture, version: str, asked: dict[str, Any], mode: str, prefix: bool
) -> None:
    found = _defaults(arch, version, **asked)
    assert (found.mamba_mode, found.prefix_caching) == (mode, prefix)


def test_the_mode_all_went_in_0_32() -> None:
    with pytest.raises(InputError, match="no mamba_cache_mode 'all'"):
        _defaults(MAMBA2, "0.32.0", mamba_cache_mode="all")


@pytest.mark.parametrize(
    ("method", "kv", "version", "name"),
    [
        ("modelopt", "fp8", "0.13.0", "bf16"), ("modelopt", "fp8", "0.14.0", "fp8_e4m3"),
        ("modelopt", "nvfp4", "0.19.1", "bf16"), ("modelopt", "nvfp4", "0.20.0", "nvfp4"),
        ("compressed-tensors", "fp8", "0.14.1", "bf16"),
        ("compressed-tensors", "fp8", "0.15.0", "fp8_e4m3"),
    ],
)  # fmt: skip
def test_when_a_checkpoints_kv_scheme_began_to_count(
    method: str, kv: str, version: str, name: str
) -> None:
    said = Quantization(method, kv_cache=kv, kv_cache_key="kv_cache_scheme")
    choice = choose_format(replace(DENSE, quantization=said), version=Version(version))
    assert choice.format.name == name


def test_before_0_20_a_narrow_value_was_kept_as_wide_as_its_key() -> None:
    config = {
        "model_type": "mimo_v2_flash", "num_hidden_layers": 4, "hidden_size": 4096,
        "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 192, "v_head_dim": 128,
        "swa_num_attention_heads": 64, "swa_num_key_value_heads": 4, "swa_head_dim": 192,
        "swa_v_head_dim": 128, "hybrid_layer_pattern": [0, 0, 0, 0], "sliding_window": 128,
        "vocab_size": 152576, "max_position_embeddings": 32768, "torch_dtype": "bfloat16",
    }  # fmt: skip
    arch = parse(config, id="a/b")
    wide, narrow = (
        size(arch, engine=f"vllm=={version}", kv_cache_memory=GiB, max_model_len=4096).pool
        for version in ("0.19.1", "0.20.0")
    )
    assert wide is not None
    assert narrow is not None
    assert wide.blocks == GiB // (4 * 16 * 4 * (192 + 192) * 2)
    assert narrow.blocks == GiB // (4 * 16 * 4 * (192 + 128) * 2)


@pytest.mark.parametrize(
    ("version", "card", "step"),
    [
        # 0.18 and 0.19 align to 64, 0.20 to 0.26 to what the default backend's kernel takes.
        ("0.19.1", "H100", 64), ("0.19.1", "B200", 64), ("0.20.2", "H100", 16),
        ("0.20.2", "B200", 32), ("0.26.0", "B200", 32), ("0.26.0", "RTX 5090", 16),
        ("0.27.0", "H100", 128), ("0.27.0", "B200", 128),
    ],
)  # fmt: skip
def test_the_block_of_a_hybrid_with_latents_is_a_multiple_of_the_kernels(
    version: str, card: str, step: int
) -> None:
    blocks = []
    for tp in (1, 2, 4, 8):
        pool = size(
            "moonshotai/Kimi-Linear-48B-A3B", gpu=card, engine=f"vllm=={version}", block_size=16,
            kv_cache_memory=20 * GiB, tp=tp,
        ).pool  # fmt: skip
        assert pool is not None
        assert pool.block_size is not None
        blocks.append(pool.block_size)
    assert gcd(*blocks) == step


@pytest.mark.parametrize("minor", range(10, 34))
@pytest.mark.parametrize(
    "name",
    ["Qwen/Qwen3-8B", "Qwen/Qwen3-Next-80B-A3B-Instruct", "deepseek-ai/DeepSeek-V3.2",
     "deepseek-ai/DeepSeek-V3", "moonshotai/Kimi-Linear-48B-A3B", "openai/gpt-oss-20b"],
)  # fmt: skip
def test_a_release_of_two_numbers_is_that_with_a_zero(name: str, minor: int) -> None:
    def told(version: str, card: str) -> object:
        answer = size(
            name, gpu=card, engine=f"vllm=={version}", max_model_len=8192, weights_bytes=4 * GiB,
            kv_cache_dtype="fp8",
        ).to_json()  # fmt: skip
        return answer["pool"], answer["kv"]

    for card in ("H100", "B200"):
        assert told(f"0.{minor}", card) == told(f"0.{minor}.0", card)
