"""SGLang: backends that a GPU, a model or a cache dtype doesn't go with, by release.

Sources: sglang 0.5.9 to 0.5.23, srt/server_args.py (up to 0.5.18), srt/arg_groups/ (later),
srt/layers/attention/attention_registry.py; what each release says was read there.
"""

from __future__ import annotations

from kvgate.architecture.layers import GatedDeltaNet
from kvgate.plan.model import Plan
from kvgate.rules.facts import between, engine_version, is_latent, is_sparse, major, on_amd, text
from kvgate.rules.verdict import Finding, Undecided, Verdict

__all__ = ["RULES", "asked_backends"]

_GPU = "the GPU (--gpu)"
_BASE, _PREFILL, _DECODE = (
    "attention_backend", "prefill_attention_backend", "decode_attention_backend",
)  # fmt: skip


def asked_backends(plan: Plan) -> tuple[str, str]:
    """(prefill, decode) backends as asked for, "" where nobody asked."""
    base = text(plan.get(_BASE))
    return text(plan.get(_PREFILL)) or base, text(plan.get(_DECODE)) or base


def trtllm_mha_on_consumer_blackwell(plan: Plan) -> Verdict:
    """trtllm_mha on a Blackwell that isn't SM100."""
    if not plan.runs("sglang") or "trtllm_mha" not in asked_backends(plan) or on_amd(plan):
        return None
    generation = major(plan)
    if generation is None:
        return Undecided(_GPU)
    if generation not in (11, 12) or plan.gpu is None:
        return None
    prefill, decode = (backend == "trtllm_mha" for backend in asked_backends(plan))
    if between(plan, fixed="0.5.10"):
        said = "takes trtllm_mha on SM100 only"
    elif prefill and (generation == 11 or between(plan, fixed="0.5.19")):
        said = "takes trtllm_mha for prefill on SM100 only"
        said = said if between(plan, fixed="0.5.19") else "has no trtllm_mha prefill for SM110"
    elif decode and generation == 11:
        said = "has no trtllm_mha decode for SM110"
    elif prefill and plan.kv_cache_dtype == "fp8_e4m3":
        said = "has trtllm_mha prefill on SM120, but not with an fp8_e4m3 cache"
    else:
        return None
    return Finding(
        f"{plan.gpu.name} is compute capability {plan.gpu.capability}; SGLang "
        f"{engine_version(plan)} {said}",
        ("Blackwell is the name of SM100 and SM103 and of SM110, SM120 and SM121 alike",),
        plan.without_flag("--attention-backend"),
    )


def fa3_outside_its_generations(plan: Plan) -> Verdict:
    """FlashAttention 3 is asked for on a GPU, or for a kind of model, that it has no kernel for."""
    if not plan.runs("sglang") or "fa3" not in asked_backends(plan) or on_amd(plan):
        return None
    generation = major(plan)
    if generation is None or plan.gpu is None:
        return Undecided(_GPU)
    if generation == 9:
        return None
    if generation == 8:
        if plan.arch is None:
            return Undecided(plan.lacks("model") or "the model")
        if not is_latent(plan.arch):
            return None
        why = "fa3 serves latents (MLA) on SM90 only"
    else:
        why = "fa3 runs on SM80 to SM90"
    return Finding(
        f"fa3 is asked for on {plan.gpu.name}, compute capability {plan.gpu.capability}: SGLang "
        f"{engine_version(plan)} stops once the weights are loaded",
        (why,),
        plan.without_flag("--attention-backend"),
    )


def trtllm_mla_prefill_on_sm12x(plan: Plan) -> Verdict:
    """trtllm_mla is to prefill on SM12x, where its kernel has no binary."""
    if not plan.runs("sglang") or asked_backends(plan)[0] != "trtllm_mla":
        return None
    if plan.arch is not None and not is_latent(plan.arch):
        return None
    generation = major(plan)
    if generation is None:
        return None if on_amd(plan) else Undecided(_GPU)
    if generation != 12 or plan.gpu is None:
        return None
    return Finding(
        f"trtllm_mla is taken at the start and prefills with a kernel that {plan.gpu.name} "
        f"({plan.gpu.capability}) has no binary for: the first prompt fails",
        ("decode has another kernel, which SM12x has",),
        plan.with_flag("--prefill-attention-backend", "triton"),
    )


