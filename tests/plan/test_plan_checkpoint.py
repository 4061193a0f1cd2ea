"""What vLLM refuses of the model itself, told before it starts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from packaging.version import Version

from kvgate.architecture.model import Quantization
from kvgate.architecture.released import model
from kvgate.catalog.names import named, span
from kvgate.deployment import deployments
from kvgate.plan import Plan, plan
from kvgate.rules import judge
from scripts.read_vllm_names import architectures, entry, methods


def planned(line: str, gpu: str = "H100", engine: str = "vllm==0.33.0") -> Plan:
    return plan(deployments(line, engine=engine)[0], gpu=gpu)


def told(made: Plan) -> list[tuple[str, str, str]]:
    return [(f.id, f.severity, f.finding.message) for f in judge(made, ())[0] if f.id != "KV432"]


@pytest.mark.parametrize("gpu", ["V100-32GB", "T4"])
def test_bfloat16_is_refused_below_compute_capability_8(gpu: str) -> None:
    ((code, severity, message),) = told(planned("vllm serve Qwen/Qwen3-0.6B --dtype bfloat16", gpu))
    assert (code, severity) == ("KV434", "blocks-start")
    assert "only supported on GPUs with compute capability of at least 8.0" in message


@pytest.mark.parametrize(
    ("flags", "gpu"), [("--dtype bfloat16", "A10"), ("--dtype half", "T4"), ("", "T4")]
)
def test_other_dtypes_and_later_gpus_are_let_through(flags: str, gpu: str) -> None:
    assert not told(planned(f"vllm serve Qwen/Qwen3-0.6B {flags}", gpu))


def test_an_automatic_dtype_becomes_float16_below_compute_capability_8() -> None:
    for gpu, name in (("T4", "float16"), ("A10", "bfloat16")):
        sizing = planned("vllm serve Qwen/Qwen3-0.6B", gpu).sizing
        assert sizing is not None
        assert sizing.needs.choice.dtype == name or sizing.needs.choice.format.name == name


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("vllm serve Qwen/Qwen3-8B -q zzz", "no quantisation method 'zzz'"),
        ("vllm serve Qwen/Qwen3-8B -q bitblas", "the last release read that has it is 0.15.1"),
        ("vllm serve Qwen/Qwen3-8B-FP8 -q awq", "(fp8) does not match"),
        ("vllm serve nvidia/DeepSeek-V3.1-NVFP4 -q fp8", "(modelopt_fp4) does not match"),
    ],
)
def test_a_quantisation_that_isnt_there_or_isnt_the_checkpoints_is_refused(
    line: str, words: str
) -> None:
    assert [(c, s) for c, s, m in told(planned(line)) if words in m] == [("KV434", "blocks-start")]


@pytest.mark.parametrize(
    "line",
    [
        "vllm serve Qwen/Qwen3-8B-FP8 -q fp8",
        "vllm serve Qwen/Qwen3-8B -q fp8",
        "vllm serve nvidia/DeepSeek-V3.1-NVFP4 -q modelopt -tp 8",
        "vllm serve openai/gpt-oss-120b -q mxfp4 -tp 2",
    ],
)
def test_a_quantisation_of_the_checkpoints_own_family_is_let_through(line: str) -> None:
    assert not told(planned(line))


def test_a_method_in_the_config_that_no_release_has_is_refused() -> None:
    arch = replace(model("Qwen/Qwen3-8B"), quantization=Quantization("awqq", 4.0, None, None))
    made = plan(
        deployments("vllm serve Qwen/Qwen3-8B", engine="vllm==0.33.0")[0], gpu="H100", model=arch
    )
    (problem,) = made.problems
    assert "quantised with 'awqq'" in problem.message
    assert "awq" in problem.hint


def test_a_layer_to_spare_that_the_model_hasnt_is_told() -> None:
    line = "vllm serve Qwen/Qwen3-8B --kv-cache-dtype fp8 --kv-cache-dtype-skip-layers"
    ((code, severity, message),) = told(planned(f"{line} 99"))
    assert (code, severity) == ("KV436", "surprise")
    assert "36 layers, 0 to 35" in message
    assert not told(planned(f"{line} 35"))


@pytest.mark.parametrize(
    ("name", "version", "first"),
    [
        ("moonshotai/Kimi-K3", "0.13.0", "0.27.0"),
        ("Qwen/Qwen3.5-27B", "0.9.2", "0.17.0"),
        ("Qwen/Qwen3.5-27B", "0.15.0", "0.17.0"),
        ("google/gemma-4-31B-it", "0.14.0", "0.19.0"),
        ("deepseek-ai/DeepSeek-V4-Pro", "0.13.0", "0.20.0"),
    ],
)
def test_a_model_newer_than_the_release_is_told_with_the_first_release_that_has_it(
    name: str, version: str, first: str
) -> None:
    found = told(planned(f"vllm serve {name}", engine=f"vllm=={version}"))
    (message,) = (m for c, s, m in found if (c, s) == ("KV435", "blocks-start"))
    assert f"first release read that has it is {first}" in message
    later = told(planned(f"vllm serve {name}", engine=f"vllm=={first}"))
    assert not [c for c, _, _ in later if c == "KV435"]


def test_between_two_releases_that_were_read_nothing_is_claimed() -> None:
    kimi = span("architectures", "KimiK3ForConditionalGeneration")
    assert kimi is not None
    held = [kimi.holds(Version(v)) for v in ("0.26.0", "0.26.5", "0.27.0", "99.0")]
    assert held == [False, None, True, True]
    bitblas = span("methods", "bitblas")
    assert bitblas is not None
    held = [bitblas.holds(Version(v)) for v in ("0.1", "0.15.1", "0.15.5", "0.16.0")]
    assert held == [None, True, None, False]
    assert named("methods", Version("0.1")) == ()


def test_the_registrys_tables_are_read_without_those_of_models_that_went() -> None:
    registry = """
_TEXT = {"AForCausalLM": ("a", "A"), "BForCausalLM": ("vllm.models.b", "B")}
_MORE: dict[str, tuple[str, str]] = {"C": ("c", "C")}
_VLLM_MODELS = {**_TEXT, **_MORE}
_GONE = {"DForCausalLM": "0.10.2"}
"""
    assert [*architectures(registry)] == ["AForCausalLM", "BForCausalLM", "C"]
    assert [*methods('QuantizationMethods = Literal["awq", "fp8"]')] == ["awq", "fp8"]
    read = {
        "1.0": {"architectures": {"A", "B"}, "methods": {"x"}},
        "2.0": {"architectures": {"A", "C"}, "methods": {"x"}},
    }
    assert entry(read)["architectures"] == {"A": "1.0", "B": "1.0 1.0", "C": "2.0"}
