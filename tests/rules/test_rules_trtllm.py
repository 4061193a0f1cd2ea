"""TensorRT-LLM's rules: the value that decides, and the same deployment with it changed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kvgate.rules import Finding, Undecided, Verdict

Ask = Callable[..., Verdict]
V3, LITE = "deepseek-ai/DeepSeek-V3 --tp_size 8", "deepseek-ai/DeepSeek-V2-Lite"
OSS = "openai/gpt-oss-20b"
NEMOTRON = "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"


def _run(arguments: str, options: str = "") -> str:
    """trtllm-serve, with a file of options where some are given."""
    if not options:
        return f"trtllm-serve {arguments}"
    file = f"cat > o.yml <<'YAML'\n{options}\nYAML\n"
    return f"{file}trtllm-serve {arguments} --extra_llm_api_options o.yml"


# rule, (arguments, options, version, GPU) that fires, and the same with one thing changed.
Case = tuple[str, str, str, str]
FLIPS: list[tuple[str, Case, Case]] = [
    ("prompt_longer_than_a_step",
     ("Qwen/Qwen3-8B --max_num_tokens 8192", "", "1.2.0", "H100"),
     ("Qwen/Qwen3-8B --max_num_tokens 40960", "", "1.2.0", "H100")),
    ("prompt_longer_than_a_step",
     ("Qwen/Qwen3-8B", "enable_chunked_prefill: false", "1.2.0", "H100"),
     ("Qwen/Qwen3-8B", "enable_chunked_prefill: true", "1.2.0", "H100")),
    ("latent_reuse_off_on_this_gpu",
     (LITE, "kv_cache_config: {enable_block_reuse: true}", "1.2.0", "L40S"),
     (LITE, "kv_cache_config: {enable_block_reuse: false}", "1.2.0", "L40S")),
    ("latent_reuse_off_on_this_gpu", (LITE, "", "0.21", "RTX 5090"), (LITE, "", "1.2", "RTX 5090")),
    ("latent_reuse_off_for_fp4",
     (V3, "kv_cache_config: {dtype: nvfp4}", "1.2.0", "B200"),
     (V3, "kv_cache_config: {dtype: fp8}", "1.2.0", "B200")),
    ("fp4_cache_outside_sm10x",
     ("Qwen/Qwen3-8B", "kv_cache_config: {dtype: nvfp4}", "1.2.0", "H100"),
     ("Qwen/Qwen3-8B", "kv_cache_config: {dtype: nvfp4}", "1.2.0", "B300")),
    ("sinks_outside_their_generations", (OSS, "", "1.0", "RTX 5090"), (OSS, "", "1.2", "RTX 5090")),
    ("host_cache_adds_no_length",
     ("Qwen/Qwen3-8B --max_seq_len 131072", "kv_cache_config: {host_cache_size: 1000000000}",
      "1.2.0", "RTX 4090"),
     ("Qwen/Qwen3-8B --max_seq_len 131072", "kv_cache_config: {host_cache_size: 1000000000}",
      "1.2.0", "H200")),
    ("state_reuse_left_to_the_release",
     (NEMOTRON, "", "1.2.0", "H100"),
     (NEMOTRON, "kv_cache_config: {enable_block_reuse: true}", "1.2.0", "H100")),
    ("reuse_stops_at_the_window", (OSS, "", "1.0", "H100"), (OSS, "", "1.2", "H100")),
    ("buffer_smaller_than_the_prompt",
     ("Qwen/Qwen3-8B", "cache_transceiver_config: {max_tokens_in_buffer: 40000}", "1.2", "H100"),
     ("Qwen/Qwen3-8B", "cache_transceiver_config: {max_tokens_in_buffer: 40960}", "1.2", "H100")),
    ("pair_without_a_transceiver",
     ("Qwen/Qwen3-8B --server_role prefill", "max_batch_size: 8", "1.2", "H100"),
     ("Qwen/Qwen3-8B --server_role prefill", "cache_transceiver_config: {backend: UCX}", "1.2",
      "H100")),
    ("batch_size_is_for_each_rank",
     (f"{V3} --max_batch_size 64", "enable_attention_dp: true", "1.2", "B200"),
     (f"{V3} --max_batch_size 64", "enable_attention_dp: false", "1.2", "B200")),
    ("block_size_is_rewritten",
     (V3, "kv_cache_config: {tokens_per_block: 128}", "1.2", "H200"),
     (V3, "kv_cache_config: {tokens_per_block: 64}", "1.2", "H200")),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "fires", "silent"), FLIPS)
def test_changing_the_decisive_value_flips_the_verdict(
    ask: Ask, rule: str, fires: Case, silent: Case
) -> None:
    first = ask(rule, _run(*fires[:2]), f"tensorrt-llm=={fires[2]}", gpu=fires[3])
    assert isinstance(first, Finding)
    assert ask(rule, _run(*silent[:2]), f"tensorrt-llm=={silent[2]}", gpu=silent[3]) is None


def test_the_variable_for_trtllm_gen_decides_on_sm12x(ask: Ask) -> None:
    rule, run = "trtllm_gen_on_sm12x", "trtllm-serve Qwen/Qwen3-8B"
    engine = "tensorrt-llm==1.2.0"
    on = f"TRTLLM_ENABLE_TRTLLM_GEN_ATTENTION=1 {run}"
    off = f"TRTLLM_ENABLE_TRTLLM_GEN_ATTENTION=0 {run}"
    assert isinstance(ask(rule, on, engine, gpu="GB10"), Finding)
    assert ask(rule, off, engine, gpu="GB10") is None


def test_a_file_of_options_that_is_not_at_hand_leaves_it_open(ask: Ask) -> None:
    command = "trtllm-serve Qwen/Qwen3-8B --extra_llm_api_options other.yml"
    verdict = ask("prompt_longer_than_a_step", command, "tensorrt-llm==1.0.0", gpu="H100")
    assert isinstance(verdict, Undecided)
    assert "other.yml" in verdict.lacks


@pytest.mark.parametrize(
    ("rule", "gpu"),
    [("sinks_outside_their_generations", "RTX 5090"), ("reuse_stops_at_the_window", "H100")],
)
def test_a_release_nobody_looked_at_is_left_open(ask: Ask, rule: str, gpu: str) -> None:
    verdict = ask(rule, f"trtllm-serve {OSS}", "tensorrt-llm==1.1.0", gpu=gpu)
    assert isinstance(verdict, Undecided)


def test_the_shared_case_is_found(
    rules_of_case: Callable[[str, str | None, str | None], dict[str, Verdict]],
) -> None:
    verdicts = rules_of_case("cmd-trtllm-serve-qwen3-32b", "tensorrt-llm==1.0", "H200")
    assert isinstance(verdicts["prompt_longer_than_a_step"], Finding)
