"""Latent attention (MLA) and its sparse form: backends, block sizes and cache dtypes that part.

Sources: vllm 0.11.2 to 0.33.0, platforms/cuda.py, v1/attention/backends/mla/,
model_executor/layers/sparse_attn_indexer.py; each release named here was read.
"""

from __future__ import annotations

from kvgate.plan.model import Plan
from kvgate.rules.facts import between, is_latent, is_sparse, number, on_amd
from kvgate.rules.verdict import Finding, Undecided, Verdict
from kvgate.rules.vllm_facts import GPU, seen

__all__ = ["RULES"]

# Backends for dense latents only.
_DENSE = {"CUTLASS_MLA", "FLASHINFER_MLA", "FLASHMLA", "FLASH_ATTN_MLA", "TRITON_MLA"}
_DENSE |= {"TOKENSPEED_MLA", "ROCM_AITER_MLA", "ROCM_AITER_TRITON_MLA"}
_HOPPER, _ADA = (9, 0), (8, 9)


def sparse_mla_without_backend(plan: Plan) -> Verdict:
    """A sparse MLA model on a generation for which this release has no sparse kernel."""
    if not plan.runs("vllm") or plan.arch is None or not is_sparse(plan.arch) or on_amd(plan):
        return None
    if plan.gpu is None or plan.gpu.sm is None:
        return Undecided(GPU)
    card = f"{plan.gpu.name} is compute capability {plan.gpu.capability}"
    if plan.gates is None:
        old = between(plan, "0.11.2", "0.15.1")
        if old is not True:
            return Undecided(plan.lacks("gates") or "the gates")
        # Up to 0.15.1 FLASHMLA_SPARSE was the only one.
        if plan.gpu.sm[0] in (9, 10):
            return None
        return Finding(
            f"{plan.arch.id} is sparse MLA, and {seen(plan)} has FLASHMLA_SPARSE for it alone, "
            "which needs compute capability 9.0 or 10.x",
            (card, "the checkpoint makes it sparse (index_topk), no flag"),
            "another GPU, or a release with a sparse backend for this one",
        )
    if not plan.gates.error or plan.forced_backend is not None:
        return None
    missing = [
        b
        for g in plan.gates.groups
        for b in g.backends
        if "sparse not supported" not in b.reasons
        and "compute capability not supported" not in b.reasons
    ]
    if missing:
        # Some sparse backend knows the GPU and refuses something else, which a flag may change.
        return None
    return Finding(
        f"{plan.arch.id} is sparse MLA, for which {seen(plan)} has no kernel on {plan.gpu.name}: "
        "no flag changes that",
        (card, "the checkpoint makes it sparse (index_topk), no flag", plan.gates.error),
        "another GPU, or a release with a sparse backend for this one",
    )


def dense_backend_on_sparse_model(plan: Plan) -> Verdict:
    """A backend for dense MLA is forced on a sparse MLA model."""
    if not plan.runs("vllm") or plan.arch is None or not is_sparse(plan.arch):
        return None
    forced = plan.forced_backend
    if forced is None and between(plan, "0.11.2", "0.15.0"):
        forced = (plan.deployment.env_value("VLLM_ATTENTION_BACKEND") or "").upper() or None
    if forced not in _DENSE:
        return None
    return Finding(
        f"{forced} reads dense latents, and {plan.arch.id} is sparse MLA: the start is refused "
        "with 'sparse not supported'",
        ("the config has index_topk", "the same backend is right for DeepSeek V3 and R1"),
        plan.without_flag("--attention-backend"),
    )


