"""What vLLM reserves: blocks, the tokens and the concurrency it prints, and its refusal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kvgate.kvcache.admission import Admission, Rank
from kvgate.kvcache.grouping import Group, asked_bytes, block_bytes
from kvgate.kvcache.longest import longest
from kvgate.kvcache.page import Demand
from kvgate.kvcache.stages import pipeline_stages
from kvgate.kvcache.vllm_pages import PagePlan
from kvgate.kvcache.vllm_rules import VllmRules
from kvgate.units import counted

__all__ = ["VllmPool", "vllm_pool"]


@dataclass(frozen=True, slots=True)
class VllmPool:
    """vLLM's pool on one rank.

    ``bytes_per_rank`` is the memory given (the smallest rank's), ``bytes_per_block`` the largest
    stage's, ``blocks`` the smallest rank's. ``tokens`` and ``concurrency`` are what this version
    prints as "GPU KV cache size" and "Maximum concurrency". ``needed`` is what one request of
    ``max_model_len`` takes (bytes per rank, as the start-up check counts them), ``check`` that
    check (None where nothing is kept). ``refusal`` is the engine's message where it does not start.
    """

    bytes_per_rank: int
    bytes_per_block: int
    blocks: int
    block_size: int
    groups: tuple[Group, ...]
    blocks_per_request: tuple[int, ...]
    tokens: int
    concurrency: float
    needed: int
    check: Admission | None
    refusal: str | None
    lines: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether the engine starts and its blocks hold one request of ``max_model_len``.

        A check that counts fewer blocks than a request takes lets more start than that.
        """
        return self.refusal is None and sum(self.blocks_per_request) <= self.blocks

    def limits(self) -> tuple[int | None, int | None]:
        """(the longest ``max_model_len`` that passes the check, the longest that the blocks hold
        too): 0 where none does, None where every length does."""
        if self.check is None:
            return None, None
        demand = self.check.demand

        def room_for(length: int) -> bool:
            asked = replace(demand, max_model_len=length)
            return sum(group.blocks(asked) for group in self.groups) <= self.blocks

        admitted, room = self.check.longest(), longest(room_for)
        return admitted, min((m for m in (admitted, room) if m is not None), default=None)


def vllm_pool(
    plan: PagePlan,
    rules: VllmRules,
    memory: Sequence[int],
    demand: Demand,
    *,
    num_layers: int,
    groups: tuple[Group, ...],
) -> VllmPool:
    """The pool that ``memory`` bytes give, one entry per pipeline stage (its smallest rank).

    ``groups`` are those that the engine makes of the plan's layers.
    """
    if not groups:
        return _without_cache(min(memory), demand)
    stages = pipeline_stages(num_layers, len(memory))
    held = [
        groups if len(memory) == 1 else tuple(g for g in (x.on_stage(s) for x in groups) if g)
        for s in stages
    ]
    sizes = [block_bytes(part, rules) for part in held]
    if len(groups) == 1 and len(groups[0].pages) > 1 and not rules.needs_by_stage:
        # Before, a group of unequal pages was as large on every stage as in the whole model.
        sizes = [groups[0].bytes_ for _ in held]
    blocks = min(m // size for m, size in zip(memory, sizes, strict=True) if size)
    worst = max(sizes)
    per_request = tuple(group.blocks(demand) for group in groups)
    asked = max(_blocks_asked(groups, per_request, rules, stage) for stage in stages)
    concurrency = blocks / asked if asked else 0.0
    if rules.reports_concurrency:
        tokens = int(concurrency * demand.max_model_len)
    else:
        smallest = min(group.page.block_size for group in groups)
        tokens = blocks // len(groups) * smallest * demand.dcp
    check = Admission(
        groups=groups,
        stages=tuple(
            Rank(stage, size, asked_bytes(part, rules), m)
            for stage, part, size, m in zip(stages, held, sizes, memory, strict=True)
            if part
        ),
        rules=rules, demand=demand, layers=plan.layers,
    )  # fmt: skip
    needed, refusal = check.verdict()
    return VllmPool(
        bytes_per_rank=min(memory), bytes_per_block=worst, blocks=blocks,
        block_size=plan.block_size, groups=groups, blocks_per_request=per_request, tokens=tokens,
        concurrency=concurrency, needed=needed, check=check, refusal=refusal,
        lines=_explain(groups, per_request, worst, blocks, tokens, concurrency, rules, demand),
    )  # fmt: skip


def _blocks_asked(
    groups: tuple[Group, ...], blocks: tuple[int, ...], rules: VllmRules, stage: range
) -> int:
    """The blocks of one request, as the stage's own report counts them."""
    sizes = {page.bytes_ for group in groups for _, page in group.layers}
    if rules.sums_group_blocks or len(sizes) == 1:
        return sum(blocks)
    # Before, the bytes of the stage's layers were added up and divided by the first group's page.
    held = [sum(p.bytes_ for i, p in group.layers if i in stage) for group in groups]
    if not held[0]:
        return sum(blocks)
    total = sum(count * size for count, size in zip(blocks, held, strict=True))
    return -(-total // held[0])


def _explain(
    groups: tuple[Group, ...],
    per_request: tuple[int, ...],
    per_block: int,
    blocks: int,
    tokens: int,
    concurrency: float,
    rules: VllmRules,
    demand: Demand,
) -> tuple[str, ...]:
    lines = []
    seen: dict[tuple[str, int], list[int]] = {}
    for group, count in zip(groups, per_request, strict=True):
        seen.setdefault((group.page.describe(), count), []).append(len(group.layers))
    for (text, count), sizes in seen.items():
        many = f"{counted(len(sizes), 'group')} of {counted(max(sizes), 'layer')}"
        lines.append(f"{many}, {text}; {counted(count, 'block')} a request")
    wasted = sum(group.wasted for group in groups)
    if wasted:
        lines.append(f"groups made equal by {counted(wasted, 'padding layer')}")
    lines.append(f"one block, all groups' layers side by side: {per_block:,} B")
    if rules.reports_concurrency:
        lines.append(
            f"{blocks:,} blocks / {sum(per_request):,} a request = {concurrency:.2f}x; "
            f"x {demand.max_model_len:,} = {tokens:,} tokens"
        )
    else:
        cp = f" x dcp {demand.dcp}" if demand.dcp > 1 else ""
        smallest = min(group.page.block_size for group in groups)
        lines.append(
            f"{blocks:,} blocks // {counted(len(groups), 'group')} x {smallest:,} tokens{cp} = "
            f"{tokens:,} tokens; {blocks:,} / {sum(per_request):,} a request = {concurrency:.2f}x"
        )
    return tuple(lines)


def _without_cache(memory: int, demand: Demand) -> VllmPool:
    return VllmPool(
        bytes_per_rank=memory, bytes_per_block=0, blocks=1, block_size=0, groups=(),
        blocks_per_request=(), tokens=0, concurrency=0.0, needed=0, check=None, refusal=None,
        lines=("the model keeps nothing between tokens",),
    )  # fmt: skip
