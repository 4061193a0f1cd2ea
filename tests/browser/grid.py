"""Questions put to the worker, and what the commands answer to the same."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from click.testing import CliRunner

from kvgate.cli.commands import cli
from kvgate.errors import InputError

__all__ = ["Question", "commanded", "grid"]

MODELS = (
    "Qwen/Qwen3-8B",
    "Qwen/Qwen3-Next-80B-A3B-Instruct",
    "google/gemma-4-31B-it",
    "deepseek-ai/DeepSeek-V3",
    "openai/gpt-oss-120b",
    "deepseek-ai/DeepSeek-V4-Flash",
)
GPUS = ("H100 SXM", "B200", "A100 80GB SXM", "RTX PRO 6000", "MI300X")
ENGINES = ("vllm==0.33.0", "vllm==0.19.1", "sglang==0.5.23")
DTYPES = ("auto", "fp8")
LOGS = (
    "FlashMLA Dense is only supported on Hopper devices.",
    "ValueError: Selected backend AttentionBackendEnum.FLASHINFER is not valid for this "
    "configuration. Reason: ['head_size not supported']",
    "torch.OutOfMemoryError: CUDA out of memory while the cache was made",
    "the weather is fine",
    "",
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the worker, and the command that asks the same."""

    name: str
    given: dict[str, Any]
    command: tuple[str, ...]
    stdin: str = ""


def grid(*, every: int = 1) -> list[Question]:
    """Models, GPUs, engines, KV dtypes and lengths crossed; ``every`` n-th of them."""
    found = [*_crossed()][::every]
    return [*found, *_logs(), *_manifests(), *_refused()]


def _crossed() -> list[Question]:
    questions = []
    for number, (model, gpu, engine, kv) in enumerate(
        (m, g, e, d) for m in MODELS for g in GPUS for e in ENGINES for d in DTYPES
    ):
        tp, length = (1, 4, 8)[number % 3], (8192, 131072)[number % 2]
        flags = ("--tp-size", "--context-length", "python -m sglang.launch_server --model-path")
        if engine.startswith("vllm"):
            flags = ("--tensor-parallel-size", "--max-model-len", "vllm serve")
        line = f"{flags[2]} {model} {flags[0]} {tp} {flags[1]} {length} --kv-cache-dtype {kv}"
        where = ("--gpu", gpu, "--engine", engine)
        questions += [
            Question(
                "check", {"line": line, "gpu": gpu, "engine": engine},
                ("check", line, *where, "--json"),
            ),
            Question(
                "size",
                {"model": model, "gpu": gpu, "engine": engine, "tp": tp, "kv_cache_dtype": kv,
                 "max_model_len": length},
                ("size", model, *where, "--tp", str(tp), "--kv-cache-dtype", kv,
                 "--max-model-len", str(length), "--json"),
            ),
        ]  # fmt: skip
        if engine.startswith("vllm"):
            questions.append(Question(
                "backends",
                {"model": model, "gpu": gpu, "engine": engine, "kv_cache_dtype": kv, "tp": tp},
                ("backends", model, *where, "--kv-cache-dtype", kv, "--tp", str(tp), "--json"),
            ))  # fmt: skip
    return questions


def _logs() -> list[Question]:
    return [Question("diagnose", {"log": log}, ("diagnose", "-", "--json"), log) for log in LOGS]


COMPOSE = """\
# Two services, one of which is a deployment.
services:
  db: {image: postgres:17}
  llm:
    image: vllm/vllm-openai:v0.19.1
    command: >-
      --model google/gemma-4-31B-it
      --attention-backend FLASHINFER
      --max-model-len 131072
    environment: &env
      VLLM_USE_V1: "1"
"""
PODS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: llm}
spec:
  template:
    spec:
      containers:
        - name: engine
          image: lmsysorg/sglang:v0.5.10
          command: [python3, -m, sglang.launch_server]
          args: [--model-path, deepseek-ai/DeepSeek-V3, --tp, "8", --kv-cache-dtype, fp8_e4m3]
          resources: {limits: {nvidia.com/gpu: 8}}
---
apiVersion: v1
kind: Service
metadata: {name: llm}
"""
DOCKERFILE = 'FROM vllm/vllm-openai:v0.33.0\nCMD ["--model", "Qwen/Qwen3-8B", "--nope", "3"]\n'
UNREADABLE = "services:\n  llm:\n    image: a\n    image: b\n"


def _manifests() -> list[Question]:
    """What is pasted as a file, which the command reads from standard input."""
    return [
        Question(
            "check", {"line": text, "gpu": "H100 SXM"},
            ("check", "-", "--gpu", "H100 SXM", "--json"), text,
        )
        for text in (COMPOSE, PODS, DOCKERFILE, UNREADABLE)
    ]  # fmt: skip


def _refused() -> list[Question]:
    """What the command refuses, the worker refuses in the same words."""
    gpu, line = "H100 SXM", "vllm serve Qwen/Qwen3-8B"
    return [
        Question(
            "check", {"line": line, "gpu": "H1000"}, ("check", line, "--gpu", "H1000", "--json")
        ),
        Question("check", {"line": "echo no"}, ("check", "echo no", "--json")),
        Question(
            "size", {"model": "Qwen/Qwen3-8B", "gpu": gpu, "kv_cache_dtype": "fp9"},
            ("size", "Qwen/Qwen3-8B", "--gpu", gpu, "--kv-cache-dtype", "fp9", "--json"),
        ),
        Question(
            "size", {"model": "Qwen/Qwen3-8B", "engine": "vllm==0.1.0"},
            ("size", "Qwen/Qwen3-8B", "--engine", "vllm==0.1.0", "--json"),
        ),
    ]  # fmt: skip


def commanded(question: Question) -> dict[str, Any]:
    """What the command says, in the worker's form: an answer, or a refusal's message and code."""
    done = CliRunner().invoke(
        cli, list(question.command), input=question.stdin, standalone_mode=False
    )
    if isinstance(done.exception, InputError):
        return {"refusal": (done.exception.message, done.exception.code)}
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return {"answer": json.loads(done.stdout)}
