"""The collected inputs of real reports: each gives its engine, model, version and flags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kvgate.deployment import REFUSED, Deployment
from kvgate.manifests import read_deployments

INPUTS = Path(__file__).resolve().parents[2] / "../shared/cases/inputs"

# name -> engine, version, model, GPUs, settings (a part of them), codes of what is found
EXPECTED: dict[str, tuple[str, str | None, str, int | None, dict[str, Any], set[str]]] = {
    "cmd-dsv4-offload-k8s-args": (
        "vllm", "0.20.1", "deepseek-ai/DeepSeek-V4-Flash", 2,
        {"tensor_parallel_size": 2, "max_model_len": 128000, "kv_cache_dtype": "fp8",
         "block_size": 256, "enable_prefix_caching": True},
        {"KV417"},
    ),
    "cmd-dynamo-qwen35-kv-events": (
        "vllm", "0.19.0", "Qwen/Qwen3.5-35B-A3B", 4,
        {"tensor_parallel_size": 4, "max_model_len": 131072,
         "kv_events_config": {"enable_kv_cache_events": True, "publisher": "zmq",
                              "endpoint": "tcp://*:5557"}},
        set(),
    ),
    "cmd-env-backend-ignored": (
        "vllm", "0.26.0", "Qwen/Qwen2.5-14B-Instruct", None,
        {"max_model_len": 32768, "gpu_memory_utilization": 0.9}, set(),
    ),
    "cmd-glm46-dcp-tp8": (
        "vllm", None, "zai-org/GLM-4.6-FP8", None,
        {"tensor_parallel_size": 8, "decode_context_parallel_size": 2,
         "enable_expert_parallel": True}, set(),
    ),
    "cmd-glm52-h200-fp8-e4m3": (
        "vllm", None, "zai-org/GLM-5.2-FP8", None,
        {"kv_cache_dtype": "fp8_e4m3", "max_num_seqs": 256, "max_model_len": 307200}, set(),
    ),
    "cmd-gptoss-4090-compose": (
        "vllm", "0.10.1", "openai/gpt-oss-120b", 2,
        {"tensor_parallel_size": 2, "enforce_eager": True, "gpu_memory_utilization": 0.85},
        {"KV417", "KV419"},
    ),
    "cmd-kimi-k2-tp8-aiter": (
        "sglang", None, "moonshotai/Kimi-K2-Instruct", None,
        {"tp_size": 8, "attention_backend": "aiter", "context_length": 131072}, set(),
    ),
    "cmd-llamaserver-compose-131072": (
        "llama.cpp", "9600", "MODEL_DIR/Qwen2.5-7B-Instruct-Q4_K_M.gguf", 1,
        {"ctx_size": 131072, "parallel": 1, "flash_attn": True, "cache_type_v": "q8_0"}, set(),
    ),
    "cmd-llamaserver-np6": (
        "llama.cpp", None, "models/deepseek-v3-q2_k_xs-00001-of-00005.gguf", None,
        {"ctx_size": 0, "parallel": 6, "cache_type_k": "q5_0", "threads_http": 12}, set(),
    ),
    "cmd-llamaserver-qwen3-8b-control": (
        "llama.cpp", None, "MODEL_DIR/Qwen3-8B-Q5_K_M.gguf", None,
        {"ctx_size": 32768, "cache_ram": 2048, "ctx_checkpoints": 4}, set(),
    ),
    "cmd-ollama-k8s-6gi": (
        "llama.cpp", None, "", 1,
        {"parallel": 1, "ctx_size": 65536, "flash_attn": True, "cache_type_k": "q8_0"}, {"KV407"},
    ),
    "cmd-qwen2-7b-tp8-helm": (
        "vllm", "0.8.5", "Qwen/Qwen2-7B-Instruct", 8,
        {"tensor_parallel_size": 8, "max_model_len": 32768, "dtype": "bfloat16",
         "gpu_memory_utilization": 0.9, "enable_prefix_caching": False},
        {"KV417"},
    ),
    "cmd-qwen36-nvfp4-fp8kv-sm120-ok-on-triton": (
        "vllm", None, "nvidia/Qwen3.6-35B-A3B-NVFP4", None,
        {"kv_cache_dtype": "fp8", "attention_backend": "TRITON_ATTN"}, set(),
    ),
    "cmd-qwen38-yarn-old-flag": (
        "vllm", None, "Qwen/Qwen3.8-Flash-Next-FP8", None,
        {"tensor_parallel_size": 4, "max_model_len": 1000000, "reasoning_parser": "qwen3"},
        {"KV402"},
    ),
    "cmd-r1-dcp-lmcache": (
        "vllm", None, "RedHatAI/DeepSeek-R1-0528-quantized.w4a16", None,
        {"decode_context_parallel_size": 4, "port": 4000,
         "kv_transfer_config": {"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}},
        set(),
    ),
    "cmd-scout-10m": (
        "vllm", None, "meta-llama/Llama-4-Scout-17B-16E-Instruct", None,
        {"tensor_parallel_size": 8,
         "override_generation_config": {"attn_temperature_tuning": True}},
        {"KV405"},
    ),
    "cmd-sglang-5090-trtllm-mha": (
        "sglang", None, "Qwen/Qwen3.5-27B", None,
        {"attention_backend": "trtllm_mha", "page_size": 64}, set(),
    ),
    "cmd-sglang-qwen3-32b-control": (
        "sglang", None, "Qwen/Qwen3-32B", None,
        {"tp_size": 2, "attention_backend": "fa3", "chunked_prefill_size": 8192}, set(),
    ),
    "cmd-sglang-qwen3-yarn-no-length": (
        "sglang", None, "Qwen/Qwen3-4B", None,
        {"json_model_override_args": {"rope_scaling": {
            "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}}},
        set(),
    ),
    "cmd-sglang-r1-160k": (
        "sglang", None, "deepseek-ai/DeepSeek-R1", None,
        {"tp_size": 8, "context_length": 163840, "mem_fraction_static": 0.9}, set(),
    ),
    "cmd-trtllm-serve-qwen3-32b": (
        "tensorrt-llm", None, "Qwen/Qwen3-32B", None,
        {"max_num_tokens": 8192, "max_seq_len": 40960, "tensor_parallel_size": 1}, set(),
    ),
}  # fmt: skip


def read(name: str, engine: str | None = None) -> Deployment:
    path = INPUTS / f"{name}.txt"
    if not path.is_file():
        pytest.skip("the shared facts are not beside this checkout")
    text = path.read_text(encoding="utf-8").split("\n---\n", 1)[1]
    (found,) = read_deployments(text, "<command line>", engine=engine)
    return found


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_collected_input_gives_what_its_author_asked_for(name: str) -> None:
    engine, version, model, gpus, settings, codes = EXPECTED[name]
    found = read(name)
    assert (found.engine, found.model, found.gpu_count) == (engine, model, gpus)
    assert (str(found.version) if found.version is not None else None) == version
    assert {dest: found.flags.get(dest) for dest in settings} == settings
    # What the catalogue has no release for, and answers from another, is not a fault of the input.
    assert {p.code for p in found.problems} - {"KV411", "KV417"} == codes - {"KV411", "KV417"}


def test_every_collected_input_is_expected() -> None:
    if not INPUTS.is_dir():
        pytest.skip("the shared facts are not beside this checkout")
    assert {path.stem for path in INPUTS.glob("cmd-*.txt")} == set(EXPECTED)


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        ("cmd-llamaserver-qwen3-8b-control", "llama.cpp==b10800"),
        ("cmd-sglang-qwen3-32b-control", "sglang==0.5.16"),
        ("cmd-qwen36-nvfp4-fp8kv-sm120-ok-on-triton", "vllm==0.27.1"),
    ],
)
def test_nothing_that_an_engine_refuses_is_found_in_the_controls(name: str, engine: str) -> None:
    assert not [p for p in read(name, engine).problems if p.code in REFUSED]


def test_a_flag_of_its_own_time_is_no_fault_once_the_release_is_named() -> None:
    assert not [p for p in read("cmd-scout-10m", "vllm==0.8.5").problems if p.code in REFUSED]
    memory = read("cmd-ollama-k8s-6gi").host_memory_bytes
    assert memory == 6 * 2**30
    assert read("cmd-trtllm-serve-qwen3-32b").config["kv_cache_config"]["dtype"] == "fp8"
