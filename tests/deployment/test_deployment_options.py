"""Flags as each engine's own parser takes them, checked against the catalogue's releases."""

from __future__ import annotations

from typing import Any

import pytest
from packaging.version import Version

from kvgate.catalog.flags import flag_table, table_of
from kvgate.deployment import CODES, REFUSED, Deployment, deployments, engine_option
from kvgate.errors import InputError


def one(text: str, engine: str | None = None) -> Deployment:
    (found,) = deployments(text, engine=engine)
    return found


def codes(text: str, engine: str | None = None) -> list[str]:
    return [p.code for p in one(text, engine).problems]


def flags(text: str, engine: str | None = None) -> dict[str, Any]:
    return dict(one(text, engine).flags)


VLLM = "vllm==0.33.0"


@pytest.mark.parametrize(
    ("written", "dest", "value"),
    [
        ("--tensor-parallel-size 4", "tensor_parallel_size", 4),
        ("--tensor-parallel-size=4", "tensor_parallel_size", 4),
        ("--tensor_parallel_size 4", "tensor_parallel_size", 4),
        ("-tp 4", "tensor_parallel_size", 4),
        ("-tp=4", "tensor_parallel_size", 4),
        ("-pp 2", "pipeline_parallel_size", 2),
        ("-dp 2", "data_parallel_size", 2),
        ("-dcp 2", "decode_context_parallel_size", 2),
        ("-q fp8", "quantization", "fp8"),
        ("-qfp8", "quantization", "fp8"),
        ("--max-model-len 128k", "max_model_len", 128000),
        ("--max-model-len 128K", "max_model_len", 131072),
        ("--max-model-len 1M", "max_model_len", 1048576),
        ("--max-model-len auto", "max_model_len", -1),
        ("--max-model-len -1", "max_model_len", -1),
        ("--max-num-batched-tokens 8k", "max_num_batched_tokens", 8000),
        ("--gpu-memory-utilization .9", "gpu_memory_utilization", 0.9),
        ("--gpu-mem 0.9", "gpu_memory_utilization", 0.9),
        ("--enable-prefix-caching", "enable_prefix_caching", True),
        ("--no-enable-prefix-caching", "enable_prefix_caching", False),
        ("--disable-prefix-caching", "enable_prefix_caching", False),
        ("--disable-hybrid-kv-cache-manager", "disable_hybrid_kv_cache_manager", True),
        ("--no-disable-hybrid-kv-cache-manager", "disable_hybrid_kv_cache_manager", False),
        ("--enable-hybrid-kv-cache-manager", "disable_hybrid_kv_cache_manager", False),
        ("--attention-backend FLASHINFER", "attention_backend", "FLASHINFER"),
        ("-ac.backend X", "attention_config", {"backend": "X"}),
        ("--attention-config.backend=X", "attention_config", {"backend": "X"}),
        (
            "-ac.backend X -ac.flash_attn_version 3 -ac.hisparse_config.a.b 1k",
            "attention_config",
            {"backend": "X", "flash_attn_version": 3, "hisparse_config": {"a": {"b": 1000}}},
        ),
        ('--attention-config \'{"backend": "X"}\'', "attention_config", {"backend": "X"}),
        ("-cc.a+ x --compilation-config.a+=y,z", "compilation_config", {"a": ["x", "y", "z"]}),
        (
            "--kv-cache-dtype-skip-layers sliding_window 3 5",
            "kv_cache_dtype_skip_layers",
            ("sliding_window", "3", "5"),
        ),
        (
            '--kv-transfer-config \'{"kv_connector":"N","kv_role":"kv_both"}\'',
            "kv_transfer_config",
            {"kv_connector": "N", "kv_role": "kv_both"},
        ),
        ("--host 0.0.0.0", "host", "0.0.0.0"),
        ("--port 8000", "port", 8000),
        ("--api-key a b", "api_key", ("a", "b")),
        ("-O3", "optimization_level", "3"),
        ("-O 2", "optimization_level", "2"),
        ("--tool-call-parser hermes", "tool_call_parser", "hermes"),
        ("--enable-log-requests", "enable_log_requests", True),
    ],
)
def test_vllm_takes_it_so(written: str, dest: str, value: object) -> None:
    found = one(f"vllm serve org/m {written}", VLLM)
    assert found.flags[dest] == value
    assert not [p for p in found.problems if p.code in REFUSED]


