"""vLLM's pool, hybrid manager, parallelism and connectors: the value that decides, and without."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from kvgate.kvcache import size
from kvgate.rules import Finding, Undecided, Verdict

Ask = Callable[..., Verdict]
QWEN, OSS, NEXT = "Qwen/Qwen3-32B", "openai/gpt-oss-20b", "Qwen/Qwen3-Next-80B-A3B-Instruct -tp 4"
Q27, V3, V32 = (
    "Qwen/Qwen3.5-27B",
    "deepseek-ai/DeepSeek-V3 -tp 8",
    "deepseek-ai/DeepSeek-V3.2 -tp 8",
)
OLMO, GEMMA4 = "allenai/Olmo-3-7B", "google/gemma-4-31B-it"
A100 = "A100 80GB SXM"
OFF = "--disable-hybrid-kv-cache-manager"
EVENTS = "--kv-events-config '" + json.dumps({"enable_kv_cache_events": True}) + "'"


def through(name: str, **extra: object) -> str:
    """The flag for a connector of that name."""
    config = {"kv_connector": name, "kv_role": "kv_both", **extra}
    return f"--kv-transfer-config '{json.dumps(config)}'"


LMCACHE, NIXL = through("LMCacheConnectorV1"), through("NixlConnector")
MANY = through(
    "MultiConnector",
    kv_connector_extra_config={
        "connectors": [
            {"kv_connector": "NixlConnector", "kv_role": "kv_both"},
            {"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"},
        ]
    },
)

# rule, (model and flags, version, GPU) that fires, and the same with one decisive thing changed.
FLIPS: list[tuple[str, tuple[str, str, str], tuple[str, str, str]]] = [
    ("nothing_left_for_the_cache",
     ("openai/gpt-oss-120b --gpu-memory-utilization 0.8", "0.33.0", "H100"),
     ("openai/gpt-oss-120b --gpu-memory-utilization 0.8", "0.33.0", "H200")),
    ("graph_estimate_takes_the_last_room",
     (f"{QWEN} --gpu-memory-utilization 0.935", "0.26.0", "H100"),
     (f"{QWEN} --gpu-memory-utilization 0.935 --enforce-eager", "0.26.0", "H100")),
    ("spark_utilization_above_what_is_free",
     (f"{OSS} --gpu-memory-utilization 0.9", "0.33.0", "GB10"),
     (f"{OSS} --gpu-memory-utilization 0.85", "0.33.0", "GB10")),
    ("shared_memory_makes_the_pool_differ",
     (OSS, "0.33.0", "GB10"), (f"{OSS} --kv-cache-memory-bytes 20G", "0.33.0", "GB10")),
    ("connector_turns_the_manager_off",
     (f"{OSS} {NIXL}", "0.21.0", "H100"), (f"{OSS} {NIXL}", "0.22.0", "H100")),
    ("connector_turns_the_manager_off",
     (f"{OSS} {MANY}", "0.33.0", "H100"), (f"{OSS} {NIXL}", "0.33.0", "H100")),
    ("connector_turns_the_manager_off",
     (f"{OSS} --kv-offloading-size 32 --kv-offloading-backend lmcache", "0.25.0", "H100"),
     (f"{OSS} --kv-offloading-size 32", "0.25.0", "H100")),
    ("events_turn_the_manager_off",
     (f"{OSS} {EVENTS}", "0.19.1", "H100"), (f"{OSS} {EVENTS}", "0.20.2", "H100")),
    ("merged_group_loses_the_global_context",
     (f"{OLMO} {OFF}", "0.27.1", "H200"), (f"{OLMO} {OFF}", "0.28.0", "H200")),
    ("pages_do_not_divide",
     (f"{GEMMA4} --kv-cache-dtype int8_per_token_head", "0.23.0", "H100"),
     (f"{GEMMA4} --kv-cache-dtype int8_per_token_head", "0.24.0", "H100")),
    ("prefix_hits_end_at_state_checkpoints",
     (f"{Q27} --enable-prefix-caching", "0.20.2", "H100"),
     (f"{Q27} --no-enable-prefix-caching", "0.20.2", "H100")),
    ("block_grows_to_hold_a_state",
     (f"{NEXT} --block-size 16", "0.26.0", "H100"), (f"{NEXT} --block-size 272", "0.26.0", "H100")),
    ("more_sequences_than_states",
     (f"{Q27} --kv-cache-dtype fp8 --max-num-seqs 1024", "0.26.0", "H100"),
     (f"{Q27} --kv-cache-dtype fp8 --max-num-seqs 64", "0.26.0", "H100")),
    ("heads_do_not_divide", (f"{OSS} -tp 6", "0.33.0", "H100"), (f"{OSS} -tp 8", "0.33.0", "H100")),
    ("dcp_needs_more_ranks_than_kv_heads",
     ("meta-llama/Llama-3.1-70B-Instruct -tp 8 -dcp 2", "0.26.0", "H200"),
     ("meta-llama/Llama-3.1-70B-Instruct -tp 16 -dcp 2", "0.26.0", "H200")),
    ("dcp_needs_more_ranks_than_kv_heads",
     (f"{V3} -dcp 3", "0.26.0", "H200"), (f"{V3} -dcp 2", "0.26.0", "H200")),
    ("dcp_backend_gives_no_sums",
     (f"{V3} -dcp 4", "0.24.0", "B200"), (f"{V3} -dcp 4", "0.25.0", "B200")),
    ("batch_shorter_than_the_context",
     (f"{QWEN} --no-enable-chunked-prefill --max-num-batched-tokens 40959", "0.33.0", "H200"),
     (f"{QWEN} --no-enable-chunked-prefill --max-num-batched-tokens 40960", "0.33.0", "H200")),
    ("block_hashes_differ_between_processes",
     (f"{QWEN} {LMCACHE}", "0.28.0", "H200"), (f"{QWEN} {LMCACHE}", "0.29.0", "H200")),
    ("in_process_lmcache_with_index_caches",
     (f"{V32} {LMCACHE}", "0.33.0", "H200"), (f"{V3} {LMCACHE}", "0.33.0", "H200")),
    ("in_process_lmcache_with_index_caches",
     (f"{V32} {MANY}", "0.33.0", "H200"), (f"{V32} {NIXL}", "0.33.0", "H200")),
    ("in_process_lmcache_with_dcp",
     (f"{V3} -dcp 2 {LMCACHE}", "0.33.0", "H200"), (f"{V3} -dcp 1 {LMCACHE}", "0.33.0", "H200")),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "fires", "silent"), FLIPS)
def test_changing_the_decisive_value_flips_the_verdict(
    ask: Ask, rule: str, fires: tuple[str, str, str], silent: tuple[str, str, str]
) -> None:
    found = ask(rule, f"vllm serve {fires[0]}", f"vllm=={fires[1]}", gpu=fires[2])
    assert isinstance(found, Finding)
    assert ask(rule, f"vllm serve {silent[0]}", f"vllm=={silent[1]}", gpu=silent[2]) is None


def test_a_router_that_is_told_the_block_of_the_engine_gets_its_events(ask: Ask) -> None:
    rule = "dynamo_router_block_differs"
    command = (
        f"python3 -m dynamo.vllm --model Qwen/Qwen3.5-35B-A3B --tensor-parallel-size 4 {EVENTS}"
    )
    found = ask(rule, command, "vllm==0.20.2", gpu="H100")
    assert isinstance(found, Finding)
    assert "528" in found.message
    told = f"DYN_KV_CACHE_BLOCK_SIZE=528 {command}"
    assert ask(rule, told, "vllm==0.20.2", gpu="H100") is None


def test_a_connector_that_nobody_ships_leaves_the_manager_open(ask: Ask) -> None:
    command = f"vllm serve {OSS} {through('OurOwnConnector')}"
    verdict = ask("connector_turns_the_manager_off", command, "vllm==0.33.0", gpu="H100")
    assert isinstance(verdict, Undecided)
    assert "OurOwnConnector" in verdict.lacks


def test_a_hash_seed_from_somewhere_else_counts_as_one(ask: Ask) -> None:
    command = f"PYTHONHASHSEED=$SEED vllm serve {QWEN} {LMCACHE}"
    assert ask("block_hashes_differ_between_processes", command, "vllm==0.20.2", gpu="H100") is None


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("nothing_left_for_the_cache", OSS),
        ("dcp_backend_gives_no_sums", f"{V3} -dcp 4"),
        ("merged_group_loses_the_global_context", f"{OLMO} {OFF}"),
    ],
)
def test_without_the_gpu_a_rule_that_asks_for_it_stays_open(
    ask: Ask, rule: str, command: str
) -> None:
    verdict = ask(rule, f"vllm serve {command}", "vllm==0.26.0")
    assert isinstance(verdict, Undecided)
    assert "GPU" in verdict.lacks


@pytest.mark.parametrize("rule", ["heads_do_not_divide", "dcp_needs_more_ranks_than_kv_heads"])
def test_without_the_model_its_heads_stay_open(ask: Ask, rule: str) -> None:
    verdict = ask(rule, "vllm serve acme/unheard-of -tp 8 -dcp 2", "vllm==0.26.0", gpu="H100")
    assert isinstance(verdict, Undecided)
    assert "acme/unheard-of" in verdict.lacks


def test_the_change_for_odd_heads_is_the_next_smaller_divisor(ask: Ask) -> None:
    found = ask("heads_do_not_divide", f"vllm serve {OSS} -tp 6", "vllm==0.33.0", gpu="H100")
    assert isinstance(found, Finding)
    assert "--tensor-parallel-size 4" in found.fix or "-tp 4" in found.fix


@pytest.mark.parametrize(
    ("command", "gpu", "fix"),
    [
        ("google/gemma-3-27b-it --max-model-len 8K", "RTX 4090", "--tensor-parallel-size 4"),
        ("deepseek-ai/DeepSeek-V3", "RTX 4090", "larger GPUs, more of them in pipeline stages too"),
        ("Qwen/Qwen3-8B --gpu-memory-utilization 0.1", "H100", "--gpu-memory-utilization 0.9"),
        ("Qwen/Qwen3-8B --gpu-memory-utilization 0.001", "RTX 4090", "utilization 0.9"),
        (
            "moonshotai/Kimi-K2-Instruct",
            "T4",
            "larger GPUs, more of them in pipeline stages too, or weights of fewer bits",
        ),
    ],
)
def test_the_change_for_a_card_without_room_leaves_some(
    ask: Ask, command: str, gpu: str, fix: str
) -> None:
    rule = "nothing_left_for_the_cache"
    found = ask(rule, f"vllm serve {command}", "vllm==0.33.0", gpu=gpu)
    assert isinstance(found, Finding)
    assert fix in found.fix
    if found.fix.startswith("vllm"):
        assert ask(rule, found.fix, "vllm==0.33.0", gpu=gpu) is None


def test_a_length_that_fits_is_offered_no_longer_than_the_model_allows(ask: Ask) -> None:
    command = "vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 1M"
    found = ask("kv_cache_does_not_fit", command, "vllm==0.33.0", gpu="H100")
    assert isinstance(found, Finding)
    assert found.fix.endswith("--max-model-len 131072")
    lifted = ask(
        "kv_cache_does_not_fit", f"VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 {command}", "vllm==0.33.0",
        gpu="H100",
    )  # fmt: skip
    assert isinstance(lifted, Finding)
    assert not lifted.fix.endswith(" 131072")


def test_between_nothing_and_something_left_a_pool_stays_open(ask: Ask) -> None:
    command = "vllm serve openai/gpt-oss-120b"
    verdict = ask("nothing_left_for_the_cache", command, "vllm==0.11.0", gpu="H100")
    assert isinstance(verdict, Undecided)


def test_a_length_beyond_the_gpu_is_found_for_a_release_before_the_allocators(ask: Ask) -> None:
    scout = "vllm serve meta-llama/Llama-4-Scout-17B-16E-Instruct -tp 8"
    found = ask("kv_cache_does_not_fit", scout, "vllm==0.8.5", gpu="H100")
    assert isinstance(found, Finding)
    assert "10,485,760" in found.message
    short = f"{scout} --max-model-len 131072"
    assert isinstance(ask("kv_cache_does_not_fit", short, "vllm==0.8.5", gpu="H100"), Undecided)


def test_a_release_older_than_the_gates_is_sized_all_the_same(ask: Ask) -> None:
    command = f"vllm serve {QWEN} --max-model-len 40960"
    found = ask("kv_cache_does_not_fit", command, "vllm==0.11.0", gpu="A100 80GB SXM")
    assert isinstance(found, Finding)
    assert ask("kv_cache_does_not_fit", command, "vllm==0.11.0", gpu="H200") is None


def test_the_share_that_check_names_is_the_one_that_size_counts_with(ask: Ask) -> None:
    command = "vllm serve meta-llama/Llama-3.1-70B-Instruct --gpu-memory-utilization 0.92"
    found = ask("nothing_left_for_the_cache", command, "vllm==0.33.0", gpu=A100)
    assert isinstance(found, Finding)
    assert "take the 72.97 GiB that it may use" in found.message
    sized = size("meta-llama/Llama-3.1-70B-Instruct", gpu=A100, engine="vllm==0.33.0")
    assert sized.pool is not None
    assert any("= 72.97 GiB" in line for line in sized.pool.lines)
