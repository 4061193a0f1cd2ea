"""llama.cpp's rules: the value that decides, and the same deployment with that value changed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kvgate.manifests import read_deployments
from kvgate.plan import plan
from kvgate.rules import Finding, Undecided, Verdict
from kvgate.rules.llamacpp import gguf_architecture

Ask = Callable[..., Verdict]
RUN = "llama-server -m"
QWEN3, OSS = "Qwen3-8B-Q5_K_M.gguf", "gpt-oss-20b-MXFP4.gguf"
YARN = "--rope-scaling yarn --rope-scale 4 --yarn-orig-ctx 32768"

# rule, (arguments, build) that fires, and the same with one decisive thing changed.
FLIPS: list[tuple[str, tuple[str, str], tuple[str, str]]] = [
    ("context_is_divided_by_slots",
     ("m.gguf -c 32768 -np 2", "9600"), ("m.gguf -c 32768 -np 1", "9600")),
    ("context_is_divided_by_slots",
     ("m.gguf -c 32768 -np 2 --no-kv-unified", "9600"),
     ("m.gguf -c 32768 -np 2 --kv-unified", "9600")),
    ("quantised_values_need_flash_attention",
     ("m.gguf -fa off -ctv q4_0", "9600"), ("m.gguf -fa on -ctv q4_0", "9600")),
    ("quantised_values_need_flash_attention",
     ("m.gguf -ctv q4_0", "6000"), ("m.gguf -ctv q4_0", "9600")),
    ("slot_is_capped_to_the_trained_length",
     (f"{QWEN3} -c 40961 -np 1", "9600"), (f"{QWEN3} -c 40960 -np 1", "9600")),
    ("slot_is_capped_to_the_trained_length",
     (f"{QWEN3} -c 131072 -np 1 {YARN}", "10541"), (f"{QWEN3} -c 131072 -np 1 {YARN}", "10754")),
    ("zero_context_is_fitted", ("m.gguf -c 0", "7539"), ("m.gguf -c 4096", "7539")),
    ("fitted_context_is_divided",
     (f"{QWEN3} -np 4", "9600"), (f"{QWEN3} -np 4 -fit off", "9600")),
    ("checkpoints_outlive_the_prompt_cache",
     (f"{OSS} --cache-ram 0", "9600"), (f"{OSS} --cache-ram 0 -ctxcp 0", "9600")),
    ("checkpoints_outlive_the_prompt_cache",
     (f"{OSS} --cache-ram 0", "9600"), (f"{QWEN3} --cache-ram 0", "9600")),
    ("old_prompt_is_computed_again", (OSS, "9600"), (f"{OSS} --swa-full", "9600")),
    ("host_cache_with_split_tensors",
     ("m.gguf -sm tensor -nkvo", "10542"), ("m.gguf -sm row -nkvo", "10542")),
    ("projector_turns_reuse_off",
     ("m.gguf --mmproj p.gguf --cache-reuse 256", "9600"),
     ("m.gguf --mmproj p.gguf --cache-reuse 0", "9600")),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "fires", "silent"), FLIPS)
def test_changing_the_decisive_value_flips_the_verdict(
    ask: Ask, rule: str, fires: tuple[str, str], silent: tuple[str, str]
) -> None:
    assert isinstance(ask(rule, f"{RUN} {fires[0]}", f"llama.cpp=={fires[1]}"), Finding)
    assert ask(rule, f"{RUN} {silent[0]}", f"llama.cpp=={silent[1]}") is None


def test_the_containers_limit_decides_whether_the_prompt_cache_fits(ask: Ask) -> None:
    rule, image = "prompt_cache_fills_host_memory", "ghcr.io/ggml-org/llama.cpp:server-b9600"
    assert isinstance(ask(rule, f"docker run -m 8g {image} -m m.gguf", "llama.cpp"), Finding)
    assert ask(rule, f"docker run -m 9g {image} -m m.gguf", "llama.cpp") is None
    assert ask(rule, f"docker run {image} -m m.gguf", "llama.cpp") is None


def test_ollama_multiplies_the_prompt_cache_by_its_runners(ask: Ask) -> None:
    command = "docker run -m 20g {} ollama/ollama:0.16.2"
    rule = "prompt_cache_fills_host_memory"
    assert isinstance(ask(rule, command.format(""), "llama.cpp"), Finding)
    two = command.format("-e OLLAMA_MAX_LOADED_MODELS=2")
    assert ask(rule, two, "llama.cpp") is None


def test_yarn_between_the_two_known_builds_is_left_open(ask: Ask) -> None:
    command = f"{RUN} {QWEN3} -c 131072 -np 1 {YARN}"
    rule = "slot_is_capped_to_the_trained_length"
    assert isinstance(ask(rule, command, "llama.cpp==10600"), Undecided)


def test_an_unknown_model_leaves_the_trained_length_open(ask: Ask) -> None:
    rule = "slot_is_capped_to_the_trained_length"
    verdict = ask(rule, f"{RUN} something-else.gguf -c 131072", "llama.cpp==9600")
    assert verdict == Undecided("the context_length in the GGUF file")


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("/models/Qwen2.5-7B-Instruct-Q4_K_M.gguf", "Qwen/Qwen2.5-7B-Instruct"),
        ("gpt-oss-120b-mxfp4-00001-of-00003.gguf", "openai/gpt-oss-120b"),
        ("Qwen3-30B-A3B-Instruct-2507-UD-Q4_K_XL.gguf", "Qwen/Qwen3-30B-A3B-Instruct-2507"),
        ("gemma-3-27b-it.BF16.gguf", "google/gemma-3-27b-it"),
        ("my-finetune-of-Qwen3-8B-Q4_0.gguf", None),
    ],
)
def test_a_gguf_file_is_the_model_that_its_name_says(model: str, expected: str | None) -> None:
    (one,) = read_deployments(f"llama-server -m {model}", "<c>", engine="llama.cpp==9600")
    found = gguf_architecture(plan(one))
    assert (found.id if found else None) == expected


@pytest.mark.parametrize(
    ("name", "engine", "gpu", "expected"),
    [
        ("cmd-llamaserver-np6", "llama.cpp==4621", None, "context_is_divided_by_slots"),
        ("cmd-llamaserver-compose-131072", None, "RTX 4090",
         "slot_is_capped_to_the_trained_length"),
        ("cmd-ollama-k8s-6gi", None, None, "prompt_cache_fills_host_memory"),
    ],
)  # fmt: skip
def test_a_shared_case_is_found(
    rules_of_case: Callable[[str, str | None, str | None], dict[str, Verdict]],
    name: str, engine: str | None, gpu: str | None, expected: str,
) -> None:  # fmt: skip
    assert isinstance(rules_of_case(name, engine, gpu)[expected], Finding)


def test_the_shared_control_has_no_finding(
    rules_of_case: Callable[[str, str | None, str | None], dict[str, Verdict]],
) -> None:
    verdicts = rules_of_case("cmd-llamaserver-qwen3-8b-control", "llama.cpp==10800", "RTX 4090")
    assert not [name for name, v in verdicts.items() if isinstance(v, Finding)]
