"""Whether it fits: rules that read the pool the engine would make."""

from __future__ import annotations

from kvgate.plan.model import Plan
from kvgate.rules.facts import truthy
from kvgate.rules.lengths import ALLOW_LONG, derived
from kvgate.rules.verdict import Finding, Undecided, Verdict
from kvgate.rules.vllm_facts import resized
from kvgate.units import counted, format_bytes

__all__ = ["RULES"]


def kv_cache_does_not_fit(plan: Plan) -> Verdict:
    """One sequence of the asked length doesn't fit into the memory that the weights leave."""
    if not plan.runs("vllm"):
        return None
    # The allocator's rules go further back than the catalogue's releases.
    sizing = plan.sizing or resized(plan)
    if sizing is None or sizing.pool is None or sizing.fits is None:
        lacks = plan.lacks("size") or plan.lacks("gpu") or "the KV memory of the GPU"
        return _beyond_the_gpu(plan) or Undecided(lacks)
    pool = sizing.pool
    if pool.fits or pool.starts_anyway:
        return None  # an engine that starts anyway says nothing: see the judge
    length = counted(sizing.max_model_len, "token")
    need = format_bytes(sizing.needs.rank_sequence_bytes(sizing.max_model_len))
    because = (
        f"one sequence of {length} needs {need} on each GPU before the engine rounds it to pages",
        f"the pool has about {format_bytes(pool.memory.likely)} a GPU",
    )
    if pool.longest:
        return Finding(
            f"a sequence of {length} does not fit; the longest that does has "
            f"{counted(pool.longest, 'token')}. The engine says: {pool.refusal}",
            because,
            plan.with_flag("--max-model-len", str(_allowed(plan, pool.longest))),
        )
    return Finding(f"nothing is left for the KV cache. The engine says: {pool.refusal}", because)


def _allowed(plan: Plan, longest: int) -> int:
    """The longest length that fits and that the engine takes: it may stop above the config's."""
    most = derived(plan)
    lifted = truthy(plan.deployment.env_value(ALLOW_LONG))
    return longest if most is None or lifted else min(longest, most)


def _beyond_the_gpu(plan: Plan) -> Finding | None:
    """A length whose tokens alone are more than the GPU has, for a release that can't be sized."""
    if plan.release is not None or plan.gpu is None or plan.get("cpu_offload_gb"):
        return None
    # The newest allocator wastes least: what doesn't fit with it fitted with none before.
    newest = resized(plan, engine="vllm")
    if newest is None or newest.weights.bytes_per_rank is None:
        return None
    need = newest.needs.rank_sequence_bytes(newest.max_model_len)
    weights, memory = newest.weights.bytes_per_rank, plan.gpu.memory_bytes
    if need + weights <= memory:
        return None
    return Finding(
        f"a sequence of {newest.max_model_len:,} tokens takes at least {format_bytes(need)} on a "
        f"GPU, and the weights {format_bytes(weights)}: together more than the "
        f"{format_bytes(memory)} of {plan.gpu.name}, whatever the release",
        ("older releases keep layers with a window at full length, which takes more",),
        "set --max-model-len to the length that is needed",
    )


RULES = (kv_cache_does_not_fit,)
