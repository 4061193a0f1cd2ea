"""Pairs of values that an engine refuses together: the value that decides, and without it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from kvgate.rules import Finding, Undecided, Verdict

Ask = Callable[..., Verdict]
NIXL = (
    f"--kv-transfer-config '{json.dumps({'kv_connector': 'NixlConnector', 'kv_role': 'kv_both'})}'"
)
MOVES = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True "

# rule, (command, engine, GPU) that fires, and the same with one decisive thing changed.
FLIPS: list[tuple[str, tuple[str, str, str], tuple[str, str, str]]] = [
    ("batch_smaller_than_its_sequences",
     ("vllm serve Qwen/Qwen3-8B --max-num-batched-tokens 255 --max-num-seqs 256", "vllm", "H100"),
     ("vllm serve Qwen/Qwen3-8B --max-num-batched-tokens 256 --max-num-seqs 256", "vllm", "H100")),
    ("e5m2_cache_of_an_fp8_checkpoint",
     ("vllm serve Qwen/Qwen3-14B-FP8 --kv-cache-dtype fp8_e5m2", "vllm==0.26.0", "A100"),
     ("vllm serve Qwen/Qwen3-14B --kv-cache-dtype fp8_e5m2", "vllm==0.26.0", "A100")),
    ("nvfp4_cache_of_latents",
     ("vllm serve deepseek-ai/DeepSeek-V3 -tp 8 --kv-cache-dtype nvfp4", "vllm==0.26.0", "B200"),
     ("vllm serve Qwen/Qwen3-32B -tp 8 --kv-cache-dtype nvfp4", "vllm==0.26.0", "B200")),
    ("nvfp4_cache_of_latents",
     ("vllm serve deepseek-ai/DeepSeek-V3 -tp 8 --kv-cache-dtype nvfp4", "vllm==0.21.0", "B200"),
     ("vllm serve deepseek-ai/DeepSeek-V3 -tp 8 --kv-cache-dtype nvfp4", "vllm==0.20.2", "B200")),
    ("connector_with_expandable_segments",
     (f"{MOVES}vllm serve Qwen/Qwen3-8B {NIXL}", "vllm==0.26.0", "H100"),
     (f"vllm serve Qwen/Qwen3-8B {NIXL}", "vllm==0.26.0", "H100")),
    ("connector_with_expandable_segments",
     (f"{MOVES}vllm serve Qwen/Qwen3-8B {NIXL}", "vllm==0.26.0", "H100"),
     (f"{MOVES}vllm serve Qwen/Qwen3-8B {NIXL} --enable-sleep-mode", "vllm==0.26.0", "H100")),
    ("cache_types_without_a_kernel",
     ("llama-server -m m.gguf -fa on -ctk q8_0 -ctv q4_0", "llama.cpp==b9600", "RTX 4090"),
     ("llama-server -m m.gguf -fa on -ctk q4_0 -ctv q4_0", "llama.cpp==b9600", "RTX 4090")),
    ("cache_types_without_a_kernel",
     ("llama-server -m m.gguf -fa on -ctk q5_0 -ctv q5_0", "llama.cpp==b9600", "RTX 4090"),
     ("llama-server -m m.gguf -fa on -ctk q5_0 -ctv q5_0", "llama.cpp==b9600", "MI300X")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "fires", "silent"), FLIPS)
def test_the_deciding_value_flips_the_verdict(
    name: str, fires: tuple[str, str, str], silent: tuple[str, str, str], ask: Ask
) -> None:
    command, engine, gpu = fires
    assert isinstance(ask(name, command, engine, gpu=gpu), Finding)
    command, engine, gpu = silent
    assert ask(name, command, engine, gpu=gpu) is None


def test_a_pair_of_cache_types_waits_for_the_gpu(ask: Ask) -> None:
    command = "llama-server -m m.gguf -fa on -ctk q8_0 -ctv q4_0"
    verdict = ask("cache_types_without_a_kernel", command, "llama.cpp==b9600")
    assert verdict == Undecided("the GPU (--gpu)")


def test_an_e5m2_cache_of_an_unknown_model_stays_open(ask: Ask) -> None:
    command = "vllm serve org/nobody-knows-FP8 --kv-cache-dtype fp8_e5m2"
    assert isinstance(
        ask("e5m2_cache_of_an_fp8_checkpoint", command, "vllm", gpu="A100"), Undecided
    )
