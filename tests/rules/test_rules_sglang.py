"""SGLang's rules: the value that decides, and the same deployment with that value changed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kvgate.rules import Finding, Undecided, Verdict

Ask = Callable[..., Verdict]
RUN = "python -m sglang.launch_server --model-path"
QWEN, NEXT = "Qwen/Qwen3-32B", "Qwen/Qwen3-Next-80B-A3B-Instruct --tp 4"
V3, V32 = "deepseek-ai/DeepSeek-V3 --tp 8", "deepseek-ai/DeepSeek-V3.2 --tp 8"
LITE, OSS = "deepseek-ai/DeepSeek-V2-Lite", "openai/gpt-oss-20b"
YARN = """--json-model-override-args '{"rope_scaling":{"rope_type":"yarn","factor":4.0%s}}'"""
HALF = ',"original_max_position_embeddings":32768'

# rule, (model and flags, version, GPU) that fires, and the same with one decisive thing changed.
FLIPS: list[tuple[str, tuple[str, str, str], tuple[str, str, str]]] = [
    ("trtllm_mha_on_consumer_blackwell",
     (f"{QWEN} --attention-backend trtllm_mha", "0.5.18", "RTX 5090"),
     (f"{QWEN} --attention-backend trtllm_mha", "0.5.19", "RTX 5090")),
    ("trtllm_mha_on_consumer_blackwell",
     (f"{QWEN} --attention-backend trtllm_mha", "0.5.17", "GB10"),
     (f"{QWEN} --attention-backend trtllm_mha", "0.5.17", "B300")),
    ("trtllm_mha_on_consumer_blackwell",
     (f"{QWEN} --decode-attention-backend trtllm_mha", "0.5.9", "RTX 5090"),
     (f"{QWEN} --decode-attention-backend trtllm_mha", "0.5.10", "RTX 5090")),
    ("trtllm_mla_prefill_on_sm12x",
     (f"{LITE} --attention-backend trtllm_mla", "0.5.17", "RTX PRO 6000"),
     (f"{LITE} --attention-backend trtllm_mla", "0.5.17", "B200")),
    ("gdn_backend_on_blackwell",
     (f"{NEXT} --attention-backend flashinfer", "0.5.20", "B200"),
     (f"{NEXT} --attention-backend flashinfer", "0.5.21", "B200")),
    ("gdn_backend_on_blackwell",
     (f"{NEXT} --attention-backend fa4", "0.5.16", "RTX PRO 6000"),
     (f"{NEXT} --attention-backend fa4", "0.5.15", "RTX PRO 6000")),
    ("gpt_oss_backend_not_allowed",
     (f"{OSS} --attention-backend intel_amx", "0.5.12", "H100"),
     (f"{OSS} --attention-backend intel_amx", "0.5.13", "H100")),
    ("float16_forced_below_sm80",
     (QWEN, "0.5.17", "T4"), (f"{QWEN} --dtype half", "0.5.17", "T4")),
    ("dsa_kernels_on_sm12x",
     (V32, "0.5.23", "RTX PRO 6000"), (V32, "0.5.23", "H200")),
    ("fa3_with_e5m2_becomes_triton",
     (f"{QWEN} --attention-backend fa3 --kv-cache-dtype fp8_e5m2", "0.5.17", "H100"),
     (f"{QWEN} --attention-backend fa3 --kv-cache-dtype fp8_e4m3", "0.5.17", "H100")),
    ("trtllm_mla_refuses_kv_dtype",
     (f"{V3} --attention-backend trtllm_mla --kv-cache-dtype bfloat16", "0.5.17", "B200"),
     (f"{V3} --attention-backend trtllm_mla --kv-cache-dtype bf16", "0.5.17", "B200")),
    ("small_tile_on_sm12x",
     (LITE, "0.5.8", "RTX PRO 6000"), (LITE, "0.5.9", "RTX PRO 6000")),
    ("context_longer_than_the_pool",
     (f"{QWEN} --context-length 131072", "0.5.17", "H100"),
     (f"{QWEN} --context-length 8192", "0.5.17", "H100")),
    ("context_longer_than_the_pool",
     (f"{QWEN} --context-length 400000 --mem-fraction-static 0.9", "0.4.3", "H100"),
     (f"{QWEN} --tp 8 --context-length 4096", "0.5.17", "H100")),
    ("pair_promises_more_than_its_pool",
     (f"{QWEN} --context-length 131072 --disaggregation-mode prefill", "0.5.11", "H100"),
     (f"{QWEN} --context-length 131072 --disaggregation-mode prefill", "0.5.12", "H100")),
    ("mem_fraction_below_the_weights",
     (f"{QWEN} --mem-fraction-static 0.7", "0.5.17", "H100"),
     (f"{QWEN} --mem-fraction-static 0.8", "0.5.17", "H100")),
    ("window_pool_caps_input",
     (f"{OSS} --swa-full-tokens-ratio 0.1", "0.5.10", "RTX 4090"),
     (f"{OSS} --swa-full-tokens-ratio 1.0", "0.5.10", "RTX 4090")),
    ("window_layers_without_a_pool",
     ("google/gemma-3-27b-it", "0.5.23", "H200"), ("google/gemma-4-31B-it", "0.5.23", "H200")),
    ("state_slots_cap_requests",
     (f"{NEXT} --max-mamba-cache-size 160 --max-running-requests 33", "0.5.23", "H100"),
     (f"{NEXT} --max-mamba-cache-size 165 --max-running-requests 33", "0.5.23", "H100")),
    ("state_slots_cap_requests",
     (f"{NEXT} --max-mamba-cache-size 128 --max-running-requests 40", "0.5.23", "H100"),
     (f"{NEXT} --max-mamba-cache-size 128 --max-running-requests 40 --disable-radix-cache",
      "0.5.23", "H100")),
    ("hierarchical_cache_refuses_pools",
     (f"{OSS} --enable-hierarchical-cache", "0.5.12", "H100"),
     (f"{OSS} --enable-hierarchical-cache", "0.5.13", "H100")),
    ("hierarchical_size_counted_twice",
     (f"{NEXT} --enable-hierarchical-cache --hicache-size 50", "0.5.16", "H100"),
     (f"{NEXT} --enable-hierarchical-cache --hicache-size 50", "0.5.17", "H100")),
    ("hierarchical_cache_turns_window_pool_off",
     ("XiaomiMiMo/MiMo-V2-Flash --tp 8 --enable-hierarchical-cache", "0.5.13", "H100"),
     ("XiaomiMiMo/MiMo-V2-Flash --tp 8 --enable-hierarchical-cache", "0.5.14", "H100")),
    ("aiter_takes_a_share_of_memory",
     (f"{QWEN} --attention-backend aiter --context-length 8193", "0.5.17", "MI300X"),
     (f"{QWEN} --attention-backend aiter --context-length 8192", "0.5.17", "MI300X")),
    ("sequence_bounded_by_one_rank",
     (f"{V3} --dcp-size 8", "0.5.16", "H200"), (f"{V3} --dcp-size 8", "0.5.17", "H200")),
    ("attention_dp_divides_the_chunk",
     (f"{V3} --dp-size 8 --enable-dp-attention", "0.5.17", "H200"),
     (f"{V3} --dp-size 1 --enable-dp-attention", "0.5.17", "H200")),
    ("context_length_above_the_derived",
     (f"{QWEN} --context-length 40961", "0.5.17", "H200"),
     (f"{QWEN} --context-length 40960", "0.5.17", "H200")),
    ("context_length_above_the_derived",
     (f"{QWEN} --context-length 131072", "0.5.1", "H200"),
     (f"{QWEN} --context-length 131072", "0.4.9", "H200")),
    ("yarn_override_without_a_length",
     (f"{QWEN} {YARN % HALF}", "0.5.17", "H200"), (f"{QWEN} {YARN % ''}", "0.5.17", "H200")),
    ("decode_prefix_cache_with_speculation",
     (f"{V3} --disaggregation-mode decode --disaggregation-decode-enable-radix-cache "
      "--speculative-algorithm EAGLE", "0.5.22", "H200"),
     (f"{V3} --disaggregation-mode decode --disaggregation-decode-enable-radix-cache "
      "--speculative-algorithm EAGLE", "0.5.23", "H200")),
    ("dual_chunk_without_prefix_cache",
     ("Qwen/Qwen2.5-7B-Instruct-1M", "0.5.17", "H100"),
     ("Qwen/Qwen2.5-7B-Instruct", "0.5.17", "H100")),
    ("fp4_name_is_gone",
     (f"{QWEN} --kv-cache-dtype fp4_e2m1", "0.5.20", "B200"),
     (f"{QWEN} --kv-cache-dtype fp4_e2m1", "0.5.19", "B200")),
    ("nsa_flags_are_gone",
     (f"{V32} --nsa-decode-backend flashmla_kv", "0.5.20", "H200"),
     (f"{V32} --nsa-decode-backend flashmla_kv", "0.5.19", "H200")),
    ("mamba_strategy_flag_is_gone",
     (f"{NEXT} --mamba-scheduler-strategy no_buffer", "0.5.20", "H100"),
     (f"{NEXT} --mamba-scheduler-strategy no_buffer", "0.5.19", "H100")),
    ("hybrid_without_extra_buffer", (NEXT, "0.5.13", "H100"), (NEXT, "0.5.14", "H100")),
    ("page_size_against_state_chunk",
     (f"{NEXT} --page-size 512", "0.5.23", "H100"), (f"{NEXT} --page-size 256", "0.5.23", "H100")),
    ("page_size_is_rewritten",
     (f"{QWEN} --page-size 16 --attention-backend flashmla", "0.5.23", "H100"),
     (f"{QWEN} --page-size 64 --attention-backend flashmla", "0.5.23", "H100")),
    ("host_cache_moves_decode_from_fa3",
     (f"{QWEN} --enable-hierarchical-cache", "0.5.13", "H100"),
     (f"{QWEN} --enable-hierarchical-cache", "0.5.13", "A100 80GB SXM")),
    ("host_cache_layout_is_rewritten",
     (f"{QWEN} --enable-hierarchical-cache --hicache-storage-backend mooncake", "0.5.23", "H100"),
     (f"{QWEN} --enable-hierarchical-cache --hicache-storage-backend file", "0.5.23", "H100")),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "fires", "silent"), FLIPS)
def test_changing_the_decisive_value_flips_the_verdict(
    ask: Ask, rule: str, fires: tuple[str, str, str], silent: tuple[str, str, str]
) -> None:
    found = ask(rule, f"{RUN} {fires[0]}", f"sglang=={fires[1]}", gpu=fires[2])
    assert isinstance(found, Finding)
    assert ask(rule, f"{RUN} {silent[0]}", f"sglang=={silent[1]}", gpu=silent[2]) is None


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("trtllm_mha_on_consumer_blackwell", f"{QWEN} --attention-backend trtllm_mha"),
        ("gdn_backend_on_blackwell", f"{NEXT} --attention-backend flashinfer"),
        ("dsa_kernels_on_sm12x", V32),
        ("context_longer_than_the_pool", f"{QWEN} --context-length 131072"),
        ("page_size_is_rewritten", f"{QWEN} --page-size 48"),
    ],
)
def test_without_the_gpu_a_rule_that_asks_for_it_stays_open(
    ask: Ask, rule: str, command: str
) -> None:
    verdict = ask(rule, f"{RUN} {command}", "sglang==0.5.17")
    assert isinstance(verdict, Undecided)
    assert "GPU" in verdict.lacks


def test_a_release_between_two_of_the_catalogue_is_judged_by_its_own_number(ask: Ask) -> None:
    command = f"{RUN} {QWEN} --attention-backend trtllm_mha"
    rule = "trtllm_mha_on_consumer_blackwell"
    assert ask(rule, command, "sglang==0.5.22", gpu="RTX 5090") is None


def test_no_rule_of_sglang_speaks_of_another_engine(ask: Ask) -> None:
    for rule, *_ in FLIPS:
        assert ask(rule, "vllm serve Qwen/Qwen3-32B", "vllm==0.33.0", gpu="H100") is None


@pytest.mark.parametrize(
    ("name", "version", "gpu", "expected"),
    [
        ("cmd-sglang-5090-trtllm-mha", "0.5", "RTX 5090", "trtllm_mha_on_consumer_blackwell"),
        ("cmd-sglang-qwen3-yarn-no-length", "0.4.9", None, "yarn_override_without_a_length"),
        ("cmd-sglang-r1-160k", "0.4.3", "H100", "context_longer_than_the_pool"),
    ],
)
def test_a_shared_case_is_found(
    rules_of_case: Callable[[str, str | None, str | None], dict[str, Verdict]],
    name: str, version: str, gpu: str | None, expected: str,
) -> None:  # fmt: skip
    assert isinstance(rules_of_case(name, f"sglang=={version}", gpu)[expected], Finding)


def test_the_shared_control_has_no_finding(
    rules_of_case: Callable[[str, str | None, str | None], dict[str, Verdict]],
) -> None:
    verdicts = rules_of_case("cmd-sglang-qwen3-32b-control", "sglang==0.5.16", "H200")
    assert not [name for name, v in verdicts.items() if isinstance(v, Finding)]
