"""The batch form: rows with the oracle's field names, defaults left out, errors that help."""

from __future__ import annotations

import pytest

from kvgate.attention import answer
from kvgate.errors import InputError


def test_a_row_needs_a_device_and_a_head_size_only() -> None:
    told = answer({"sm": "9.0", "head_size": 128})
    assert (told["auto"], told["fa"]) == ("FLASH_ATTN", 3)


def test_a_row_may_name_its_gpu() -> None:
    assert answer({"gpu": "H100", "head_size": 128})["auto"] == "FLASH_ATTN"


def test_a_forced_row_is_answered_with_the_class_or_the_error() -> None:
    row = {"v": "0.33.0", "sm": "9.0", "head_size": 128, "forced": "FLASHINFER"}
    assert answer(row)["selected"] == "FlashInferBackend"
    refused = answer({**row, "v": "0.20.2", "head_size": 512})
    assert refused["error"].endswith("Reason: ['head_size not supported']")


def test_what_no_backend_takes_is_told_in_full_beside_the_short_form() -> None:
    told = answer({"v": "0.33.0", "sm": "8.0", "head_size": 64, "kv": "nvfp4", "forced": "AUTO"})
    assert told["error"].endswith("AttentionSelectorConfig...")
    assert "Reasons: {FLASH_ATTN: [" in told["error_text"]


def test_a_version_between_two_is_answered_by_the_older_and_says_so() -> None:
    assert "answered from 0.33.0" in answer({"v": "0.33.7", "sm": "9.0", "head_size": 64})["note"]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"sm": "9.0", "head_size": 128, "head": 1}, "unknown field 'head'"),
        ({"sm": "9.0", "head_size": 128, "kv": "fp9"}, "no KV cache dtype 'fp9'"),
        ({"sm": "9.0", "head_size": "128"}, "head_size is a whole number"),
        ({"sm": "9.0"}, "head_size is missing"),
        ({"head_size": 128}, "no device"),
        ({"sm": "9", "head_size": 128}, "no compute capability"),
        ({"sm": "9.5", "head_size": 128}, "compute capability 9.5 is unknown"),
        ({"sm": "9.0", "head_size": 128, "sink": 1}, "sink is true or false"),
        ({"sm": "9.0", "head_size": 128, "dtype": "bf16"}, "unknown dtype 'bf16'"),
        ({"sm": "9.0", "head_size": 128, "dcp": "two"}, "dcp is true, false or a size"),
        ({"sm": "9.0", "head_size": 128, "forced": "FLASHINFR"}, "did you mean 'FLASHINFER'"),
        ({"sm": "9.0", "head_size": 128, "forced": "NO_ATTENTION"}, "unknown"),
        ({"v": "0.9.0", "sm": "9.0", "head_size": 128}, "older than the oldest release"),
        ({"engine": "sglang", "sm": "9.0", "head_size": 128}, "the row says no model"),
        ({"engine": "llama.cpp", "sm": "9.0", "head_size": 128}, "not for llama.cpp"),
        ({"v": "0.13.0", "gpu": "MI300X", "head_size": 128}, "does on ROCm is unknown"),
    ],
)
def test_a_row_that_cannot_be_answered_says_why(row: dict[str, object], said: str) -> None:
    with pytest.raises(InputError) as caught:
        answer(row)
    assert said in str(caught.value)


def test_several_wrong_values_are_named_at_once() -> None:
    with pytest.raises(InputError) as caught:
        answer({"sm": "9.0", "head_size": -1, "sink": "yes"})
    assert "head_size" in str(caught.value)
    assert "sink" in str(caught.value)
