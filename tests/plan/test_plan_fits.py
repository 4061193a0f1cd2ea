"""Whether it fits, asked of llama.cpp and TensorRT-LLM: found, undecided, or left open."""

from __future__ import annotations

import pytest

from kvgate.deployment import deployments
from kvgate.kvcache import size
from kvgate.plan import Plan, plan
from kvgate.plan.gguf import named_bits
from kvgate.rules.judge import Judged, Open, judge

_LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
_LARGE = "meta-llama/Llama-3.1-70B-Instruct"


def _plan(line: str, gpu: str = "RTX 4090") -> Plan:
    (asked,) = deployments(line)
    return plan(asked, gpu=gpu)


def _asked(line: str, gpu: str = "RTX 4090") -> tuple[list[Judged], list[Open]]:
    found, undecided = judge(_plan(line, gpu), ())
    return [f for f in found if f.id == "KV432"], [o for o in undecided if o.id == "KV432"]


def test_a_length_beyond_the_whole_range_is_found_and_the_fix_makes_it_smaller() -> None:
    (found,), undecided = _asked(f"llama-server -m {_LLAMA} -c 131072 -np 2 -ngl 99")
    assert found.severity == "blocks-start"
    assert "a sequence of 65,536 tokens does not fit" in found.finding.message
    assert "-c 62464 " in found.finding.fix
    assert not undecided
    again, still = _asked(found.finding.fix)
    assert not again
    assert len(still) == 1  # it fits into the likely memory, and not into the least


def test_a_length_within_the_range_is_undecided() -> None:
    found, (open_,) = _asked(f"llama-server -m {_LLAMA} -c 61440 -ngl 99")
    assert not found
    assert "from 6.63 GiB to 8.13 GiB" in open_.lacks


def test_a_length_that_the_least_memory_holds_is_neither() -> None:
    assert _asked(f"llama-server -m {_LLAMA} -c 51200 -ngl 99") == ([], [])


def test_without_a_number_of_layers_it_is_slower_not_refused() -> None:
    (found,), _ = _asked(f"llama-server -m {_LLAMA} -c 131072")
    assert found.severity == "slower"


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ("-ngl 10", "--n-gpu-layers 10"),
        ("--no-kv-offload", "the cache is kept on the host"),
        ("--cpu-moe", "--cpu-moe"),
        ("--tensor-split 1,1", "--tensor-split"),
    ],
)
def test_what_is_kept_elsewhere_leaves_it_open(flags: str, says: str) -> None:
    made = _plan(f"llama-server -m {_LLAMA} -c 131072 {flags}")
    assert made.sizing is not None
    assert made.sizing.pool is None
    assert says in (made.lacks("size") or "")


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("Llama-3.1-8B-Instruct-Q4_K_M.gguf", (4, False)),
        ("org/model-GGUF:Q8_0", (8, False)),
        ("model-UD-IQ1_S.gguf", (1, False)),
        ("model-BF16.gguf", (16, True)),
        ("Qwen/Qwen3-8B", None),
        ("gpt-oss-20b-GGUF", None),
    ],
)
def test_a_files_name_says_how_many_bits_a_weight_has(
    name: str, bits: tuple[int, bool] | None
) -> None:
    assert named_bits(name) == bits


def test_a_quantised_file_is_found_not_to_fit_only_where_its_least_weights_do_not() -> None:
    from kvgate.architecture import model

    def asked(name: str, context: int) -> Plan:
        (one,) = deployments(f"llama-server -m {name} -c {context} -ngl 99")
        return plan(one, gpu="RTX 4090", model=model(_LLAMA))

    open_ = asked("Llama-3.1-8B-Instruct-Q4_K_M.gguf", 65_536)
    assert open_.sizing is not None
    assert open_.sizing.pool is None
    assert "how many bytes of weights" in (open_.lacks("size") or "")
    full = asked("Llama-3.1-8B-Instruct-Q4_K_M.gguf", 262_144)
    assert full.sizing is not None
    assert full.sizing.fits is False
    unnamed = asked("model.gguf", 262_144)
    assert unnamed.sizing is not None
    assert unnamed.sizing.pool is None


def test_an_mla_model_in_llamacpp_keeps_its_need() -> None:
    made = _plan("llama-server -m deepseek-ai/DeepSeek-V3 -c 4096 -ngl 99")
    assert made.sizing is not None
    assert made.sizing.pool is None
    assert "expanded heads or the latent" in (made.lacks("size") or "")


def test_types_of_k_and_v_that_differ_are_sized_in_a_plan_too() -> None:
    made = _plan(f"llama-server -m {_LLAMA} -c 4096 -ngl 99 -ctk q8_0 -ctv q4_0")
    assert made.sizing is not None
    assert made.sizing.needs.bytes_per_token == 53_248


def test_the_weights_of_tensorrt_llm_that_exceed_the_card_are_found() -> None:
    (found,), _ = _asked(f"trtllm-serve {_LARGE} --max_seq_len 4096")
    assert found.severity == "blocks-start"
    assert "the weights alone exceed the card" in found.finding.because
    assert _asked(f"trtllm-serve {_LARGE} --max_seq_len 4096 --tp_size 4", "H100") == ([], [])


def test_a_fix_changes_a_flag_that_is_there_however_it_is_spelled() -> None:
    (found,), _ = _asked(f"trtllm-serve {_LLAMA} --max_seq_len 131072")
    assert found.severity == "fails-later"
    assert found.finding.fix == f"trtllm-serve {_LLAMA} --max_seq_len 45152"


def test_the_fix_of_a_divided_context_does_not_grow_a_cache_that_has_no_room() -> None:
    from kvgate.rules.llamacpp import context_is_divided_by_slots
    from kvgate.rules.verdict import Finding

    small = context_is_divided_by_slots(_plan(f"llama-server -m {_LLAMA} -c 16384 -np 2 -ngl 99"))
    assert isinstance(small, Finding)
    assert "-c 32768" in small.fix
    large = context_is_divided_by_slots(_plan(f"llama-server -m {_LLAMA} -c 61440 -np 4 -ngl 99"))
    assert isinstance(large, Finding)
    assert large.fix == "--kv-unified"


def test_kv_memory_that_the_gpu_does_not_have_is_found() -> None:
    line = f"vllm serve {_LLAMA} --kv-cache-memory-bytes 500G"
    (found,), _ = _asked(line, "H100")
    assert found.severity == "blocks-start"
    assert "more than the 79.19 GiB that H100 SXM has" in found.finding.message
    assert found.finding.fix == f"vllm serve {_LLAMA}"
    assert _asked(line.replace("500G", "40G"), "H100") == ([], [])
    made = _plan(line, "H100")
    assert made.sizing is not None
    assert any("is more than the 79.19 GiB" in note for note in made.sizing.assumptions)


def test_a_release_before_the_first_that_was_read_is_sized_all_the_same() -> None:
    (asked,) = deployments("vllm serve Qwen/Qwen3-8B", engine="vllm==0.11.0")
    made = plan(asked, gpu="A10")
    assert made.gates is None
    assert "older than the oldest release" in (made.lacks("gates") or "")
    assert made.lacks("size") is None
    assert made.sizing is not None
    assert made.sizing.tokens == size("Qwen/Qwen3-8B", gpu="A10", engine="vllm==0.11.0").tokens
    (asked,) = deployments("vllm serve Qwen/Qwen3-8B", engine="vllm==0.8.5")
    assert "older than the oldest allocator" in (plan(asked, gpu="A10").lacks("size") or "")
