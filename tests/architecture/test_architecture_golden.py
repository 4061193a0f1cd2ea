"""The layers of released models, as computed by hand."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from kvgate.architecture import LayerGroup, model

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "architecture.json"
MODELS: dict[str, list[dict[str, Any]]] = json.loads(GOLDEN.read_text(encoding="utf-8"))["models"]


@pytest.mark.parametrize("name", MODELS)
def test_a_released_model_has_the_layers_computed_by_hand(name: str) -> None:
    groups = model(name).groups
    assert len(groups) == len(MODELS[name])
    for group, expected in zip(groups, MODELS[name], strict=True):
        assert _facts(group, expected) == expected


@pytest.mark.parametrize("name", MODELS)
def test_every_layer_stands_in_a_group_and_every_group_says_why(name: str) -> None:
    architecture = model(name)
    held = [index for group in architecture.groups for index in group.indices]
    assert set(held) == set(range(architecture.num_layers))
    assert all(list(group.indices) == sorted(set(group.indices)) for group in architecture.groups)
    firsts = [group.indices[0] for group in architecture.groups]
    assert firsts == sorted(firsts)
    assert all(group.because for group in architecture.groups if group.layer.kind != "none")


def test_gemma_4_has_two_head_sizes() -> None:
    assert model("google/gemma-4-31B-it").head_sizes() == {256: 50, 512: 10}


def test_the_explanation_names_the_key_and_value_that_decided() -> None:
    groups = {group.layer.kind: group for group in model("Qwen3-Next-80B-A3B-Instruct").groups}
    assert "full_attention_interval=4" in groups["full"].because
    assert "num_key_value_heads=2" in groups["full"].because


def _facts(group: LayerGroup, expected: dict[str, Any]) -> dict[str, Any]:
    """Those facts of a group that the table states."""
    layer = {"kind": group.layer.kind, "count": group.count, **asdict(group.layer)}
    facts = {key: layer.get(key) for key in expected}
    if "indexer" in expected and isinstance(facts["indexer"], dict):
        facts["indexer"] = {key: facts["indexer"][key] for key in expected["indexer"]}
    return facts
