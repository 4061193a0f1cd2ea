"""A fix that is a command ends what it is a fix of: commands of all kinds are checked again."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from kvgate.answers.checking import Checked, checked
from kvgate.catalog.models import models
from kvgate.deployment import deployments
from kvgate.errors import InputError
from kvgate.records.heads import known

GPUS = (
    "T4", "A10", "A100-80GB", "L4", "L40S", "H100", "H200", "B200", "RTX 4090", "RTX PRO 6000",
    "GB10", "MI300X",
)  # fmt: skip
VLLM = (
    "-tp 2", "-tp 3", "-tp 4", "-tp 8", "--kv-cache-dtype fp8", "--max-model-len 131072",
    "--max-model-len 32768", "--block-size 32", "--gpu-memory-utilization 0.95", "--enforce-eager",
    "--dtype bfloat16", "--attention-backend FLASHINFER", "--quantization fp8",
    "--speculative-config '{\"method\": \"mtp\", \"num_speculative_tokens\": 2}'",
)  # fmt: skip
SGLANG = (
    "--tp 2", "--tp 3", "--tp 8", "--kv-cache-dtype fp8_e4m3", "--context-length 131072",
    "--mem-fraction-static 0.9", "--page-size 64", "--attention-backend fa3",
    "--attention-backend trtllm_mha", "--disable-radix-cache",
)  # fmt: skip
STARTS = {
    "vllm==0.19.0": ("vllm serve", VLLM),
    "vllm==0.33.0": ("vllm serve", VLLM),
    "sglang==0.5.23": ("python -m sglang.launch_server --model-path", SGLANG),
}


def asked(engine: str, count: int) -> Iterator[tuple[str, str]]:
    """(command line, GPU), any flag about once in six lines, some of them twice."""
    start, flags = STARTS[engine]
    dice = random.Random(f"fixes {engine}")
    names = sorted(models())
    for _ in range(count):
        given = [flag for flag in flags if dice.random() < 1 / 6]
        yield " ".join([start, dice.choice(names), *given]), dice.choice(GPUS)


def check(line: str, gpu: str, engine: str) -> Checked | None:
    try:
        (one,) = checked(deployments(line, engine=engine), known().cases, gpu=gpu)
    except InputError:
        return None
    return one


@pytest.mark.parametrize("engine", STARTS)
def test_a_fix_that_is_a_command_ends_its_finding(engine: str) -> None:
    start, _ = STARTS[engine]
    tried, left = 0, []
    for line, gpu in asked(engine, 400):
        one = check(line, gpu, engine)
        for found in one.found if one is not None else ():
            if found.severity not in ("blocks-start", "fails-later"):
                continue
            if not found.finding.fix.startswith(start):
                continue
            tried += 1
            after = check(found.finding.fix, gpu, engine)
            if after is None or found.id in {f.id for f in after.found}:
                left.append((found.id, line, gpu, found.finding.fix))
    assert tried > 50
    assert left == []


def test_as_many_cards_are_advised_as_hold_the_weights() -> None:
    line = "vllm serve deepseek-ai/DeepSeek-V3 --max-model-len 131072"
    one = check(line, "H100", "vllm==0.33.0")
    assert one is not None
    # 628.69 GiB of weights: eight cards of 80 GB hold 583 GiB of what the engine may use.
    assert [f.finding.fix for f in one.found if f.id == "kv-no-memory-for-cache-blocks"] == [
        f"{line} --tensor-parallel-size 16"
    ]


def test_where_no_flag_helps_another_gpu_is_named_instead() -> None:
    one = check("vllm serve deepseek-ai/DeepSeek-V3.2 --kv-cache-dtype fp8", "L4", "vllm==0.33.0")
    assert one is not None
    (found,) = (f for f in one.found if f.id == "attn-mla-kernel-support-matrix")
    assert found.finding.fix == "another GPU: no backend of vllm==0.33.0 on L4 takes this model"


def test_of_a_flag_given_twice_the_one_that_counts_is_changed() -> None:
    line = "vllm serve meta-llama/Llama-2-7b-hf --max-model-len 131072 --max-model-len 32768"
    one = check(line, "H100", "vllm==0.33.0")
    assert one is not None
    (found,) = (f for f in one.found if f.id == "ctx-max-model-len-exceeds-derived")
    assert found.finding.fix == "vllm serve meta-llama/Llama-2-7b-hf --max-model-len 4096"
