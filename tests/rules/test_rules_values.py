"""Flag values that vLLM refuses, and flags that move memory, as `check` sees them."""

from __future__ import annotations

import pytest

from kvgate.deployment import deployments
from kvgate.plan import Plan, plan
from kvgate.rules import Case, judge

GIB = 2**30


def planned(line: str, gpu: str = "H100", engine: str = "vllm==0.33.0") -> Plan:
    return plan(deployments(line, engine=engine)[0], gpu=gpu)


@pytest.mark.parametrize(
    "flags",
    [
        "-tp 0", "-tp -2", "--max-model-len 0", "--max-model-len -5", "--block-size 0",
        "--gpu-memory-utilization 92", "--gpu-memory-utilization 1.5", "--max-num-seqs 0",
        "--kv-cache-dtype fp9", "--attention-backend FLASHINFR",
    ],
)  # fmt: skip
def test_a_value_that_vllm_refuses_is_a_finding_at_its_flag(flags: str) -> None:
    made = planned(f"vllm serve Qwen/Qwen3-8B {flags}")
    found, _ = judge(made, ())
    (refused,) = [f for f in found if f.id == "KV434"]
    assert refused.severity == "blocks-start"
    assert flags.split()[0] in refused.finding.message
    assert made.problems[0].place.column == 26


@pytest.mark.parametrize(
    "flags",
    ["-tp 2", "--max-model-len -1", "--max-model-len auto", "--gpu-memory-utilization 1.0",
     "--kv-cache-dtype fp8", "--attention-backend flash_attn", "--attention-backend auto"],
)  # fmt: skip
def test_a_value_that_vllm_takes_is_none(flags: str) -> None:
    assert planned(f"vllm serve Qwen/Qwen3-8B {flags}").problems == ()


def test_a_value_of_the_wrong_kind_is_told_and_never_a_traceback() -> None:
    for flags in ("-tp two", "--gpu-memory-utilization nan", "--max-model-len many"):
        made = planned(f"vllm serve Qwen/Qwen3-8B {flags}")
        assert judge(made, ())[0], flags


def test_an_automatic_length_is_the_longest_that_fits() -> None:
    made = planned("vllm serve Qwen/Qwen3-8B --max-model-len auto", gpu="L4")
    assert made.sizing is not None
    assert made.sizing.fits
    assert made.sizing.max_model_len < 40_960
    assert not judge(made, ())[0]


def test_data_parallel_ranks_share_the_experts() -> None:
    whole = planned("vllm serve deepseek-ai/DeepSeek-V3", gpu="H200")
    shared = planned(
        "vllm serve deepseek-ai/DeepSeek-V3 -dp 8 --enable-expert-parallel", gpu="H200"
    )
    assert whole.sizing is not None
    assert shared.sizing is not None
    assert whole.sizing.weights.bytes_per_rank is not None
    assert shared.sizing.weights.bytes_per_rank is not None
    assert whole.sizing.weights.bytes_per_rank > 600 * GIB
    assert 80 * GIB < shared.sizing.weights.bytes_per_rank < 110 * GIB
    assert shared.sizing.fits


def test_a_dense_model_keeps_all_its_weights_on_each_data_parallel_rank() -> None:
    one, two = planned("vllm serve Qwen/Qwen3-8B"), planned("vllm serve Qwen/Qwen3-8B -dp 2")
    assert one.sizing is not None
    assert two.sizing is not None
    assert one.sizing.weights == two.sizing.weights


def test_quantising_at_start_shrinks_the_weights() -> None:
    plain, small = (
        planned(f"vllm serve Qwen/Qwen3-32B {flags}", gpu="L40S").sizing
        for flags in ("", "--quantization fp8")
    )
    assert plain is not None
    assert small is not None
    assert plain.weights.bytes_per_rank is not None
    assert small.weights.bytes_per_rank is not None
    assert small.weights.bytes_per_rank < 0.6 * plain.weights.bytes_per_rank


LMCACHE = """--kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'"""
NIXL = LMCACHE.replace("LMCacheConnectorV1", "NixlConnector")


def test_a_connector_that_turns_the_manager_off_is_sized_without_it() -> None:
    kept, off = (
        planned(f"vllm serve openai/gpt-oss-20b {through}").sizing for through in (NIXL, LMCACHE)
    )
    assert kept is not None
    assert off is not None
    assert kept.tokens is not None
    assert off.tokens is not None
    assert off.tokens < kept.tokens / 1.5
    made = planned(f"vllm serve openai/gpt-oss-20b {LMCACHE}")
    assert any("without the hybrid KV cache manager" in text for text in made.assumed)


