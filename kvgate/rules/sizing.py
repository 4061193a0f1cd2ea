"""Whether it fits: rules that read the pool the engine would make."""

from __future__ import annotations

from kvgate.plan.model import Plan
from kvgate.rules.verdict import Finding, Undecided, Verdict
from kvgate.units import format_bytes

__all__ = ["RULES"]


def kv_cache_does_not_fit(plan: Plan) -> Verdict:
    """One sequence of the asked length doesn't fit into the memory that the weights leave."""
    if not plan.runs("vllm"):
        return None
    sizing = plan.sizing
    if sizing is None or sizing.pool is None or sizing.fits is None:
        return Undecided(plan.lacks("size") or plan.lacks("gpu") or "the KV memory of the GPU")
    pool = sizing.pool
    if pool.fits:
        return None
    length = f"{sizing.max_model_len:,} tokens"
    need = format_bytes(sizing.needs.rank_sequence_bytes(sizing.max_model_len))
    because = (
        f"one sequence of {length} needs {need} on each GPU before the engine rounds it to pages",
        f"the pool has about {format_bytes(pool.memory.likely)} a GPU",
    )
    if pool.longest:
        return Finding(
            f"a sequence of {length} does not fit; the longest that does has {pool.longest:,} "
            f"tokens. The engine says: {pool.refusal}",
            because,
            plan.with_flag("--max-model-len", str(pool.longest)),
        )
    return Finding(f"nothing is left for the KV cache. The engine says: {pool.refusal}", because)


RULES = (kv_cache_does_not_fit,)
