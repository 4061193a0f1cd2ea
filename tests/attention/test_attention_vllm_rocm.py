"""vLLM on AMD devices: asked under a made-up ROCm device where a release was, unknown where not."""

from __future__ import annotations

import pytest

from kvgate.architecture import model
from kvgate.attention import answer, backends
from kvgate.errors import InputError


@pytest.mark.parametrize(
    ("name", "kernels", "selected"),
    [
        ("Qwen/Qwen3-8B", "found", "ROCM_ATTN"),
        ("deepseek-ai/DeepSeek-V3", "found", "TRITON_MLA"),
        ("deepseek-ai/DeepSeek-V3", "on", "ROCM_AITER_MLA"),
        ("deepseek-ai/DeepSeek-V3.2", "found", "ROCM_AITER_MLA_SPARSE"),
        ("openai/gpt-oss-20b", "none", "TRITON_ATTN"),
        ("openai/gpt-oss-20b", "found", "ROCM_AITER_UNIFIED_ATTN"),
        ("google/gemma-4-31B-it", "found", "TRITON_ATTN"),
    ],
)
def test_the_choice_on_mi300x_depends_on_amds_kernel_package(
    name: str, kernels: str, selected: str
) -> None:
    report = backends(model(name), gpu="MI300X", engine="vllm==0.33.0", aiter=kernels, tp=8)
    assert (report.selected, report.error) == (selected, None)


def test_fp8_is_two_formats_on_two_devices() -> None:
    for gpu, name in (("MI300X", "e4m3fnuz"), ("MI355X", "OCP")):
        report = backends(model("Qwen/Qwen3-8B"), gpu=gpu, engine="vllm==0.33.0")
        assert any(name in note for note in report.notes)


def test_a_row_may_name_an_amd_device() -> None:
    told = answer({"v": "0.33.0", "sm": "gfx942", "head_size": 128, "kv": "fp8"})
    assert told["auto"] == "ROCM_ATTN"
    assert told["fa"] is None


def test_a_cuda_backend_forced_on_an_amd_device_is_not_guessed_about() -> None:
    with pytest.raises(InputError, match="unknown"):
        backends(model("Qwen/Qwen3-8B"), gpu="MI300X", engine="vllm==0.33.0", force="FLASHINFER")


def test_a_release_older_than_those_asked_under_rocm_is_unknown() -> None:
    with pytest.raises(InputError, match="does on ROCm is unknown"):
        backends(model("Qwen/Qwen3-8B"), gpu="MI300X", engine="vllm==0.13.0")
