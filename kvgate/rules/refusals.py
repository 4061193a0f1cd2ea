"""Pairs of values that an engine refuses together, whatever the GPU.

Sources: vllm 0.9.2 to 0.33.0, config/scheduler.py, config/vllm.py, attention/layer.py (later
model_executor/layers/attention/attention.py); each release named here was read.
"""

from __future__ import annotations

from kvgate.plan.model import Plan
from kvgate.rules.facts import between, is_latent, number, text
from kvgate.rules.verdict import Finding, Undecided, Verdict
from kvgate.rules.vllm_facts import MODEL, connectors, seen

__all__ = ["RULES"]

_ALLOCATOR = "PYTORCH_CUDA_ALLOC_CONF"
# What Fp8Config and ModelOpt call themselves: their KV-cache methods keep scales of e4m3.
_FP8_CHECKPOINTS = {"fp8", "fbgemm_fp8", "modelopt", "modelopt_mixed", "modelopt_fp4"}


def batch_smaller_than_its_sequences(plan: Plan) -> Verdict:
    """A step of fewer tokens than sequences: each running sequence wants one token of it."""
    if not plan.runs("vllm"):
        return None
    tokens, sequences = (
        number(plan.get("max_num_batched_tokens")), number(plan.get("max_num_seqs"))
    )  # fmt: skip
    if tokens is None or sequences is None or tokens >= sequences:
        return None
    return Finding(
        f"--max-num-batched-tokens {tokens:,} is smaller than --max-num-seqs {sequences:,}: "
        f"{seen(plan)} stops",
        ("each sequence that decodes takes one token of a step",),
        plan.with_flag("--max-num-seqs", str(tokens)),
    )


def e5m2_cache_of_an_fp8_checkpoint(plan: Plan) -> Verdict:
    """An e5m2 cache, which knows no scales, for a checkpoint whose quantisation brings some."""
    if not plan.runs("vllm") or plan.kv_cache_dtype != "fp8_e5m2":
        return None
    if plan.arch is None:
        return Undecided(plan.lacks("model") or MODEL)
    quantised = plan.arch.quantization
    method = quantised.method if quantised is not None else text(plan.get("quantization"))
    packed = method == "compressed-tensors" and quantised is not None
    if packed and quantised is not None and quantised.kv_cache is None:
        # A checkpoint without a scheme for the cache is let through from 0.33.0 on.
        return None
    if method not in _FP8_CHECKPOINTS and not packed:
        return None
    return Finding(
        f"--kv-cache-dtype fp8_e5m2 is refused for {plan.arch.id}, whose checkpoint is {method}: "
        f"{seen(plan)} stops while it builds the first layer",
        ("the checkpoint's method loads scales for an e4m3 cache",),
        plan.with_flag("--kv-cache-dtype", "fp8_e4m3"),
    )


def nvfp4_cache_of_latents(plan: Plan) -> Verdict:
    """The plain FP4 cache on a model that keeps latents."""
    dtype = plan.kv_cache_dtype
    if not plan.runs("vllm") or not dtype.startswith("nvfp4") or dtype.endswith("_ds_mla"):
        return None
    if plan.arch is None:
        return Undecided(plan.lacks("model") or MODEL)
    if not is_latent(plan.arch) or between(plan, "0.21.0") is False:
        return None
    return Finding(
        f"--kv-cache-dtype {dtype} is refused for {plan.arch.id}, which keeps latents (MLA): "
        f"{seen(plan)} stops",
        ("the FP4 layout packs heads of keys and values, which a latent isn't",),
        plan.with_flag("--kv-cache-dtype", "fp8"),
    )


def connector_with_expandable_segments(plan: Plan) -> Verdict:
    """A connector registers the cache's memory, and PyTorch is told that it may remap it."""
    if not plan.runs("vllm") or not connectors(plan):
        return None
    said = plan.deployment.env_value(_ALLOCATOR)
    if said is None or "expandable_segments:True" not in said or plan.get("enable_sleep_mode"):
        return None
    refused = between(plan, "0.21.0")
    if refused is None:
        return Undecided("vLLM's version")
    what = "stops" if refused else "starts, and a transfer between nodes may fail later"
    return Finding(
        f"{_ALLOCATOR} has expandable_segments:True beside {', '.join(connectors(plan))}: "
        f"{seen(plan)} {what}",
        ("memory that was registered for transfers may move to other physical pages",),
        f"leave expandable_segments:True out of {_ALLOCATOR}",
    )


RULES = (
    batch_smaller_than_its_sequences,
    e5m2_cache_of_an_fp8_checkpoint,
    nvfp4_cache_of_latents,
    connector_with_expandable_segments,
)