def gdn_backend_on_blackwell(plan: Plan) -> Verdict:
    """A backend outside the list that this release has for gated-delta-net models on Blackwell."""
    asked = [backend for backend in dict.fromkeys(asked_backends(plan)) if backend]
    if not plan.runs("sglang") or plan.arch is None or not asked:
        return None
    if not any(isinstance(group.layer, GatedDeltaNet) for group in plan.arch.groups):
        return None
    generation = major(plan)
    if generation is None:
        return None if on_amd(plan) else Undecided(_GPU)
    if generation < 10 or plan.gpu is None:
        return None
    allowed = _gdn_backends(plan, generation)
    refused = [backend for backend in asked if backend not in allowed]
    if not refused:
        return None
    return Finding(
        f"{plan.arch.id} has gated delta net layers, for which SGLang {engine_version(plan)} takes "
        f"{', '.join(sorted(allowed))} on {plan.gpu.name} ({plan.gpu.capability}), not "
        f"{', '.join(refused)}; it says so once the weights are loaded",
        ("elsewhere the same model and backend are accepted",),
        plan.with_flag("--attention-backend", "triton"),
    )


def _gdn_backends(plan: Plan, generation: int) -> set[str]:
    allowed = {"triton", "trtllm_mha"}
    if between(plan, fixed="0.5.10"):
        return allowed
    if between(plan, fixed="0.5.16"):
        return allowed | {"fa4", "flashinfer"}
    if generation == 12:
        return allowed | {"flashinfer"}
    return allowed | ({"fa4"} if between(plan, fixed="0.5.21") else {"fa4", "flashinfer"})


def gpt_oss_backend_not_allowed(plan: Plan) -> Verdict:
    """A backend outside of gpt-oss's list."""
    asked = [backend for backend in dict.fromkeys(asked_backends(plan)) if backend]
    if not plan.runs("sglang") or plan.arch is None or not asked:
        return None
    if "GptOssForCausalLM" not in plan.arch.architectures:
        return None
    later = {"aiter": "0.5.10", "intel_xpu": "0.5.11", "intel_amx": "0.5.13"}
    allowed = ["triton", "trtllm_mha", "fa3", "fa4", "ascend"]
    allowed += [backend for backend, first in later.items() if between(plan, first=first)]
    refused = [backend for backend in asked if backend not in allowed]
    if not refused:
        return None
    return Finding(
        f"gpt-oss has sinks and a window, for which SGLang {engine_version(plan)} takes "
        f"{', '.join(allowed)} only, not {', '.join(refused)}",
        ("both the prefill and the decode backend are asked",),
        plan.without_flag("--attention-backend"),
    )


def float16_forced_below_sm80(plan: Plan) -> Verdict:
    """A GPU below SM80: refused below 7.5, and given float16 from there on."""
    if not plan.runs("sglang") or plan.gpu is None or plan.gpu.sm is None:
        return None
    if plan.gpu.sm >= (8, 0):
        return None
    card = f"{plan.gpu.name} is compute capability {plan.gpu.capability}"
    if plan.gpu.sm < (7, 5):
        return Finding(f"{card}; SGLang stops below 7.5", (), "another engine, or another GPU")
    dtype = text(plan.get("dtype")) or "auto"
    if dtype in ("float16", "half"):
        return None
    if dtype == "auto" and plan.arch is not None and plan.arch.dtype == "float16":
        return None
    return Finding(
        f"{card}; SGLang overwrites the dtype ({dtype}) with float16, with one line in the log",
        ("values that bfloat16 holds can overflow in float16",),
        plan.with_flag("--dtype", "float16"),
    )


def dsa_kernels_on_sm12x(plan: Plan) -> Verdict:
    """Sparse MLA on SM12x ends up with trtllm kernels, which exist for SM100 and SM103 only."""
    if not plan.runs("sglang") or plan.arch is None or not is_sparse(plan.arch):
        return None
    generation = major(plan)
    if generation is None:
        return None if on_amd(plan) else Undecided(_GPU)
    if generation != 12 or plan.gpu is None:
        return None
    if plan.outcome is None:
        return Undecided(plan.lacks("gates") or "how this release resolves the sparse kernels")
    kernels = plan.outcome.sparse
    if kernels is None or "trtllm" not in kernels:
        return None
    new = "flashinfer_sparse_mla"
    flags = ("--dsa-prefill-backend", "--dsa-decode-backend")
    return Finding(
        f"{plan.gpu.name} ({plan.gpu.capability}) gets prefill={kernels[0]}, decode={kernels[1]} "
        f"for the sparse layers of {plan.arch.id}; trtllm has no binary for it and stops while "
        "graphs are captured",
        (f"the cache resolves to {plan.outcome.kv_dtype}",),
        ", ".join(f"{flag} {new}" for flag in flags) if between(plan, first="0.5.17") else "",
    )


