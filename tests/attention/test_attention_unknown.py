"""What nobody knows is an error that names what is near it; never a guess, never a traceback."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from kvgate.attention.batch import answer
from kvgate.catalog.engines import release
from kvgate.cli.commands import cli
from kvgate.errors import InputError


@pytest.mark.parametrize(
    ("spec", "read", "words"),
    [
        ("vllm==0.20", "0.20.0", ""),
        ("vllm==0.33.0+cu129", "0.33.0", ""),
        ("vllm==v0.20.2", "0.20.2", ""),
        ("vllm==0.20rc1", "0.20.0", "0.20rc1 is no final release; answered from 0.20.0"),
        ("vllm==0.33.0.post1", "0.33.0", "0.33.0.post1 is not in the catalogue"),
        ("vllm==0.20.3", "0.20.2", "0.20.3 is not in the catalogue; answered from 0.20.2"),
        ("vllm==0.33.1.dev12+gabc", "0.33.0", "newer than the newest"),
        ("sglang==0.5.24", "0.5.23", "newer than the newest"),
        ("sglang==0.5.12.post1", "0.5.12", "answered from 0.5.12"),
    ],
)
def test_a_version_is_read_as_pip_reads_it_and_what_answers_for_another_is_said(
    spec: str, read: str, words: str
) -> None:
    found = release(spec)
    assert str(found.read) == read
    assert (words in found.note) if words else found.note == ""


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        ("vllm==nightly", "known: 0.33.0, 0.32.0"),
        ("vllm>=0.30", "write vllm==0.33.0"),
        ("vllm:0.33.0", "write vllm==0.33.0"),
        ("vllm==", "write vllm==0.33.0"),
        ("sglang 0.5.23", "write sglang==0.5.23"),
        ("vlm==0.33.0", "did you mean 'vllm'?"),
        ("vllm==0.12.0", "does not guess backwards"),
    ],
)
def test_what_is_no_version_is_refused_with_what_to_write(spec: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        release(spec)
    assert hint in (caught.value.hint or "")


def _asked(*arguments: str) -> str:
    with pytest.raises(InputError) as caught:
        CliRunner().invoke(
            cli,
            ["backends", "Qwen/Qwen3-8B", *arguments],
            catch_exceptions=False,
            standalone_mode=False,
        )
    return f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--gpu H100 --tp 3", "use a divisor of 32"),
        ("--gpu H100 --tp 2 --dcp 3", "does not divide --tensor-parallel-size 2"),
        ("--gpu H100 --engine vllm==0.15.1 --block-size 17", "known: 1, 8, 16, 32"),
        ("--gpu H100 --attention-backend FLASHINFERR", "did you mean 'FLASHINFER'"),
        ("--gpu H100 --engine sglang --attention-backend fa5", "did you mean 'fa4' or 'fa3'?"),
        ("--gpu H100 --engine sglang --kv-cache-dtype fp8", "'fp8_e4m3'"),
        ("--gpu H100 --engine sglang --dtype fp16", "did you mean 'float16'"),
        ("--gpu H100 --dtype fp16", "did you mean 'float16'"),
        ("--gpu sm_120", "RTX 5090"),
        ("--gpu 9.0", "a compute capability, not a GPU"),
        ("--gpu MI300X --engine sglang", "only the CUDA paths of SGLang are read"),
        ("--gpu MI300X --engine vllm==0.19.0", "asked so far: 0.20.2"),
        ("--gpu H100 --engine tensorrt-llm==1.2", "vllm and sglang are"),
    ],
)
def test_the_command_names_what_is_near(arguments: str, words: str) -> None:
    assert words in _asked(*arguments.split())


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"head_size": 0}, "head_size is at least 1"),
        ({"head_size": "128"}, "head_size is a whole number"),
        ({"head_size": 128, "kv": ["fp8"]}, "kv is text"),
        ({"head_size": 128, "v": 0.3}, "v is text"),
        ({"head_size": 128, "sm": 9.0}, "sm is text"),
        ({"head_size": 128, "block_size": 0}, "block_size is at least 1"),
        ({"head_size": 128, "dcp": 0}, "dcp is true, false or a size"),
        ({"head_size": 128, "flash_attn_version": 9}, "flash_attn_version is 2, 3 or 4"),
        ({"head_size": 128, "forced": 5}, "forced is text"),
        ({"head_size": 128, "forced": "NOPE"}, "has no attention backend 'NOPE'"),
        ({"head_size": 128, "sm": "13.0"}, "compute capability 13.0 is unknown"),
        ({"head_size": 128, "headsize": 1}, "unknown field 'headsize'"),
        ({"engine": "sglang==0.5.23"}, "the row says no model"),
        ({"engine": "sglang==0.5.23", "model": "Qwen/Qwen3-8B", "page_in": "x"},
         "page_size is a int, not 'x'"),
        ({"engine": "sglang==0.5.23", "model": "Qwen/Qwen3-8B", "page_in": 0},
         "page_size is at least 1"),
        ({"engine": "sglang==0.5.23", "model": "Qwen/Qwen3-8B", "ext": 5}, "ext is an object"),
        ({"engine": "sglang==0.5.23", "model": "Qwen/Qwen3-8B", "gpu": "B200"},
         "has compute capability 10.0, not 9.0"),
        ({"engine": "sglang==0.5.23", "model": "Qwen/Qwen3-8B", "ext": {"nope": 1}},
         "has no option 'nope'"),
    ],
)  # fmt: skip
def test_a_row_that_makes_no_sense_says_why(row: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        answer({"sm": "9.0", **row})
    assert words in caught.value.message


def test_rows_of_sglang_name_a_model_and_tell_what_then_fails() -> None:
    row = {"engine": "sglang==0.5.23", "gpu": "H100", "model": "Qwen/Qwen3-8B"}
    told = answer({**row, "be_in": "dsa"})
    assert told["prefill"] == "dsa"
    assert told["then_fails"] == ["dsa: AssertionError: DSA backend only supports DeepSeek DSA"]
    assert answer(row)["prefill"] == "fa3"
    refused = answer({**row, "be_in": "trtllm_mla"})
    assert refused["stage"] == "resolve"
    assert json.loads(json.dumps(refused)) == refused
