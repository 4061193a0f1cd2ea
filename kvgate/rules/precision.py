"""Whether answers hold: rules about what the cache's dtype does to accuracy and speed."""

from __future__ import annotations

from kvgate.plan.model import Plan
from kvgate.rules.verdict import Finding, Undecided, Verdict

__all__ = ["RULES"]

# Past this many tokens one-level accumulation lost the needle (vLLM blog of 2026-04-22, H100).
_FAR = 100_000


def fp8_kv_at_long_context_on_hopper(plan: Plan) -> Verdict:
    """An fp8 cache is read by FlashAttention on Hopper at a length where its sum matters."""
    if not plan.runs("vllm") or not plan.reads_fp8:
        return None
    if plan.arch is None or plan.gpu is None or plan.gates is None:
        return Undecided(plan.lacks("gates") or plan.lacks("gpu") or "the GPU")
    length = plan.max_model_len or 0
    if plan.gpu.sm is None or plan.gpu.sm[0] != 9 or length <= _FAR:
        return None
    wide = [
        group.head_size
        for group in plan.gates.groups
        if group.selected == "FLASH_ATTN" and group.head_size is not None
    ]
    if not wide:
        return None
    if max(wide) <= 128:
        # vLLM's own build adds up in two levels, and narrower heads don't pay for it.
        return None
    return Finding(
        "FlashAttention-3 adds up fp8 products in two levels here; the answers hold, and at heads "
        f"of {max(wide)} the long-context part of prefill gets slower than with bf16",
        (
            f"the cache is {plan.kv_cache_dtype} and FLASH_ATTN reads it on {plan.gpu.name}",
            f"sequences may have {length:,} tokens, heads are {max(wide)} wide",
        ),
        plan.with_flag("--kv-cache-dtype", "auto"),
    )


RULES = (fp8_kv_at_long_context_on_hopper,)