@pytest.mark.parametrize(
    ("written", "dest", "value"),
    [
        ("--tp 4", "tp_size", 4),
        ("--tp-size=4", "tp_size", 4),
        ("--tensor-parallel-size 4", "tp_size", 4),
        ("--mem-frac 0.8", "mem_fraction_static", 0.8),
        ("--context-length 131072", "context_length", 131072),
        ("--page-size 64", "page_size", 64),
        ("--disable-radix-cache", "disable_radix_cache", True),
        ("--max-total-tokens 10k", "max_total_tokens", 10_000),
        ("--max-total-tokens 2Ki", "max_total_tokens", 2048),
        (
            "--json-model-override-args '{\"a\": 1}'",
            "json_model_override_args",
            {"a": 1},
        ),
    ],
)
def test_sglang_takes_it_so(written: str, dest: str, value: object) -> None:
    found = one(f"python3 -m sglang.launch_server --model-path org/m {written}", "sglang==0.5.23")
    assert found.flags[dest] == value
    assert found.problems == ()


@pytest.mark.parametrize(
    ("written", "dest", "value"),
    [
        ("-c 8192", "ctx_size", 8192),
        ("--ctx_size 8192", "ctx_size", 8192),
        ("-np 6", "parallel", 6),
        ("-ngl 99", "n_gpu_layers", 99),
        ("-ngl all", "n_gpu_layers", "all"),
        ("-fa", "flash_attn", True),
        ("-fa on", "flash_attn", True),
        ("-fa off", "flash_attn", False),
        ("-fa auto", "flash_attn", "auto"),
        ("-fa --jinja", "flash_attn", True),
        ("-ctk q8_0", "cache_type_k", "q8_0"),
        ("-ctv q4_0", "cache_type_v", "q4_0"),
        ("-nkvo", "kv_offload", False),
        ("--no-kv-unified", "kv_unified", False),
        ("-n -1", "n_predict", -1),
        ("-cram -1", "cache_ram", -1),
        ("--override-kv a=int:1", "override_kv", "a=int:1"),
    ],
)
def test_llama_cpp_takes_it_so(written: str, dest: str, value: object) -> None:
    found = one(f"llama-server -m m.gguf {written}")
    assert found.flags[dest] == value
    assert found.problems == ()


def test_trtllm_takes_underscores_and_says_so_of_dashes() -> None:
    found = one("trtllm-serve org/m --tp_size 4 --max-num-tokens 8192 --server_role CONTEXT")
    assert found.flags["tensor_parallel_size"] == 4
    assert found.flags["max_num_tokens"] == 8192
    assert found.role == "prefill"
    (problem,) = found.problems
    assert problem.hint == "write --max_num_tokens"


def test_llama_cpp_takes_no_equals_sign() -> None:
    found = one("llama-server -m m.gguf --ctx-size=8192")
    assert found.flags["ctx_size"] == 8192
    assert [(p.code, p.hint) for p in found.problems] == [("KV409", "write --ctx-size 8192")]


def test_an_environment_variable_of_llama_cpp_yields_to_the_flag() -> None:
    found = one("LLAMA_ARG_CTX_SIZE=4096 LLAMA_ARG_N_PARALLEL=2 llama-server -m m.gguf -c 8192")
    assert (found.flags["ctx_size"], found.flags["parallel"]) == (8192, 2)
    assert [g.origin for g in found.given if g.dest == "parallel"] == ["environment"]


def test_ollamas_context_length_counts_for_each_parallel_request() -> None:
    found = one("OLLAMA_NUM_PARALLEL=4 OLLAMA_CONTEXT_LENGTH=8192 ollama serve")
    assert (found.engine, found.flags["parallel"], found.flags["ctx_size"]) == (
        "llama.cpp",
        4,
        32768,
    )


def test_sglang_takes_no_underscores_but_the_value_that_was_meant_is_kept() -> None:
    found = one("python -m sglang.launch_server --model-path org/m --tp_size 4", "sglang==0.5.23")
    assert [(p.code, p.hint) for p in found.problems] == [("KV401", "write --tp-size")]
    assert found.flags["tp_size"] == 4


