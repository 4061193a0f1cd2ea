"""Random layer lists through vLLM's own allocator: blocks, tokens, concurrency, groups, refusals.

The figures of the golden file are what the releases' own ``get_kv_cache_configs`` and its report
gave for these layers, on a fake CUDA device. A row holds the pages, their order on each pipeline
stage as (page, layers in a row), the memory of each stage, and for each set of releases the answer:
[blocks, tokens, concurrency, layers of each group]; [GiB needed, GiB there, estimated longest] of a
refusal; ``none`` where no memory was left; ``refused`` where the layers cannot share a pool.

The rows for DeepSeek V4 are of the same functions, those for hybrid models' blocks (tokens, bytes
that a state is padded to, by release and compute capability) of ``update_block_size_for_backend``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from kvgate import model
from kvgate.errors import InputError
from kvgate.kvcache.choice import choose_format
from kvgate.kvcache.grouping import group_layers
from kvgate.kvcache.page import Demand, Page
from kvgate.kvcache.pool import VllmPool, vllm_pool
from kvgate.kvcache.vllm_pages import PagePlan, Setup, default_block_size, plan_pages
from kvgate.kvcache.vllm_rules import VllmRules, vllm_rules

GOLDEN = Path(__file__).parent.parent / "golden"


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (GOLDEN / name).read_text("utf-8").splitlines()]


def _cases(rows: list[dict[str, Any]]) -> list[Any]:
    return [
        pytest.param(row, version, answer, id=f"{index}-{version}")
        for index, row in enumerate(rows)
        for versions, answer in row["answers"]
        for version in versions
    ]


ROWS = _rows("kvcache-pools.jsonl")
CASES = _cases(ROWS)
WIDTHS = {"bf16": 2, "u8": 1}
REFUSAL = re.compile(r"\(([\d.]+) GiB KV cache is needed.*?\(([\d.]+) GiB\)\.(?:.*?is (\d+)\.)?")


def _page(layer: dict[str, Any], row: dict[str, Any], rules: VllmRules) -> Page:
    block, spec, mode = layer["block"], row.get("spec", 0), row["mamba_mode"]
    match layer["kind"]:
        case "state":
            states = {"none": 1, "align": 2}.get(mode)
            if states is not None:
                states += spec if rules.mamba_modes else 0
                if mode == "align" and rules.prefill_checkpoints:
                    states += layer.get("ckpt", 0)
            return Page(
                "state", block, layer["bytes"], ("state",), padded=layer["padded"], states=states,
                retained=spec if mode == "all" and rules.version.release >= (0, 22) else 0,
            )  # fmt: skip
        case "mla":
            width = layer["head"] * WIDTHS[layer["dtype"]]
            return Page("mla", block, block * width, ("latent", layer["head"], layer["dtype"]))
        case kind:
            heads, key = layer["heads"], layer["head"]
            value = layer.get("v", key)
            bytes_ = block * heads * (key + value) * WIDTHS[layer["dtype"]]
            shape = (heads, key, value, layer["dtype"])
            return Page(kind, block, bytes_, shape, layer.get("window"))


def _answer(row: dict[str, Any], version: str) -> Any:
    rules = vllm_rules(Version(version))
    pages = [_page(layer, row, rules) for layer in row["layers"]]
    order = [which for stage in row["stages"] for which, count in stage for _ in range(count)]
    demand = Demand(
        row["max_model_len"],
        row["in_flight"] if rules.in_flight else row["mbt"],
        row.get("dcp", 1),
    )
    try:
        plan = PagePlan([(index, pages[which]) for index, which in enumerate(order)], 16, (), ())
        pool = vllm_pool(
            plan, rules, row["memory"], demand, num_layers=len(order),
            groups=group_layers(plan.layers, rules, hybrid=row["hybrid"]),
        )  # fmt: skip
    except InputError:
        return "refused"
    sizes = sorted(sum(1 for i, _ in group.layers if i >= 0) for group in pool.groups)
    return _printed(pool) if pool.refusal else [*_printed(pool), sizes]


def _printed(pool: VllmPool) -> Any:
    if pool.refusal is None:
        return [pool.blocks, pool.tokens, f"{pool.concurrency:.2f}"]
    said = REFUSAL.search(pool.refusal)
    if said is None:
        assert "No available memory" in pool.refusal
        return "none"
    return [float(said[1]), float(said[2]), int(said[3]) if said[3] else None]


@pytest.mark.parametrize(("row", "version", "answer"), CASES)
def test_a_pool_is_the_releases_own(row: dict[str, Any], version: str, answer: Any) -> None:
    assert _answer(row, version) == answer


@pytest.mark.parametrize(("row", "version", "answer"), _cases(_rows("kvcache-pools-v4.jsonl")))
def test_a_pool_of_deepseek_v4_is_the_releases_own(
    row: dict[str, Any], version: str, answer: Any
) -> None:
    arch, rules = model(row["model"]), vllm_rules(Version(version))
    plan = plan_pages(
        arch,
        Setup(
            rules=rules, choice=choose_format(arch, version=Version(version)), tp=1,
            block_size=256, max_model_len=row["max_model_len"], model_type=arch.model_type,
            model_dtype="bfloat16",
        ),
    )  # fmt: skip
    demand = Demand(row["max_model_len"], row["in_flight"] if rules.in_flight else row["mbt"])
    pool = vllm_pool(
        plan,
        rules,
        row["memory"],
        demand,
        num_layers=arch.num_layers,
        groups=group_layers(plan.layers, rules),
    )
    assert _printed(pool) == answer


@pytest.mark.parametrize(("row", "where", "answer"), _cases(_rows("kvcache-hybrid-blocks.jsonl")))
def test_a_hybrids_block_is_the_releases_own(
    row: dict[str, Any], where: str, answer: list[int]
) -> None:
    version, _, capability = where.partition("@")
    major, minor = map(int, capability.split("."))
    arch, rules, sm = model(row["model"]), vllm_rules(Version(version)), (major, minor)
    choice = choose_format(arch, version=Version(version), sm=sm, kv_cache_dtype=row["kv"])
    plan = plan_pages(
        arch,
        Setup(
            rules=rules, choice=choice, tp=row["tp"],
            block_size=row["block_size"] or default_block_size(arch, rules, sm),
            max_model_len=131_072, model_type=arch.model_type, model_dtype="bfloat16", sm=sm,
            mamba_mode=row["mode"], speculative=row["drafts"],
        ),
    )  # fmt: skip
    padded = {page.padded or 0 for _, page in plan.layers if page.kind == "state"}
    assert (plan.block_size, padded) == (answer[0], {answer[1]})


def test_every_way_out_is_there() -> None:
    answers = [answer for row in ROWS for _, answer in row["answers"]]
    assert len(CASES) >= 500
    assert sum(isinstance(answer, list) and len(answer) == 4 for answer in answers) >= 80
    assert sum(isinstance(answer, list) and len(answer) == 3 for answer in answers) >= 20
    assert {"none", "refused"} & {answer for answer in answers if isinstance(answer, str)}
