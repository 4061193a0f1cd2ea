"""What vLLM takes from the GPU before it gives any of it to the cache.

Sources: vllm 0.18.0 to 0.33.0, v1/worker/gpu_worker.py, v1/worker/utils.py, envs.py.
"""

from __future__ import annotations

from kvgate.kvcache.reserve import visible_bytes
from kvgate.plan.model import Plan
from kvgate.rules.facts import between, number
from kvgate.rules.verdict import Finding, Undecided, Verdict
from kvgate.rules.vllm_facts import GPU, resized, seen, spec
from kvgate.units import GiB, format_bytes

__all__ = ["RULES"]

_SPARK = "GB10"
# GiB that CUDA is ever given on DGX Spark kits (MiaAI-Lab/GLM-5.3-Flash-EXL3-2x-DGX-Sparks 47).
_SPARK_FREE = 102.2
_MOST_RANKS = 32  # of one tensor-parallel group; more is not advised to anybody
_USUAL = 0.9  # of the memory, what releases up to 0.19 take by default
_SHARED = (_SPARK, "Jetson AGX Thor")
_ESTIMATE = "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS"


def nothing_left_for_the_cache(plan: Plan) -> Verdict:
    """Weights, activations and graphs take all of the engine's share of the memory."""
    if not plan.runs("vllm") or plan.get("kv_cache_memory_bytes") is not None:
        return None
    # Releases older than the catalogue have no gates in it, but their pool is known.
    sizing = plan.sizing or resized(plan)
    if sizing is None or sizing.pool is None:
        return Undecided(plan.lacks("size") or plan.lacks("gpu") or GPU)
    weights, pool = sizing.weights.bytes_per_rank, sizing.pool
    if weights is None or plan.gpu is None or pool.memory.low > 0:
        return None
    if pool.memory.likely > 0:
        most = format_bytes(pool.memory.high)
        return Undecided(f"what the engine measures: between nothing and {most} are left")
    share = visible_bytes(plan.gpu) * _utilization(plan)
    return Finding(
        f"nothing is left for the cache on {plan.gpu.name}: weights of {format_bytes(weights)} and "
        f"what the engine needs besides take the {format_bytes(share)} that it may use",
        (
            "lowering --max-model-len doesn't help: there is no cache to divide",
            *(line for line in pool.lines if line.startswith("minus")),
        ),
        _room(plan),
    )


def _room(plan: Plan) -> str:
    """The command with which something is left for the cache: of a card that is shared the usual
    part, else the least doubling of ranks."""
    if _utilization(plan) < _USUAL and _leaves_room(plan, gpu_memory_utilization=_USUAL):
        return plan.with_flag("--gpu-memory-utilization", str(_USUAL))
    stages = number(plan.get("pipeline_parallel_size")) or 1
    heads = plan.arch.query_heads if plan.arch is not None else 0
    ranks = plan.tp * 2
    while ranks <= (plan.most_tp or _MOST_RANKS) and heads % ranks == 0:
        if _leaves_room(plan, tp=ranks):
            return plan.with_flag("--tensor-parallel-size", str(ranks))
        ranks *= 2
    if plan.most_tp:
        return f"more GPUs than the {plan.most_tp * stages} there are, or weights of fewer bits"
    return "larger GPUs, more of them in pipeline stages too, or weights of fewer bits"


def _leaves_room(plan: Plan, **changes: float) -> bool:
    tried = resized(plan, **changes)
    return tried is not None and tried.pool is not None and tried.pool.memory.likely > 0


def graph_estimate_takes_the_last_room(plan: Plan) -> Verdict:
    """The estimate for CUDA graphs is what makes the context not fit."""
    if not plan.runs("vllm") or plan.get("enforce_eager") or plan.gpu is None:
        return None
    if plan.get("kv_cache_memory_bytes") is not None:
        return None
    if between(plan, first="0.20.2") is not True or plan.deployment.env_value(_ESTIMATE) == "0":
        return None
    pool = plan.sizing.pool if plan.sizing is not None else None
    if pool is None or pool.fits:
        return None
    without = resized(plan, enforce_eager=True)
    if without is None or without.pool is None or not without.pool.fits:
        return None
    taken = without.pool.memory.likely - pool.memory.likely
    length = plan.sizing.max_model_len if plan.sizing is not None else 0
    return Finding(
        f"{length:,} tokens would fit but for the {format_bytes(taken)} that {seen(plan)} sets "
        "aside for CUDA graphs before it sizes the cache",
        (
            "releases before 0.20.2 took that memory only afterwards, from the rest",
            f"{_ESTIMATE}=0 switches the estimate off",
        ),
        plan.with_flag("--gpu-memory-utilization", f"{min(_utilization(plan) + 0.03, 0.98):.2f}"),
    )


def spark_utilization_above_what_is_free(plan: Plan) -> Verdict:
    """The share of memory asked for on GB10 is more than CUDA is ever given there."""
    if not plan.runs("vllm") or plan.gpu is None or plan.gpu.name != _SPARK:
        return None
    share = _utilization(plan)
    asked = visible_bytes(plan.gpu) * share / GiB
    # 0.85 is what the engine's own recipe names; what is free differs by some GiB between kits.
    if share <= 0.85:
        return None
    given = plan.get("gpu_memory_utilization") is not None
    said = f"--gpu-memory-utilization {share:g}" if given else f"the default share of {share:g}"
    return Finding(
        f"{said} asks for {asked:.1f} GiB of the "
        f"{visible_bytes(plan.gpu) / GiB:.1f} GiB that {plan.gpu.name} shows, of which about "
        f"{_SPARK_FREE:g} are free at a start",
        ("CPU and GPU share the memory, and the engine tests what is free before it loads",),
        plan.with_flag("--gpu-memory-utilization", "0.82"),
    )


def shared_memory_makes_the_pool_differ(plan: Plan) -> Verdict:
    """On memory shared with the CPU the profiled pool depends on the page cache."""
    if not plan.runs("vllm") or plan.gpu is None or plan.gpu.name not in _SHARED:
        return None
    if plan.get("kv_cache_memory_bytes") is not None or number(plan.get("num_gpu_blocks_override")):
        return None
    return Finding(
        f"{plan.gpu.name} shares its memory with the CPU: what {seen(plan)} finds free while it "
        "profiles depends on the page cache, so that a cold and a warm start give other pools",
        ("only a pool that is set by hand is the same each time",),
        plan.with_flag("--kv-cache-memory-bytes", _suggested(plan)),
    )


def _utilization(plan: Plan) -> float:
    value = plan.get("gpu_memory_utilization")
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= 1:
        return float(value)
    return 0.92 if between(plan, first="0.20.0") else 0.9


def _suggested(plan: Plan) -> str:
    pool = plan.sizing.pool if plan.sizing is not None else None
    if pool is not None and pool.memory.likely > GiB:
        return str(pool.memory.likely // GiB * GiB)
    return f"<bytes for {spec(plan)}>"


RULES = (
    nothing_left_for_the_cache,
    graph_estimate_takes_the_last_room,
    spark_utilization_above_what_is_free,
    shared_memory_makes_the_pool_differ,
)
