"""vLLM's start-up check: does one request of the longest length fit on every pipeline stage?

Its message says how much KV memory is needed, how much there is, and the longest length that fits.
Source: vllm v1/core/kv_cache_utils.py (get_kv_cache_configs), from 0.33 on kv_cache_planning.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kvgate.kvcache.grouping import Group, LayerPage
from kvgate.kvcache.longest import longest
from kvgate.kvcache.page import Demand
from kvgate.kvcache.vllm_rules import VllmRules
from kvgate.units import GiB

__all__ = ["Admission", "Rank"]


@dataclass(frozen=True, slots=True)
class Rank:
    """One pipeline stage's smallest rank: its layers, the bytes of a block there and as the check
    counts them, and its memory."""

    stage: range
    per_block: int
    asked: int
    memory: int


@dataclass(frozen=True, slots=True)
class Admission:
    """The check of one pool; ``layers`` are the pages before they were grouped."""

    groups: tuple[Group, ...]
    stages: tuple[Rank, ...]
    rules: VllmRules
    demand: Demand
    layers: list[LayerPage]

    def needed(self, length: int, rank: Rank) -> int:
        """Bytes that this version takes one request of ``length`` tokens to need on a rank."""
        demand = replace(self.demand, max_model_len=length)
        if not self.rules.needs_by_group:
            # The stage's own layers, each with its own page, before any grouping.
            held = (page for index, page in self.layers if index in rank.stage)
            return sum(page.blocks(demand) * page.bytes_ for page in held)
        per_block = rank.asked
        if not self.rules.needs_by_stage:
            per_block = max(group.bytes_ for group in self.groups)
        # Groups without a layer on this stage count too: their blocks come from the same pool.
        counted = self.groups if self.rules.needs_all_groups else self.groups[:1]
        return per_block * sum(group.blocks(demand) for group in counted)

    def room(self, rank: Rank) -> int:
        """Bytes that the check compares with."""
        return rank.memory - (rank.per_block if self.rules.null_block else 0)

    def longest(self) -> int | None:
        """The longest length that passes on every stage; 0 where none does, None where all do."""
        return longest(lambda n: all(self.needed(n, r) <= self.room(r) for r in self._checked()))

    def verdict(self) -> tuple[int, str | None]:
        """(bytes needed on the rank that needs most, the engine's message where it refuses)."""
        length = self.demand.max_model_len
        needed = max(self.needed(length, rank) for rank in self.stages)
        for rank in self._checked():
            room = self.room(rank)
            if room <= 0:
                return needed, "No available memory for the cache blocks."
            asked = self.needed(length, rank)
            if asked > room:
                fit = self._longest_on(rank, length)
                estimate = (
                    f" Based on the available memory, the estimated maximum model length is {fit}."
                    if fit
                    else ""
                )
                return needed, (
                    f"To serve at least one request with the model's max seq len ({length}), "
                    f"({_gib(asked)} GiB KV cache is needed, which is larger than the available KV "
                    f"cache memory ({_gib(room)} GiB).{estimate}"
                )
        return needed, None

    def _checked(self) -> tuple[Rank, ...]:
        if self.rules.needs_by_stage or not self.rules.needs_by_group:
            return self.stages
        return (min(self.stages, key=lambda rank: rank.memory),)

    def _longest_on(self, rank: Rank, most: int) -> int:
        room = self.room(rank)
        return longest(lambda length: self.needed(length, rank) <= room, most) or 0


def _gib(count: int) -> str:
    return f"{round(count / GiB, 2)}"
