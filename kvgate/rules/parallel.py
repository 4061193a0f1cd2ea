"""Parallel sizes and the scheduler: what vLLM's own arithmetic refuses before anything is loaded.

Sources: vllm 0.9.2 to 0.33.0, config/model.py, config/parallel.py, config/scheduler.py.
"""

from __future__ import annotations

from kvgate.architecture.layers import Attention
from kvgate.architecture.model import Architecture
from kvgate.plan.model import Plan
from kvgate.rules.facts import between, is_latent, number
from kvgate.rules.verdict import Finding, Undecided, Verdict
from kvgate.rules.vllm_facts import MODEL, seen

__all__ = ["RULES"]

# Backends that return no log-sum-exp while decoding, and the release from which they do, or from
# which the selector refuses them by itself (0.29).
_NO_SUMS = {
    "FLASHINFER_MLA": "0.25.0", "FLASHINFER_MLA_SPARSE": "0.25.0", "FLASHMLA_SPARSE": "0.29.0",
    "FLASH_ATTN_MLA_SPARSE": "0.29.0", "FLASHINFER_MLA_SPARSE_SM120": "0.29.0",
    "TRITON_ATTN": "0.29.0", "FLEX_ATTENTION": "0.29.0",
}  # fmt: skip


def heads_do_not_divide(plan: Plan) -> Verdict:
    """The query heads can't be divided by the tensor-parallel size."""
    if plan.engine not in ("vllm", "sglang") or plan.tp == 1:
        return None
    if plan.arch is None:
        return Undecided(plan.lacks("model") or MODEL)
    heads = plan.arch.query_heads
    if heads % plan.tp == 0:
        return None
    kept = _kv_heads(plan.arch)
    allowed = [
        n
        for n in range(1, min(heads, 64) + 1)
        if heads % n == 0 and (kept is None or kept % n == 0 or n % kept == 0)
    ]
    below = max((n for n in allowed if n <= min(plan.tp, plan.most_tp or plan.tp)), default=1)
    flag = "--tensor-parallel-size" if plan.runs("vllm") else "--tp-size"
    return Finding(
        f"{plan.arch.id} has {heads} query heads, which {plan.tp} ranks can't share equally",
        (
            f"sizes that work are {', '.join(map(str, allowed))}",
            *(
                [f"a divisor or a multiple of its {kept} KV heads; above them ranks hold copies"]
                if kept is not None
                else ()
            ),
        ),
        plan.with_flag(flag, str(below)),
    )


def dcp_needs_more_ranks_than_kv_heads(plan: Plan) -> Verdict:
    """Decode context parallelism on a model whose KV heads aren't copied over ranks."""
    dcp = number(plan.get("decode_context_parallel_size")) or 1
    if not plan.runs("vllm") or dcp == 1:
        return None
    tp = plan.tp
    off = plan.without_flag("--decode-context-parallel-size")
    pcp = number(plan.get("prefill_context_parallel_size")) or 1
    if pcp == 1 and tp % dcp:
        return Finding(
            f"--decode-context-parallel-size {dcp} doesn't divide the {tp} tensor-parallel ranks",
            ("decode context parallelism divides those ranks, it adds none",),
            off,
        )
    if plan.arch is None:
        return Undecided(plan.lacks("model") or MODEL)
    heads = _kv_heads(plan.arch)
    if is_latent(plan.arch) or heads is None or between(plan, fixed="0.11.2"):
        return None
    if tp <= heads:
        return Finding(
            f"{plan.arch.id} has {heads} KV heads, so that {tp} ranks hold no head twice and "
            "decode context parallelism has nothing to divide",
            (f"tensor parallel size {tp} must be above {heads}",),
            off,
        )
    if dcp > tp // heads:
        return Finding(
            f"each KV head of {plan.arch.id} is held by {tp // heads} ranks, and "
            f"--decode-context-parallel-size {dcp} asks for more",
            (f"{heads} KV heads over {tp} ranks",),
            plan.with_flag("--decode-context-parallel-size", str(tp // heads)),
        )
    per_head = plan.arch.query_heads // heads
    if per_head % dcp:
        return Finding(
            f"{per_head} query heads share a KV head of {plan.arch.id}, which "
            f"--decode-context-parallel-size {dcp} doesn't divide",
            (f"{plan.arch.query_heads} query heads, {heads} KV heads",),
            off,
        )
    return None


def dcp_backend_gives_no_sums(plan: Plan) -> Verdict:
    """Decode context parallelism with a backend that can't hand out what the ranks must merge."""
    dcp = number(plan.get("decode_context_parallel_size")) or 1
    if not plan.runs("vllm") or dcp == 1:
        return None
    if plan.gates is None:
        # Plain attention on a known release has a backend for it wherever it is allowed at all.
        open_ = plan.arch is None or is_latent(plan.arch)
        return Undecided(plan.lacks("gates") or "the gates") if open_ else None
    said = plan.gates.error or ""
    if not said:
        said = next((f.text for f in plan.gates.then_fails if "DCP" in f.text), "")
    chosen = plan.gates.selected
    if not said and chosen in _NO_SUMS and between(plan, fixed=_NO_SUMS[chosen]):
        said = f"{chosen} returns no log-sum-exp while decoding in {seen(plan)}"
    if "DCP" not in said and "log-sum-exp" not in said:
        return None
    forced = plan.forced_backend
    who = f"{forced}, which is forced, can't" if forced else "no backend that is left here can"
    if not forced and chosen:
        who = f"{chosen}, which the engine chooses, can't"
    return Finding(
        f"{who} work with --decode-context-parallel-size {dcp}: {said}",
        ("each rank attends to a part of the tokens, and the parts are merged by these sums",),
        plan.without_flag("--attention-backend" if forced else "--decode-context-parallel-size"),
    )


def batch_shorter_than_the_context(plan: Plan) -> Verdict:
    """Chunked prefill is off, and one step is smaller than the context."""
    if not plan.runs("vllm") or plan.get("enable_chunked_prefill") is not False:
        return None
    batch = number(plan.get("max_num_batched_tokens"))
    length = number(plan.get("max_model_len"))
    if length is None:
        if plan.arch is None:
            return Undecided(plan.lacks("model") or MODEL) if batch else None
        length = plan.arch.max_position_embeddings
    if batch is None or length is None or batch >= length:
        # Where nobody sets the step, the engine raises it to the context by itself.
        return None
    return Finding(
        f"chunked prefill is off, so that a prompt must fit into one step of {batch:,} tokens, "
        f"and {seen(plan)} refuses a context of {length:,}",
        ("with chunked prefill the same two numbers are fine",),
        plan.without_flag("--no-enable-chunked-prefill"),
    )


def _kv_heads(arch: Architecture) -> int | None:
    heads = [g.layer.kv_heads for g in arch.groups if isinstance(g.layer, Attention)]
    return max(heads, default=None)


RULES = (
    heads_do_not_divide,
    dcp_needs_more_ranks_than_kv_heads,
    dcp_backend_gives_no_sums,
    batch_shorter_than_the_context,
)