def test_the_last_of_a_repeated_flag_counts_and_it_is_said() -> None:
    found = one("vllm serve org/m --max-model-len 1 --max_model_len 2", VLLM)
    assert found.flags["max_model_len"] == 2
    assert [p.code for p in found.problems] == ["KV408"]
    assert codes("vllm serve org/m --max-model-len 1 --max-model-len 1", VLLM) == []


def test_an_unknown_flag_is_named_with_its_place_and_what_is_near() -> None:
    found = one("vllm serve org/m --max-modal-len 4096 --port 1", VLLM)
    (problem,) = found.problems
    assert (problem.code, problem.place.column) == ("KV401", 18)
    assert "--max-model-len" in problem.hint
    assert found.flags["port"] == 1
    given = found.written("--max_modal_len")
    assert given is not None
    assert (given.value, given.refused, given.dest) == (4096, True, "")


def test_a_removed_flag_names_its_successor_and_keeps_its_value() -> None:
    text = 'vllm serve org/m --rope-scaling \'{"rope_type":"yarn"}\' --max-model-len 5'
    found = one(text, VLLM)
    (problem,) = found.problems
    assert problem.code == "KV402"
    assert "0.33.0" in problem.message
    assert "--hf-overrides" in problem.hint
    given = found.written("--rope-scaling")
    assert given is not None
    assert given.value == {"rope_type": "yarn"}
    assert found.flags["max_model_len"] == 5


def test_a_renamed_flag_goes_on_under_its_new_name() -> None:
    text = "python -m sglang.launch_server --model-path m --mamba-scheduler-strategy no_buffer"
    found = one(text, "sglang==0.5.23")
    assert [(p.code, p.hint) for p in found.problems] == [
        ("KV402", "write --mamba-radix-cache-strategy")
    ]
    assert found.flags["mamba_radix_cache_strategy"] == "no_buffer"
    assert codes(text, "sglang==0.5.10") == []


def test_a_removed_flag_that_begins_others_is_told_as_removed() -> None:
    text = "python -m sglang.launch_server --model-path m --cuda-graph-max-bs 32"
    found = one(text, "sglang==0.5.23")
    assert [p.code for p in found.problems] == ["KV402"]
    assert found.flags["cuda_graph_max_bs_decode"] == 32


def test_the_same_flag_is_fine_in_the_release_that_had_it() -> None:
    assert "KV402" not in codes("vllm serve org/m --swap-space 4", "vllm==0.15.1")
    assert "KV402" in codes("vllm serve org/m --swap-space 4", "vllm==0.20.2")


def test_a_flag_newer_than_the_release_is_told_from_a_misspelt_one() -> None:
    text = "vllm serve org/m --kv-cache-dtype-skip-layers sliding_window"
    (problem,) = one(text, "vllm==0.15.1").problems
    assert problem.code == "KV410"
    assert codes(text, "vllm==0.20.2") == []


def test_a_choice_that_the_release_does_not_have_is_named() -> None:
    text = "vllm serve org/m --kv-cache-dtype nvfp4"
    assert codes(text, "vllm==0.15.1") == ["KV404"]
    assert codes(text, "vllm==0.20.2") == []


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("--tensor-parallel-size four", "KV405"),
        ("--gpu-memory-utilization high", "KV405"),
        ("--max-model-len 12x", "KV405"),
        ("--hf-overrides '{\"a\": }'", "KV405"),
        ("--kv-transfer-config '{'", "KV405"),
        ('--kv-transfer-config {"a":1}', "KV405"),
        ('--kv-transfer-config {"a":1,"b":2}', "KV405"),
        ("--max-model-len", "KV409"),
        ("--max-model-len --port 1", "KV409"),
        ("--enforce-eager=true", "KV409"),
        ("--enable-p", "KV412"),
        ("stray", "KV416"),
        ("—max-model-len", "KV416"),
        ("--max-model-len $N", "KV406"),
        ("--max-model-len $(nproc)", "KV406"),
        ("--max-model-len `nproc`", "KV406"),
    ],
)
def test_what_cannot_be_taken_is_reported_once(written: str, code: str) -> None:
    assert codes(f"vllm serve org/m {written}", VLLM) == [code]


