"""The program that asks kvgate about every configuration class of transformers and vLLM."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts import ask_families

LLAMA: dict[str, Any] = {
    "model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4,
    "vocab_size": 32, "intermediate_size": 64, "max_position_embeddings": 128,
}  # fmt: skip

REGISTRY = """
_TEXT_GENERATION_MODELS = {
    "LlamaForCausalLM": ("llama", "LlamaForCausalLM"),
    "OddForCausalLM": ("odd", "OddForCausalLM"),
}
_EMBEDDING_MODELS = {"BertModel": ("bert", "BertModel")}
_MULTIMODAL_MODELS = {"LookingModel": ("looking", "LookingModel")}
"""

CONFIGS = """
_CLASS_TO_MODULE = {"OddConfig": "odd", "TowerConfig": "odd", "BrokenConfig": "odd"}

def __getattr__(name):
    import importlib
    return getattr(importlib.import_module("vllm.transformers_utils.configs.odd"), name)
"""

ODD = """
import torch
from vllm.logger import init_logger

logger = init_logger(__name__)
logger.info("unheard")

class OddConfig:
    def to_dict(self):
        return {"model_type": "odd", "num_key_value_heads": 2, "num_hidden_layers": 1}

class TowerConfig:
    def to_dict(self):
        return {"model_type": "odd_tower", "hidden_size": 8}

class BrokenConfig:
    def __init__(self):
        raise ValueError("needs an argument")
"""


@pytest.fixture
def release(tmp_path: Path) -> Iterator[Path]:
    vllm = tmp_path / "vllm"
    (vllm / "model_executor" / "models").mkdir(parents=True)
    (vllm / "model_executor" / "models" / "registry.py").write_text(REGISTRY, encoding="utf-8")
    configs = vllm / "transformers_utils" / "configs"
    configs.mkdir(parents=True)
    (vllm / "__init__.py").write_text("raise ImportError('an engine')", encoding="utf-8")
    (configs / "__init__.py").write_text(CONFIGS, encoding="utf-8")
    (configs / "odd.py").write_text(ODD, encoding="utf-8")
    before, finders = dict(sys.modules), list(sys.meta_path)
    yield vllm
    sys.meta_path[:] = finders
    for name in [name for name in sys.modules if name not in before]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("change", "answer"),
    [
        ({}, "read"),
        ({"model_type": "no_such_type"}, "unknown"),
        ({"model_type": "rwkv"}, "named"),
        ({"num_hidden_layers": None}, "refused"),
    ],
)
def test_an_answer_is_of_one_kind(change: dict[str, Any], answer: str) -> None:
    assert ask_families.ask({**LLAMA, **change}, "x")[0] == answer


def test_what_crashes_is_told_from_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask_families, "parse", lambda *_, **__: 1 // 0)
    assert ask_families.ask(LLAMA, "x")[0] == "crashed"


def test_a_registry_is_read_and_not_run(release: Path) -> None:
    assert ask_families.served_by(release) == {
        "LlamaForCausalLM": "llama", "OddForCausalLM": "odd", "LookingModel": "looking",
    }  # fmt: skip


def test_a_releases_own_classes_are_made_without_the_engine(
    release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = list(ask_families.vllm_configurations(release))
    assert [(origin, model_type) for origin, model_type, _ in found] == [("vllm", "odd")]
    assert "BrokenConfig: vLLM's class makes no default" in capsys.readouterr().err


def test_a_type_that_is_served_and_unknown_fails_the_program(
    release: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def of_transformers() -> Iterator[tuple[str, str, dict[str, Any]]]:
        yield "transformers", "llama", {**LLAMA, "architectures": ["LlamaForCausalLM"]}
        yield "transformers", "far", {**LLAMA, "model_type": "far", "architectures": ["Far"]}

    monkeypatch.setattr(ask_families, "configurations", of_transformers)
    assert ask_families.main([]) == 0
    assert "only transformers has, unknown: 1" in capsys.readouterr().out
    dumped = tmp_path / "dumped"
    assert ask_families.main(["--vllm", str(release), "--dump", str(dumped)]) == 1
    said = capsys.readouterr().out
    assert "vLLM serves, read: 1" in said
    assert "vLLM serves, unknown: 1\n  odd: odd: unknown model_type 'odd'" in said
    assert "without a configuration class to ask: 2\n  LookingModel OddForCausalLM" in said
    assert json.loads((dumped / "vllm--odd.json").read_text("utf-8"))["num_hidden_layers"] == 1
    assert ask_families.main(["--vllm", str(release), "--json"]) == 1
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["model_type"], row["served"], row["answer"]) for row in rows] == [
        ("llama", True, "read"), ("far", False, "unknown"), ("odd", True, "unknown"),
    ]  # fmt: skip
