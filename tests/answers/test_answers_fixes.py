"""The fixes of one check can be taken one after the other, and the last holds them all."""

from __future__ import annotations

from kvgate.answers.checking import Checked, checked
from kvgate.deployment import deployments
from kvgate.records.heads import known


def check(line: str, gpu: str = "A100-80GB", engine: str = "vllm==0.33.0") -> Checked:
    (one,) = checked(deployments(line, engine=engine), known().cases, gpu=gpu)
    return one


def fixes(one: Checked) -> list[str]:
    return [f.finding.fix for f in one.found if f.finding.fix]


def test_a_later_fix_holds_the_earlier_ones() -> None:
    line = "vllm serve deepseek-ai/DeepSeek-V3 --kv-cache-dtype fp8 -tp 8"
    told = fixes(check(line))
    assert len(told) > 1
    assert told[0].endswith("--kv-cache-dtype bfloat16 -tp 8")
    assert told[-1].endswith("--kv-cache-dtype bfloat16 -tp 16")
    assert not any("fp8" in fix for fix in told)


def test_a_finding_that_an_earlier_fix_settles_shows_the_same_command() -> None:
    line = "python3 -m vllm.entrypoints.openai.api_server --model openai/gpt-oss-120b"
    told = fixes(check(f"{line} -tp 3 --kv-cache-dtype fp8"))
    assert told[0] == told[1]
    assert told[-1].endswith("-tp 2 --kv-cache-dtype bfloat16")
    assert all(fix.startswith("python -m vllm.entrypoints") for fix in told)


def test_what_all_fixes_together_come_to_is_no_longer_reported() -> None:
    one = check("vllm serve openai/gpt-oss-120b -tp 3 --kv-cache-dtype fp8")
    left = check(fixes(one)[-1]).found
    assert not {f.id for f in one.found} & {f.id for f in left}


def test_a_rope_flag_that_went_is_one_finding_with_the_override_as_its_fix() -> None:
    rope = '{"type":"yarn","factor":4.0,"original_max_position_embeddings":32768}'
    one = check(f"vllm serve Qwen/Qwen3-8B --rope-scaling '{rope}'", "H100")
    (found,) = (f for f in one.found if "--rope-scaling" in f.finding.message)
    assert found.id == "ctx-rope-scaling-flag-removed"
    assert '{"rope_parameters": {"rope_type": "yarn"' in found.finding.fix
    assert "--max-model-len 131072" in found.finding.fix
    assert not [f for f in check(found.finding.fix, "H100").found if f.severity == "blocks-start"]


def test_a_multimodal_model_has_the_override_under_its_text_part() -> None:
    rope = '{"rope_type":"yarn","factor":2.0}'
    one = check(f"vllm serve Qwen/Qwen3-VL-8B-Instruct --rope-scaling '{rope}'", "H100")
    (found,) = (f for f in one.found if f.id == "ctx-rope-scaling-flag-removed")
    assert '{"text_config": {"rope_parameters"' in found.finding.fix


def test_sizes_that_work_name_no_size_that_the_kv_heads_refuse() -> None:
    one = check("vllm serve Qwen/Qwen2.5-7B-Instruct -tp 8")
    (found,) = (f for f in one.found if f.id == "par-heads-not-divisible-by-tp")
    # 28 query heads, 4 KV heads: 7 and 14 divide the former and fit the latter in no way.
    assert found.finding.because[0] == "sizes that work are 1, 2, 4, 28"
    assert found.finding.fix.endswith("-tp 4")
