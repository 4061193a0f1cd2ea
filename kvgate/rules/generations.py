"""What a GPU generation has no kernel for: sinks, wide heads, old cards, and how a choice is lost.

Sources: vllm 0.9.2 to 0.33.0, platforms/cuda.py, v1/attention/backends/; each release named here
was read.
"""

from __future__ import annotations

from kvgate.plan.model import Plan
from kvgate.rules.facts import between, major, on_amd
from kvgate.rules.verdict import Finding, Undecided, Verdict
from kvgate.rules.vllm_facts import GPU, has_sinks, named_backend, seen

__all__ = ["RULES", "old_dense_choice"]

_VARIABLE = "VLLM_ATTENTION_BACKEND"


def old_dense_choice(plan: Plan) -> str | None:
    """vLLM 0.10.1 to 0.11.0's backend for plain attention on NVIDIA; None where it isn't known.

    These releases decide by a chain of conditions that asks only for the generation, sinks and an
    fp8 cache (platforms/cuda.py).
    """
    sm = plan.gpu.sm if plan.gpu is not None else None
    if plan.arch is None or sm is None or not between(plan, "0.10.1", "0.11.1"):
        return None
    named = plan.get("attention_backend") or plan.deployment.env_value(_VARIABLE)
    if named:
        return str(named).upper()
    if sm[0] == 10:
        return "FLASHINFER"
    if sm < (8, 0):
        return "FLEX_ATTENTION"
    fp8 = plan.kv_cache_dtype.startswith("fp8") and between(plan, "0.11.0")
    if (has_sinks(plan.arch) or fp8) and sm != (9, 0):
        return "TRITON_ATTN"
    return "FLASH_ATTN"


def sinks_without_backend(plan: Plan) -> Verdict:
    """A model with attention sinks, and a backend that doesn't know them."""
    if not plan.runs("vllm") or plan.arch is None or not has_sinks(plan.arch) or on_amd(plan):
        return None
    preview = "gptoss" in plan.deployment.image.rpartition(":")[2]
    forced = plan.forced_backend or plan.deployment.env_value(_VARIABLE)
    if plan.gpu is None:
        return Undecided(GPU) if forced or preview else None
    card = f"{plan.gpu.name} is compute capability {plan.gpu.capability}"
    if preview and plan.gpu.sm not in ((9, 0), (10, 0), (10, 3)):
        return Finding(
            f"{plan.arch.id} has attention sinks, and the preview build of this image runs them "
            "through FlashAttention 3, which exists on compute capability 9.0 only",
            (card, "released versions fall back to TRITON_ATTN here"),
            "take a released image: vLLM 0.10.2 or later chooses TRITON_ATTN by itself",
        )
    if plan.gates is not None:
        reasons = [r for g in plan.gates.groups if g.error for b in g.backends for r in b.reasons]
        if not any("sink" in reason for reason in reasons):
            return None
        return Finding(
            f"{plan.arch.id} has attention sinks, which {forced or 'no backend here'} "
            f"{'refuses' if forced else 'takes'}: {plan.gates.error}",
            (card,),
            plan.without_flag("--attention-backend"),
        )
    old = old_dense_choice(plan)
    if forced and old == "FLASH_ATTN" and plan.gpu.sm != (9, 0):
        return Finding(
            f"{plan.arch.id} has attention sinks, and FLASH_ATTN, which is forced, has them in "
            "FlashAttention 3 only",
            (card, "FlashAttention 3 exists on compute capability 9.0"),
            f"take {_VARIABLE} away",
        )
    return Undecided(plan.lacks("gates") or "the gates") if forced and old is None else None