def test_skipped_layers_keep_the_models_dtype_in_need_and_gates() -> None:
    line = "vllm serve openai/gpt-oss-20b --kv-cache-dtype fp8"
    all_fp8, some = planned(line), planned(f"{line} --kv-cache-dtype-skip-layers 1 3")
    assert all_fp8.sizing is not None
    assert some.sizing is not None
    assert some.sizing.needs.bytes_per_token > all_fp8.sizing.needs.bytes_per_token
    assert some.gates is not None
    assert all_fp8.gates is not None
    assert len(some.gates.groups) > len(all_fp8.gates.groups)


@pytest.mark.parametrize(
    ("flags", "smaller"),
    [
        ("--mamba-ssm-cache-dtype bfloat16", True),
        ("--mamba-ssm-cache-dtype float32", False),
    ],
)
def test_the_states_dtype_is_sized(flags: str, smaller: bool) -> None:
    own = planned("vllm serve Qwen/Qwen3.5-27B").sizing
    changed = planned(f"vllm serve Qwen/Qwen3.5-27B {flags}").sizing
    assert own is not None
    assert changed is not None
    less = changed.needs.state_bytes_per_sequence < own.needs.state_bytes_per_sequence
    assert less is smaller


def test_prefill_context_parallelism_leaves_open_whether_it_fits() -> None:
    made = planned("vllm serve deepseek-ai/DeepSeek-V3 -tp 8 --prefill-context-parallel-size 2")
    assert made.sizing is not None
    assert made.sizing.pool is None
    assert "prefill context parallelism" in (made.lacks("size") or "")


@pytest.mark.parametrize(
    ("flags", "gib"), [("", 4.5), ("-ctk q8_0 -ctv q8_0", 2.39), ("-ctk q4_0 -ctv q4_0", 1.27)]
)
def test_llama_cpp_is_sized_by_its_cache_types(flags: str, gib: float) -> None:
    made = planned(f"llama-server -hf Qwen/Qwen3-8B -c 32768 {flags}", engine="llama.cpp")
    assert made.sizing is not None
    assert round(made.sizing.sequence_bytes / GIB, 2) == gib


def test_llama_cpp_with_two_types_is_sized_with_both() -> None:
    made = planned("llama-server -hf Qwen/Qwen3-8B -c 32768 -ctk q8_0", engine="llama.cpp")
    assert made.sizing is not None
    assert made.sizing.needs.choice.dtype == "q8_0/f16"
    assert made.sizing.needs.bytes_per_token == 36 * 8 * (128 // 32 * 34 + 128 * 2)


@pytest.mark.parametrize(
    "path",
    [
        "/models/Qwen3-8B", "models/Qwen3-8B",
        "/root/.cache/huggingface/hub/models--Qwen--Qwen3-8B/snapshots/b968826d",
    ],
)  # fmt: skip
def test_a_folder_that_is_named_after_a_model_is_taken_for_it_and_says_so(path: str) -> None:
    made = planned(f"vllm serve {path}")
    assert made.arch is not None
    assert made.arch.id == "Qwen/Qwen3-8B"
    assert any("by its folder's name" in text for text in made.assumed)


def test_offloaded_weights_leave_room() -> None:
    made = planned("vllm serve Qwen/Qwen3-8B --cpu-offload-gb 10")
    assert made.sizing is not None
    assert made.sizing.weights.bytes_per_rank is not None
    assert made.sizing.weights.bytes_per_rank < 6 * GIB
    assert any("host memory" in text for text in made.assumed)


@pytest.mark.parametrize(
    "flags",
    ["--num-gpu-blocks-override 100", "--enable-lora",
     """--speculative-config '{"model": "x/y", "num_speculative_tokens": 3}'"""],
)  # fmt: skip
def test_what_moves_memory_and_isnt_counted_leaves_the_fit_open(flags: str) -> None:
    made = planned(f"vllm serve Qwen/Qwen3-8B {flags}")
    assert made.sizing is not None
    assert made.sizing.pool is None
    assert made.lacks("size")


def test_the_engines_own_refusal_is_told_beside_a_record_that_speaks_of_memory() -> None:
    made = planned(
        "vllm serve google/gemma-3-27b-it --attention-backend FLASHINFER", "L4", "vllm==0.19.1"
    )
    assert "KV430" in [f.id for f in judge(made, ())[0]]


@pytest.mark.parametrize(
    ("flags", "left"),
    [
        ("--block-size 7", ""),
        ("--kv-cache-dtype nvfp4 --block-size 7", " --kv-cache-dtype nvfp4"),
    ],
)
def test_a_refusal_blocks_the_start_and_its_fix_takes_the_cause_away(flags: str, left: str) -> None:
    made = planned(f"vllm serve Qwen/Qwen3-8B {flags}")
    case = Case("matrix", "surprise", "which backend runs", "no_valid_attention_backend")
    (found,) = judge(made, [case])[0]
    assert found.severity == "blocks-start"
    assert found.finding.fix == f"vllm serve Qwen/Qwen3-8B{left}"
    assert not judge(planned(found.finding.fix), [case])[0]
