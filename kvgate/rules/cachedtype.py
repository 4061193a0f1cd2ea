"""The cache's dtype: who chose it, and which kernel can't read it on this generation.

Sources: vllm 0.9.2 to 0.33.0, v1/attention/backends/flash_attn.py and triton_attn.py,
model_executor/layers/attention/; each release named here was read.
"""

from __future__ import annotations

from kvgate.plan.model import Plan
from kvgate.rules.facts import between, is_latent, is_sparse, on_amd
from kvgate.rules.generations import old_dense_choice
from kvgate.rules.verdict import Finding, Undecided, Verdict
from kvgate.rules.vllm_facts import GPU, seen

__all__ = ["RULES"]

_PLAIN = "bfloat16"


def fp8_refused_by_flash_attention(plan: Plan) -> Verdict:
    """FlashAttention would have to read an fp8 cache, and has no kernel for it here."""
    if not plan.runs("vllm") or not plan.reads_fp8 or on_amd(plan):
        return None
    if plan.arch is None or is_latent(plan.arch):
        return None
    forced = plan.forced_backend == "FLASH_ATTN"
    old = between(plan, "0.8", "0.11.0") is True
    if not forced and not old:
        # Where nobody forces it, the selector finds another backend by itself.
        return None
    if plan.gpu is None or plan.gpu.sm is None:
        return Undecided(GPU)
    fix = plan.without_flag("--attention-backend") if forced else ""
    facts = (
        f"{plan.gpu.name} is compute capability {plan.gpu.capability}",
        "FlashAttention 2 reads no fp8 cache; FlashAttention 3 does, on 9.0",
    )
    if plan.gates is not None:
        error = plan.gates.error or ""
        reasons = [r for g in plan.gates.groups if g.error for b in g.backends for r in b.reasons]
        if not forced or not any("fp8" in r.lower() or "kv_cache_dtype" in r for r in reasons):
            return None
        return Finding(
            f"FLASH_ATTN is forced, and doesn't read an fp8 cache on {plan.gpu.name}: {error}",
            facts,
            fix,
        )
    chosen = old_dense_choice(plan)
    if chosen != "FLASH_ATTN" or plan.gpu.sm == (9, 0):
        return None if chosen else Undecided(plan.lacks("gates") or "the gates")
    return Finding(
        f"{seen(plan)} takes FLASH_ATTN on {plan.gpu.name}, which refuses the fp8 cache once the "
        "first layer is built",
        facts,
        plan.with_flag("--kv-cache-dtype", "auto"),
    )


def e4m3_needs_ada_in_triton(plan: Plan) -> Verdict:
    """Triton reads an fp8 (e4m3) cache, on a GPU older than Ada."""
    if not plan.runs("vllm") or not plan.reads_fp8 or on_amd(plan):
        return None
    if plan.arch is None or is_latent(plan.arch):
        return None
    if plan.gpu is None or plan.gpu.sm is None:
        return Undecided(GPU)
    if plan.gpu.sm >= (8, 9):
        return None
    facts = (
        f"{plan.gpu.name} is compute capability {plan.gpu.capability}; Triton has e4m3 from 8.9 on",
    )
    fix = plan.with_flag("--kv-cache-dtype", "auto" if plan.kv_cache_dtype != "auto" else _PLAIN)
    if plan.gates is not None:
        fails = [f for f in plan.gates.then_fails if "fp8e4nv" in f.text]
        if not fails:
            return None
        return Finding(
            f"{fails[0].backend} is {'forced' if plan.forced_backend else 'what is left'} for an "
            f"fp8 cache on {plan.gpu.name}, and can't read it: {fails[0].text}",
            facts,
            fix,
        )
    chosen = old_dense_choice(plan)
    if chosen is None:
        return Undecided(plan.lacks("gates") or "the gates")
    if chosen != "TRITON_ATTN":
        return None
    return Finding(
        f"{seen(plan)} takes TRITON_ATTN for an fp8 cache on {plan.gpu.name}, and its kernel "
        "doesn't compile there",
        facts,
        fix,
    )


def checkpoint_turns_on_fp8(plan: Plan) -> Verdict:
    """Nobody asked for an fp8 cache; the checkpoint's quantisation config does."""
    if not plan.runs("vllm") or plan.arch is None or plan.kv_cache_dtype != "auto":
        return None
    said = plan.arch.quantization
    if said is None or said.kv_cache is None or plan.sizing is None:
        return None
    choice = plan.sizing.needs.choice
    if choice.flag == "auto" or (said.kv_cache_key or "?") not in choice.because:
        return None
    return Finding(
        f"the cache will be {choice.flag} although no --kv-cache-dtype is given: {choice.because}",
        (
            f"{plan.arch.id}: {said.kv_cache_key} says {said.kv_cache}",
            "compressed-tensors' setting is read since 0.14, ModelOpt's since 0.15",
        ),
        # Of sparse latents, not every backend takes the spelled-out dtype.
        "" if is_sparse(plan.arch) else plan.with_flag("--kv-cache-dtype", _PLAIN),
    )


RULES = (
    fp8_refused_by_flash_attention,
    e4m3_needs_ada_in_triton,
    checkpoint_turns_on_fp8,
)
