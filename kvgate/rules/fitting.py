"""Whether one sequence fits, in kvgate's own words, where no record's rule says it."""

from __future__ import annotations

from kvgate.kvcache.answer import PoolAnswer
from kvgate.kvcache.reserve import visible_bytes
from kvgate.plan.model import Plan
from kvgate.rules.facts import number
from kvgate.rules.verdict import Finding, Undecided
from kvgate.units import counted, format_bytes

__all__ = ["does_not_fit", "more_than_the_gpu"]

_LENGTH = {"llama.cpp": "--ctx-size", "tensorrt-llm": "--max_seq_len", "sglang": "--context-length"}


def does_not_fit(plan: Plan) -> tuple[str, Finding] | Undecided | None:
    """(severity, finding) where one sequence of the full length doesn't fit; undecided where the
    memory is known too roughly to say; None where it fits or nothing is known."""
    sizing = plan.sizing
    pool = sizing.pool if sizing is not None else None
    if sizing is None or pool is None:
        return None
    length = counted(sizing.max_model_len, "token")
    if pool.undecided:
        low, high = format_bytes(pool.memory.low), format_bytes(pool.memory.high)
        return Undecided(
            f"the KV memory of the GPU: it is from {low} to {high}, and a sequence of {length} "
            "fits into the most, not into the least"
        )
    if pool.fits:
        return None
    most = f"; the longest that does has {counted(pool.longest, 'token')}" if pool.longest else ""
    if pool.starts_anyway:
        once = f" ({pool.max_concurrency or 0:.2f} at once)"
        message = f"{pool.starts_anyway}; a sequence of {length} does not fit{once}{most}"
        return "fails-later", Finding(message, (), _fix(plan, pool))
    if plan.engine in ("vllm", "sglang"):
        message = pool.refusal or f"one sequence of {length} does not fit"
        weights = sizing.weights.bytes_per_rank
        alone = plan.gpu is not None and weights is not None and weights >= plan.gpu.memory_bytes
        # An engine's own advice may be a fraction above 1, which there isn't.
        fix = "no share of this card is enough: more GPUs, or weights of fewer bits"
        return "blocks-start", Finding(message, (), fix if alone else "")
    because = [f"the pool has about {format_bytes(pool.memory.likely)} a GPU"]
    message = f"a sequence of {length} does not fit{most}"
    if pool.refusal:
        because.append(pool.refusal)
    severity = "blocks-start" if pool.refusal else "fails-later"
    if plan.runs("llama.cpp") and not plan.given("n_gpu_layers") and plan.get("fit") is not False:
        severity = "slower"
        message += ". Without --n-gpu-layers, llama.cpp leaves layers on the host"
    return severity, Finding(message, tuple(because), _fix(plan, pool))


def more_than_the_gpu(plan: Plan) -> Finding | None:
    """KV memory that was given, and is more than the GPU has."""
    pool = plan.sizing.pool if plan.sizing is not None else None
    if pool is None or plan.gpu is None:
        return None
    has = visible_bytes(plan.gpu)
    if pool.memory.likely <= has:
        return None
    given = plan.given("kv_cache_memory_bytes")
    return Finding(
        f"{format_bytes(pool.memory.likely)} of KV memory a GPU is more than the "
        f"{format_bytes(has)} that {plan.gpu.name} has",
        (),
        plan.without_flag("--kv-cache-memory-bytes") if given else "",
    )


def _fix(plan: Plan, pool: PoolAnswer) -> str:
    """The longest length that fits, as the engine's own flag takes it; "" where there is none."""
    if not pool.longest:
        return ""
    tokens = pool.longest
    if plan.runs("llama.cpp") and not plan.get("kv_unified"):
        tokens *= number(plan.get("parallel")) or 1
    return plan.with_flag(_LENGTH.get(plan.engine, "--max-model-len"), str(tokens))
