"""The planner's form: the command line it stands for, and what it refuses."""

from __future__ import annotations

import pytest

from kvgate.answers.form import Form, architecture
from kvgate.deployment import deployments
from kvgate.errors import InputError

MODEL = "Qwen/Qwen3-8B"


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({}, "vllm serve Qwen/Qwen3-8B"),
        ({"tp": "1", "pp": "1", "kv": "auto"}, "vllm serve Qwen/Qwen3-8B"),
        (
            {"tp": "8", "pp": "2", "context": "128K", "kv": "fp8", "util": "0.9"},
            "vllm serve Qwen/Qwen3-8B --tensor-parallel-size 8 --pipeline-parallel-size 2 "
            "--max-model-len 131072 --kv-cache-dtype fp8 --gpu-memory-utilization 0.9",
        ),
        (
            {"engine": "sglang", "tp": "2", "context": "65536", "kv": "fp8_e5m2", "util": "0.8"},
            "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp-size 2 "
            "--context-length 65536 --kv-cache-dtype fp8_e5m2 --mem-fraction-static 0.8",
        ),
        (
            {"engine": "tensorrt-llm", "tp": "2", "context": "8192", "kv": "fp8", "util": "0.5"},
            "trtllm-serve Qwen/Qwen3-8B --tp_size 2 --max_seq_len 8192 "
            "--kv_cache_free_gpu_memory_fraction 0.5",
        ),
        (
            {"engine": "llama.cpp", "context": "8192", "kv": "q8_0"},
            "llama-server -m Qwen/Qwen3-8B --ctx-size 8192 --cache-type-k q8_0 --cache-type-v q8_0",
        ),
        ({"more": "--enforce-eager -O3"}, "vllm serve Qwen/Qwen3-8B --enforce-eager -O3"),
        ({"line": "sglang serve x"}, "sglang serve x"),
        ({"model": "a b;c"}, "vllm serve 'a b;c'"),
        ({"config": "{}"}, "vllm serve my-model"),
    ],
)
def test_a_form_is_a_command_line_in_the_engine_s_own_words(
    fields: dict[str, str], line: str
) -> None:
    assert Form.of({"model": MODEL, **fields}).command() == line


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm", "llama.cpp"])
def test_every_flag_of_a_form_is_one_that_the_engine_has(engine: str) -> None:
    share = {} if engine == "llama.cpp" else {"util": "0.8"}
    form = Form.of({
        "model": MODEL, "engine": engine, "tp": "2", "pp": "2", "context": "8192", "kv": "f16",
        **share,
    })  # fmt: skip
    (read,) = deployments(form.command(), engine=engine)
    assert read.engine == engine
    assert read.model == MODEL
    unknown = [p for p in read.problems if "flag" in p.message and "unknown" in p.message]
    assert not unknown


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"model": ""}, "no model is named"),
        ({"tp": "x"}, "'x' is no number of GPUs"),
        ({"tp": "0"}, "'0' is no number of GPUs"),
        ({"pp": "99999"}, "'99999' is no number of GPUs"),
        ({"util": "1.1"}, "no share of memory"),
        ({"util": "nan"}, "no share of memory"),
        ({"context": "many"}, "many"),
        ({"engine": "ollama2"}, "unknown engine 'ollama2'"),
        ({"modle": "x"}, "the planner has no field 'modle'"),
        ({"engine": "llama.cpp", "util": "0.5"}, "no share of it"),
    ],
)
def test_a_form_that_can_t_be_read_is_refused_in_words(fields: dict[str, str], says: str) -> None:
    with pytest.raises(InputError, match=says):
        Form.of({"model": MODEL, **fields}).command()


def test_a_field_that_is_no_text_is_refused() -> None:
    with pytest.raises(InputError, match="is text"):
        Form.of({"tp": 8})


def test_a_pasted_configuration_is_a_model() -> None:
    config = """{"model_type": "llama", "architectures": ["LlamaForCausalLM"],
      "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 2,
      "hidden_size": 512, "intermediate_size": 1024, "vocab_size": 1000,
      "max_position_embeddings": 4096, "torch_dtype": "bfloat16"}"""
    read = architecture(config)
    assert read is not None
    assert sum(group.count for group in read.groups) == 2
    assert architecture("") is None
    with pytest.raises(InputError, match="not JSON"):
        architecture("{")
    with pytest.raises(InputError, match="too long"):
        architecture(" " * (2**20 + 1))