def triton_tiles_exceed_shared_memory(plan: Plan) -> Verdict:
    """A Triton kernel wants more shared memory for wide heads than the GPU gives a block."""
    if not plan.runs("vllm") or plan.arch is None or on_amd(plan):
        return None
    wide = max(plan.arch.head_sizes(), default=0)
    if wide <= 256 or any(kind in plan.arch.kinds() for kind in ("mla", "compressed")):
        return None
    if plan.gates is None:
        return Undecided(plan.lacks("gates") or "the gates")
    fails = next((f for f in plan.gates.then_fails if "OutOfResources" in f.text), None)
    if fails is None or plan.gpu is None:
        return None
    when = {"request": "at the first request", "layer": "while the model is built"}
    return Finding(
        f"{fails.backend} wants more shared memory for heads of {wide} than {plan.gpu.name} gives "
        f"a thread block, and fails {when.get(fails.stage, 'while it warms up')}: {fails.text}",
        (
            f"{plan.arch.head_sizes()[wide]} layers of {plan.arch.id} have heads of {wide}",
            "no flag makes the tiles smaller",
        ),
        "another GPU, or a build with vLLM pull request 39018",
    )


def flash_attention_below_sm80(plan: Plan) -> Verdict:
    """FlashAttention is forced on a GPU older than Ampere."""
    if not plan.runs("vllm") or on_amd(plan):
        return None
    forced = plan.forced_backend or plan.deployment.env_value(_VARIABLE) or ""
    if between(plan, first="0.15.0") and plan.forced_backend is None:
        return None
    if not forced.upper().startswith(("FLASH_ATTN", "FLASHMLA")):
        return None
    if plan.gpu is None or plan.gpu.sm is None:
        return Undecided(GPU)
    if plan.gpu.sm >= (8, 0):
        return None
    said = plan.gates.error if plan.gates is not None else None
    return Finding(
        f"{forced.upper()} is forced, and {plan.gpu.name} (compute capability "
        f"{plan.gpu.capability}) is older than its first kernels, those of 8.0"
        + (f": {said}" if said else ""),
        ("TRITON_ATTN and FLEX_ATTENTION are what is left below 8.0",),
        named_backend(plan, "TRITON_ATTN"),
    )


def backend_variable_is_not_read(plan: Plan) -> Verdict:
    """The attention backend is named in the environment, where this release doesn't look."""
    if not plan.runs("vllm") or between(plan, first="0.15.0") is not True:
        return None
    value = plan.deployment.env_value(_VARIABLE)
    if value is None or plan.forced_backend is not None:
        return None
    chosen = plan.gates.selected if plan.gates is not None else None
    if chosen is not None and chosen == value.upper():
        return None
    runs = f"{chosen} will run" if chosen else "the engine will choose by itself"
    return Finding(
        f"{_VARIABLE}={value} is not read by {seen(plan)}; {runs}",
        ("0.14 was the last release that read it",),
        plan.with_flag("--attention-backend", value),
    )


def wide_heads_fall_to_triton(plan: Plan) -> Verdict:
    """Heads wider than 256 run on Triton although nobody asked for it."""
    if not plan.runs("vllm") or plan.arch is None or plan.forced_backend is not None:
        return None
    sizes = plan.arch.head_sizes()
    wide = max(sizes, default=0)
    if wide <= 256 or any(kind in plan.arch.kinds() for kind in ("mla", "compressed")):
        return None
    if plan.gates is None:
        return Undecided(plan.lacks("gates") or "the gates")
    here = [g for g in plan.gates.groups if g.head_size == wide and g.selected == "TRITON_ATTN"]
    if not here or major(plan) is None or plan.gates.then_fails:
        return None
    refused = [
        f"{b.name}: {', '.join(b.reasons)}"
        for b in here[0].backends
        if b.name in ("FLASHINFER", "FLASH_ATTN") and b.reasons
    ]
    return Finding(
        f"the {sizes[wide]} layers of {plan.arch.id} with heads of {wide} run on TRITON_ATTN, "
        "which nobody asked for: the faster backends refuse them",
        (*refused, *plan.gates.notes),
        plan.with_flag("--kv-cache-dtype", "auto") if plan.reads_fp8 else "",
    )


RULES = (
    sinks_without_backend,
    triton_tiles_exceed_shared_memory,
    flash_attention_below_sm80,
    backend_variable_is_not_read,
    wide_heads_fall_to_triton,
)