def triton_mla_refuses_fp8(plan: Plan) -> Verdict:
    """TRITON_MLA is what is left, and it doesn't read an fp8 cache here."""
    if not plan.runs("vllm") or plan.arch is None or not is_latent(plan.arch):
        return None
    if is_sparse(plan.arch) or not plan.reads_fp8 or on_amd(plan):
        return None
    if plan.gpu is None or plan.gpu.sm is None:
        return Undecided(GPU)
    fix = plan.with_flag("--kv-cache-dtype", "bfloat16")
    facts = (
        f"{plan.gpu.name} is compute capability {plan.gpu.capability}",
        f"the cache is {_dtype(plan)}",
    )
    if plan.gates is not None:
        fails = [f for f in plan.gates.then_fails if "MLA" in f.backend and "fp8" in f.text.lower()]
        alone = plan.gates.error is not None and "kv_cache_dtype not supported" in plan.gates.error
        if fails:
            return Finding(
                f"{fails[0].backend} is chosen and then refuses the fp8 cache: {fails[0].text}",
                facts,
                fix,
            )
        if alone:
            return Finding(
                f"no MLA backend of {seen(plan)} takes an fp8 cache on {plan.gpu.name}: "
                f"{plan.gates.error}",
                facts,
                fix,
            )
        return None
    if between(plan, "0.9", "0.15.1") and plan.gpu.sm[0] not in (9, 10):
        return Finding(
            f"TRITON_MLA is the only MLA backend on {plan.gpu.name}, and {seen(plan)} has no fp8 "
            "cache for it",
            facts,
            fix,
        )
    return Undecided(plan.lacks("gates") or "the gates") if between(plan, "0.15.1") else None


def sparse_mla_block_size(plan: Plan) -> Verdict:
    """A block size that the indexer of sparse MLA doesn't take."""
    if not plan.runs("vllm") or plan.arch is None or not is_sparse(plan.arch) or on_amd(plan):
        return None
    block = number(plan.get("block_size"))
    if block is None or block % 64 == 0:
        return None
    if between(plan, fixed="0.18.0"):
        # Up to 0.17 the platform overwrote the block of a sparse model with 64.
        return None
    return Finding(
        f"--block-size {block} doesn't go with {plan.arch.id}: its index cache is kept in blocks "
        "of 64 tokens, and every sparse backend needs a multiple of 64",
        ("the config has index_topk", "DeepSeek V3.2 and GLM-5 take 64 by themselves"),
        plan.with_flag("--block-size", "64"),
    )


def sparse_mla_fp8_spelling(plan: Plan) -> Verdict:
    """A spelling of fp8 that the sparse backends of this GPU don't take as their packed record."""
    if not plan.runs("vllm") or plan.arch is None or not is_sparse(plan.arch) or on_amd(plan):
        return None
    asked = plan.kv_cache_dtype
    declared = asked == "auto" and plan.reads_fp8
    if asked not in ("fp8", "fp8_e4m3", "fp8_e5m2", "bfloat16") and not declared:
        return None
    if plan.gpu is None or plan.gpu.sm is None:
        return Undecided(GPU)
    written = "the checkpoint's own setting" if declared else f"--kv-cache-dtype {asked}"
    fix = plan.with_flag("--kv-cache-dtype", "fp8_ds_mla")
    if plan.gates is None:
        return Undecided(plan.lacks("gates") or "the gates")
    here = [
        b
        for g in plan.gates.groups
        for b in g.backends
        if "sparse not supported" not in b.reasons
        and "compute capability not supported" not in b.reasons
    ]
    refusing = [b for b in here if "kv_cache_dtype not supported" in b.reasons]
    if plan.gates.error and refusing:
        said = "; ".join(dict.fromkeys(f"{b.name} says {', '.join(b.reasons)}" for b in refusing))
        return _not_packed(plan, written, said, fix)
    stored = {g.kv_cache_dtype for g in plan.gates.groups if g.selected}
    if asked == "fp8_e4m3" and plan.gpu.sm == _HOPPER and "fp8_ds_mla" not in stored:
        return Finding(
            f"{written} makes {plan.gates.selected} of {plan.arch.id}, whose cache is plain fp8 "
            "latents; fp8 and fp8_ds_mla make another backend and the packed record of it",
            (f"{plan.gpu.name}, {seen(plan)}", "a peer of a pair must be given the same spelling"),
            fix,
        )
    return None


def _not_packed(plan: Plan, written: str, said: str, fix: str) -> Finding:
    name = plan.arch.id if plan.arch is not None else "the model"
    card = plan.gpu.name if plan.gpu is not None else "this GPU"
    return Finding(
        f"{written} is not the packed cache that sparse MLA needs on {card}: {said}",
        (f"{name} is sparse MLA", f"{seen(plan)}"),
        fix,
    )


def _dtype(plan: Plan) -> str:
    return plan.kv_cache_dtype if plan.kv_cache_dtype != "auto" else "fp8 by the checkpoint"


RULES = (
    sparse_mla_without_backend,
    dense_backend_on_sparse_model,
    triton_mla_refuses_fp8,
    sparse_mla_block_size,
    sparse_mla_fp8_spelling,
)