def fa3_with_e5m2_becomes_triton(plan: Plan) -> Verdict:
    """fa3 was asked for, or would be chosen, with an fp8_e5m2 cache."""
    if not plan.runs("sglang") or plan.kv_cache_dtype != "fp8_e5m2":
        return None
    moved = any(
        note.setting == _BASE and note.asked == "fa3" and note.became == "triton"
        for note in (plan.outcome.notes if plan.outcome else ())
    )
    if text(plan.get(_BASE)) != "fa3" and not moved:
        # Without the GPU nobody can tell whether fa3 would have been the automatic choice.
        automatic = not plan.given(_BASE) and plan.gpu is None
        return Undecided(_GPU) if automatic else None
    return Finding(
        "FlashAttention 3 reads fp8_e4m3 only, so that SGLang replaces fa3 by triton for the "
        "fp8_e5m2 cache and goes on",
        ("one warning in the log says so",),
        plan.with_flag("--kv-cache-dtype", "fp8_e4m3"),
    )


def trtllm_mla_refuses_kv_dtype(plan: Plan) -> Verdict:
    """trtllm_mla with a cache dtype outside its list, ``bfloat16`` written out among them."""
    if not plan.runs("sglang") or not plan.given("kv_cache_dtype"):
        return None
    used = {text(plan.get(_BASE)), text(plan.get(_DECODE))}
    if plan.outcome is not None:
        used |= {plan.outcome.prefill or "", plan.outcome.decode or ""}
    refused_late = "TensorRT-LLM MLA backend only supports" in (
        (plan.outcome.error if plan.outcome else None) or ""
    )
    if "trtllm_mla" not in used and not refused_late:
        return None
    allowed = ["auto", "fp8_e4m3"]
    allowed += ["bf16"] if between(plan, first="0.5.8") else []
    allowed += ["fp4_e2m1"] if between(plan, fixed="0.5.21") else []
    dtype = plan.kv_cache_dtype
    if dtype in allowed:
        return None
    return Finding(
        f"trtllm_mla takes {', '.join(allowed)} as cache dtype in SGLang {engine_version(plan)}, "
        f"as spelled here; {dtype} is refused",
        ("the list is of words, not of formats: bf16 may stand in it and bfloat16 not",),
        plan.with_flag("--kv-cache-dtype", "auto"),
    )


def small_tile_on_sm12x(plan: Plan) -> Verdict:
    """Before 0.5.9 Triton's prefill took Hopper's tile on SM12x, which has less shared memory."""
    if not plan.runs("sglang") or between(plan, fixed="0.5.9") is not True or plan.arch is None:
        return None
    widest = max(plan.arch.head_sizes(), default=0)
    if widest <= 128:
        return None
    prefill = asked_backends(plan)[0]
    latent = is_latent(plan.arch)
    if prefill != "triton" and (prefill or not latent):
        return None
    generation = major(plan)
    if generation is None:
        return None if on_amd(plan) else Undecided(_GPU)
    if generation != 12 or plan.gpu is None:
        return None
    return Finding(
        f"heads {widest} wide: SGLang {engine_version(plan)} prefills with a tile cut for Hopper, "
        f"which the shared memory of {plan.gpu.name} ({plan.gpu.capability}) doesn't hold; the "
        "first prompt fails",
        ("releases from 0.5.9 on have a smaller tile for SM12x",),
        "upgrade to SGLang 0.5.9 or later",
    )


RULES = (
    trtllm_mha_on_consumer_blackwell,
    fa3_outside_its_generations,
    trtllm_mla_prefill_on_sm12x,
    gdn_backend_on_blackwell,
    gpt_oss_backend_not_allowed,
    float16_forced_below_sm80,
    dsa_kernels_on_sm12x,
    fa3_with_e5m2_becomes_triton,
    trtllm_mla_refuses_kv_dtype,
    small_tile_on_sm12x,
)
