"""Looped layers, windowed latents, convolutions beside attention: vLLM 0.33.0's own pools.

The figures of the golden file are what its ``get_kv_cache_groups`` and the sizes of its blocks gave
for the specs that its model code asks for: layers of each group, bytes of a block, bytes that one
request of the longest length needs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from kvgate.architecture import parse
from kvgate.errors import InputError
from kvgate.kvcache.choice import choose_format
from kvgate.kvcache.grouping import block_bytes, group_layers
from kvgate.kvcache.page import Demand
from kvgate.kvcache.vllm_pages import PagePlan, Setup, default_block_size, plan_pages
from kvgate.kvcache.vllm_rules import vllm_rules

GOLDEN = Path(__file__).parent.parent / "golden" / "kvcache-pools-families.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in GOLDEN.read_text("utf-8").splitlines()]
VERSION = Version("0.33.0")
RULES = vllm_rules(VERSION)


def _plan(config: dict[str, Any], tp: int, longest: int, kv: str = "auto") -> PagePlan:
    arch = parse(config, id="x/y")
    choice = choose_format(arch, version=VERSION, sm=(9, 0), kv_cache_dtype=kv)
    return plan_pages(
        arch,
        Setup(
            rules=RULES, choice=choice, tp=tp, block_size=default_block_size(arch, RULES, (9, 0)),
            max_model_len=longest, model_type=arch.model_type, model_dtype="bfloat16", sm=(9, 0),
        ),
    )  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[f"{i}-{row['name']}" for i, row in enumerate(ROWS)])
def test_a_pool_is_the_releases_own(row: dict[str, Any]) -> None:
    plan = _plan(row["config"], row["tp"], row["max_model_len"])
    groups = group_layers(plan.layers, RULES)
    demand = Demand(row["max_model_len"], row["in_flight"])
    block = block_bytes(groups, RULES)
    assert sorted(len(group.layers) for group in groups) == row["groups"]
    assert block == row["block_bytes"]
    assert block * sum(group.blocks(demand) for group in groups) == row["need"]


def test_there_are_enough_of_them() -> None:
    assert len(ROWS) >= 20


def test_fp8_keeps_dots3s_windowed_latents_without_records() -> None:
    config = next(row["config"] for row in ROWS if row["name"] == "dots3")
    pages = {(page.kind, page.unpadded) for _, page in _plan(config, 1, 8192, "fp8_ds_mla").layers}
    assert pages == {("mla", 64 * 656), ("mla", 64 * 132), ("sliding_mla", 64 * 1088)}


def test_inklings_convolutions_want_a_whole_kv_head_on_each_rank() -> None:
    config = next(row["config"] for row in ROWS if row["name"] == "inkling")
    with pytest.raises(InputError, match="8 KV heads, not 16"):
        _plan(config, 16, 8192)
