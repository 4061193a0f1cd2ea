"""TensorRT-LLM: KV dtypes by GPU."""

from __future__ import annotations

import pytest

from kvgate.attention.tensorrt import kv_support
from kvgate.errors import InputError


@pytest.mark.parametrize(
    ("where", "fp8", "nvfp4"),
    [
        ("A100 80GB SXM", True, False),
        ("L40S", True, False),
        ("H100", True, False),
        ("B200", True, True),
        ("RTX 5090", True, False),
    ],
)
def test_nvfp4_kv_is_for_data_centre_blackwell_only(where: str, fp8: bool, nvfp4: bool) -> None:
    assert kv_support("fp8", where).valid is fp8
    assert kv_support("nvfp4", where).valid is nvfp4
    assert kv_support("auto", where).valid is True


def test_every_answer_names_its_source_and_a_refusal_its_reason() -> None:
    said = kv_support("nvfp4", "H100")
    assert "Hopper" in said.reason
    assert "TensorRT-LLM" in said.source


def test_a_generation_that_no_source_speaks_of_is_unknown() -> None:
    assert kv_support("fp8", "Jetson AGX Thor").valid is None


def test_a_dtype_it_does_not_have_names_the_nearest() -> None:
    with pytest.raises(InputError, match="'nvfp'") as caught:
        kv_support("nvfp", "B200")
    assert "nvfp4" in str(caught.value.hint)
    with pytest.raises(InputError, match="bf16"):
        kv_support("bf16", "B200")
