"""Which attention backend can run: rules that read the engine's own verdict on each layer."""

from __future__ import annotations

from collections.abc import Mapping

from kvgate.architecture.layers import MLA, CompressedAttention
from kvgate.plan.model import Plan
from kvgate.rules.freeing import freed
from kvgate.rules.verdict import Finding, Undecided, Verdict

__all__ = ["RULES"]

# The engine's reasons that a flag alone can bring about, and the setting behind each.
_BY_FLAG = {
    "block_size not supported": "block_size",
    "kv_cache_dtype not supported": "kv_cache_dtype",
    "dtype not supported": "dtype",
}
# Ways to another backend, the one that changes least first; each is tried before it is advised.
_PLAIN: tuple[Mapping[str, str | None], ...] = tuple(
    {"--kv-cache-dtype": dtype} for dtype in ("bfloat16", "float16", "auto", "fp8")
)
_UNFORCED: tuple[Mapping[str, str | None], ...] = (
    {"--attention-backend": None},
    *({"--attention-backend": None, **way} for way in _PLAIN),
)


def kernel_gate_by_sm_generation(plan: Plan) -> Verdict:
    """A kernel that this GPU generation doesn't have is chosen or forced."""
    if not plan.runs("vllm"):
        return None
    forced = plan.forced_backend
    if plan.gates is None:
        asked = plan.kv_cache_dtype.startswith("fp8") or forced is not None
        return Undecided(plan.lacks("gates") or "the gates") if asked else None
    where = f"{plan.gpu.name} (compute capability {plan.gpu.capability})" if plan.gpu else ""
    fails = next((f.text for f in plan.gates.then_fails if "fp8e4nv" in f.text), "")
    if fails:
        return Finding(
            f"{plan.gates.selected} is chosen for the {plan.kv_cache_dtype} cache, and its "
            f"constructor then refuses it: {fails}",
            (f"the GPU is {where}", "Triton reads fp8 from SM 8.9 on"),
            freed(plan, *_PLAIN),
        )
    error = plan.gates.error or ""
    reasons = ("compute capability not supported", "only supported on Hopper devices")
    if forced and any(reason in error for reason in reasons):
        return Finding(
            f"{forced} is forced, and has no kernel for this GPU: {error}",
            (f"the GPU is {where}",),
            freed(plan, *_UNFORCED),
        )
    return None


def forced_backend_refuses_head_size(plan: Plan) -> Verdict:
    """FlashInfer is forced on a model with a layer that it doesn't take."""
    if not plan.runs("vllm") or plan.forced_backend != "FLASHINFER":
        return None
    if plan.gates is None or plan.arch is None:
        return Undecided(plan.lacks("gates") or "the gates")
    error = plan.gates.error or ""
    sizes = ", ".join(f"{n} layers of {s}" for s, n in plan.arch.head_sizes().items())
    fix = freed(plan, *_UNFORCED)
    if "head_size not supported" in error:
        return Finding(
            f"FLASHINFER doesn't take every head of {plan.arch.id} in {plan.release}: {error}",
            (f"its head sizes are {sizes}",),
            fix,
        )
    if "partial multimodal" in error and max(plan.arch.head_sizes(), default=0) > 256:
        return Finding(
            f"FLASHINFER refuses the image attention of {plan.arch.id}: {error}",
            (f"its head sizes are {sizes}", *_text_only(plan)),
            fix,
        )
    return None


def _text_only(plan: Plan) -> tuple[str, ...]:
    # vLLM 0.27.1 is the first release read whose selector asks whether images are served at all.
    return ("serving text only lifts this reason",) if plan.since("0.27.1") else ()


def no_valid_attention_backend(plan: Plan) -> Verdict:
    """No backend takes this combination of head size, cache dtype and GPU."""
    if not plan.runs("vllm") or (plan.arch is not None and _latent(plan)):
        return None
    if plan.gates is None:
        return _open(plan)
    error = plan.gates.error or ""
    if "No valid attention backend" not in error:
        return None
    return Finding(
        f"no attention backend of {plan.release} takes this: {error}",
        tuple(
            f"head size {group.head_size}: {backend.name} says {', '.join(backend.reasons)}"
            for group in plan.gates.groups
            for backend in group.backends
            if not backend.valid
        ),
        _without_the_cause(plan),
    )


def _without_the_cause(plan: Plan) -> str:
    """The command without the flags that keep the nearest backend away; "" where none does."""
    refused = [
        tuple(dict.fromkeys(backend.reasons))
        for group in plan.gates.groups
        if not any(backend.valid for backend in group.backends)
        for backend in group.backends
    ] if plan.gates is not None else []  # fmt: skip
    given = {r: name for r, name in _BY_FLAG.items() if plan.given(name)}
    healed = [reasons for reasons in refused if reasons and all(r in given for r in reasons)]
    if not healed:
        return ""
    names = [given[reason] for reason in min(healed, key=len)]
    return plan.with_flags({f"--{name.replace('_', '-')}": None for name in names})


def mla_backend_missing(plan: Plan) -> Verdict:
    """A model with latent attention finds no backend on this GPU."""
    if not plan.runs("vllm") or plan.arch is None or not _latent(plan):
        return None
    if plan.gates is None:
        return _open(plan)
    error = plan.gates.error or ""
    if not error:
        return None
    sparse = any(isinstance(g.layer, MLA) and g.layer.sparse for g in plan.arch.groups)
    kind = "sparse MLA" if sparse else "MLA"
    return Finding(
        f"{plan.arch.id} has {kind}, which finds no backend here: {error}",
        (f"the GPU is {plan.gpu.name} ({plan.gpu.capability})",) if plan.gpu else (),
        freed(plan, *_UNFORCED, {"--kv-cache-dtype": "auto"}, *_PLAIN),
    )


def _latent(plan: Plan) -> bool:
    groups = plan.arch.groups if plan.arch else ()
    return any(isinstance(g.layer, MLA | CompressedAttention) for g in groups)


def _open(plan: Plan) -> Undecided | None:
    """Open only where the cache dtype is one that some GPU refuses."""
    plain = plan.kv_cache_dtype in ("auto", "bfloat16", "float16")
    if plain and not (plan.arch is not None and _latent(plan)):
        return None
    return Undecided(plan.lacks("gates") or "the gates")


RULES = (
    kernel_gate_by_sm_generation,
    forced_backend_refuses_head_size,
    no_valid_attention_backend,
    mla_backend_missing,
)
