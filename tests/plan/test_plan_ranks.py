"""Ranks against the GPUs that a manifest, a container or the environment gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvgate.answers.checking import Checked, checked
from kvgate.cli.deployment_input import read_argument
from kvgate.deployment import deployments
from kvgate.records.heads import known

POD = """
apiVersion: v1
kind: Pod
metadata: {name: engine}
spec:
  containers:
    - name: vllm
      image: vllm/vllm-openai:v0.33.0
      args: [%s]
      resources:
        limits: {nvidia.com/gpu: "%d"}
"""
COMPOSE = """
services:
  vllm:
    image: vllm/vllm-openai:v0.33.0
    command: ["--model", "Qwen/Qwen3-32B", "--tensor-parallel-size", "8"]
    deploy:
      resources:
        reservations:
          devices: [{driver: nvidia, count: 4, capabilities: [gpu]}]
"""


def pod(tmp_path: Path, args: str, gpus: int, gpu: str = "H100") -> Checked:
    file = tmp_path / "pod.yaml"
    file.write_text(POD % (args, gpus), encoding="utf-8")
    (one,) = checked(read_argument(str(file), engine=None), known().cases, gpu=gpu)
    return one


def told(one: Checked) -> list[tuple[str, str]]:
    return [(f.severity, f.finding.message) for f in one.found if f.id == "KV437"]


def test_more_ranks_than_a_pods_limit_blocks_the_start(tmp_path: Path) -> None:
    args = '"--model=Qwen/Qwen3-32B", "--tensor-parallel-size=4", "--pipeline-parallel-size=2"'
    ((severity, message),) = told(pod(tmp_path, args, 4))
    assert severity == "blocks-start"
    assert "--tensor-parallel-size 4 x --pipeline-parallel-size 2 asks for 8 GPUs" in message
    assert not told(pod(tmp_path, args, 8))


def test_more_ranks_than_compose_reserves_are_told(tmp_path: Path) -> None:
    file = tmp_path / "compose.yaml"
    file.write_text(COMPOSE, encoding="utf-8")
    (one,) = checked(read_argument(str(file), engine=None), known().cases, gpu="H100")
    assert len(told(one)) == 1
    (found,) = (f for f in one.found if f.id == "KV437")
    assert found.finding.fix == "give it 8 GPUs, or set --tensor-parallel-size 4"


@pytest.mark.parametrize("flags", ["--nnodes 2", "--distributed-executor-backend ray"])
def test_ranks_over_several_hosts_are_not_counted_against_one(flags: str) -> None:
    line = f"CUDA_VISIBLE_DEVICES=0,1 vllm serve Qwen/Qwen3-32B -tp 4 {flags}"
    (one,) = checked(deployments(line, engine="vllm==0.33.0"), (), gpu="H100")
    assert not told(one)


def test_a_fix_asks_for_no_more_ranks_than_there_are_gpus(tmp_path: Path) -> None:
    args = '"--model=openai/gpt-oss-120b", "--tensor-parallel-size=%d"'
    one = pod(tmp_path, args % 1, 1, "A100-40GB")
    (found,) = (f for f in one.found if f.id == "kv-no-memory-for-cache-blocks")
    assert found.finding.fix == "more GPUs than the 1 there are, or weights of fewer bits"
    two = pod(tmp_path, args % 1, 2, "A100-40GB")
    (found,) = (f for f in two.found if f.id == "kv-no-memory-for-cache-blocks")
    assert "--tensor-parallel-size=2" in found.finding.fix
    three = pod(tmp_path, args % 6, 3, "H100")
    (found,) = (f for f in three.found if f.id == "par-heads-not-divisible-by-tp")
    assert "--tensor-parallel-size=2" in found.finding.fix


def test_ranks_of_sglang_are_counted_too() -> None:
    line = "CUDA_VISIBLE_DEVICES=0,1 python -m sglang.launch_server --model-path Qwen/Qwen3-32B"
    (one,) = checked(deployments(f"{line} --tp 4", engine="sglang==0.5.23"), (), gpu="H100")
    assert len(told(one)) == 1


def test_weights_larger_than_the_card_ask_for_gpus_and_not_for_a_share_above_1() -> None:
    line = "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 4"
    (one,) = checked(deployments(line, engine="sglang==0.5.23"), (), gpu="A100-80GB")
    (found,) = (f for f in one.found if f.id == "KV432")
    assert found.finding.fix.startswith("no share of this card is enough")