@pytest.mark.parametrize(
    ("written", "hint", "value"),
    [
        ("--enable-chunked-prefill=False", "write --no-enable-chunked-prefill", False),
        ("--enable-chunked-prefill=true", "write --enable-chunked-prefill", True),
        ("--no-enable-chunked-prefill=0", "write --no-enable-chunked-prefill", False),
    ],
)
def test_a_switch_with_a_value_keeps_what_it_was_to_mean(
    written: str, hint: str, value: bool
) -> None:
    found = one(f"vllm serve org/m {written}", VLLM)
    assert [problem.hint for problem in found.problems] == [hint]
    assert found.flags["enable_chunked_prefill"] is value


def test_unquoted_json_is_read_as_it_was_meant() -> None:
    found = one('vllm serve m --kv-transfer-config {"kv_role":"kv_producer","x":1}', VLLM)
    assert found.role == "prefill"
    assert "single quotes" in found.problems[0].hint


def test_a_flag_unknown_to_the_newest_release_may_be_of_a_newer_one() -> None:
    assert codes("vllm serve org/m --brand-new 1", "vllm==99.0") == ["KV417", "KV411"]
    assert codes("vllm serve org/m --brand-new 1", VLLM) == ["KV401"]


def test_an_unresolved_value_is_no_value() -> None:
    found = one("vllm serve org/m --max-model-len 4096 --max-model-len $LEN --port 1", VLLM)
    assert "max_model_len" not in found.flags
    assert found.is_unresolved("max_model_len")
    assert not found.is_unresolved("port")


def test_words_that_may_hide_flags_are_listed() -> None:
    found = one("vllm serve org/m $EXTRA --port 1 $(more)", VLLM)
    assert found.hidden == ("$EXTRA", "$(more)")
    assert found.flags["port"] == 1


def test_an_unresolved_model_is_said() -> None:
    found = one("vllm serve $MODEL --port 1", VLLM)
    assert found.model == ""
    assert [p.code for p in found.problems] == ["KV406"]


def test_a_config_file_that_equals_names_is_not_read_by_vllm() -> None:
    assert codes("vllm serve org/m --config=x.yaml", VLLM) == ["KV413"]


def test_an_old_release_refuses_nothing_that_kvgate_does_not_know_of_it() -> None:
    found = one("vllm serve org/m --limit-mm-per-prompt image=4 --some-old-flag 1", "vllm==0.5.0")
    assert {p.code for p in found.problems} <= {"KV411", "KV417"}
    assert found.flags["limit_mm_per_prompt"] == "image=4"


def test_a_dynamo_worker_takes_flags_of_its_own() -> None:
    found = one("python3 -m dynamo.vllm --model org/m --is-prefill-worker --connector a b -tp 2")
    assert (found.model, found.role, found.flags["tensor_parallel_size"]) == ("org/m", "prefill", 2)
    assert [p.code for p in found.problems] == ["KV403"]
    assert {p.code for p in one("python3 -m dynamo.vllm --model m --new 1").problems} == {"KV411"}


def test_an_engine_option_is_read_and_a_wrong_one_named() -> None:
    assert engine_option("vllm==v0.33.0") == ("vllm", Version("0.33.0"))
    assert engine_option("trtllm") == ("tensorrt-llm", None)
    assert engine_option("llama.cpp==b9600") == ("llama.cpp", Version("9600"))
    with pytest.raises(InputError, match="unknown engine 'vlm'"):
        engine_option("vlm==1")
    with pytest.raises(InputError, match="not a version"):
        engine_option("vllm==latest")


def test_every_problem_has_a_code_with_its_meaning() -> None:
    assert set(CODES) >= REFUSED
    assert all(code.startswith("KV4") and text for code, text in CODES.items())


def test_a_table_tells_switches_from_their_negations() -> None:
    table = table_of(
        [
            {"flags": ["--a", "--no-a"], "dest": "a", "nargs": 0},
            {"flags": ["--enable-b", "--disable-b"], "dest": "enable_b", "nargs": 0},
            {"flags": ["--disable-c"], "dest": "disable_c", "action": "store_true"},
        ],
        engine="vllm",
    )
    negative = {name: name in flag.negatives for name, flag in table.by_spelling.items()}
    assert negative == {
        "--a": False,
        "--no-a": True,
        "--enable-b": False,
        "--disable-b": True,
        "--no-enable-b": True,
        "--disable-c": False,
    }


def test_the_curated_tables_say_that_they_are_not_complete() -> None:
    for engine in ("llama.cpp", "tensorrt-llm"):
        table = flag_table(engine)
        assert not table.complete
        assert table.source
        assert len(table.flags()) > 25
