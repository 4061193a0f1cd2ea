"""llama.cpp and Ollama: slots, the trained length, host memory, and flags that exclude each other.

Sources: ggml-org/llama.cpp tools/server/server-context.cpp and src/llama-context.cpp at 001d906a,
and the issues and pull requests that the records name. Builds are numbers (b9600).
"""

from __future__ import annotations

import re

from kvgate.architecture.model import Architecture
from kvgate.architecture.released import model as released
from kvgate.errors import InputError
from kvgate.plan.model import Plan
from kvgate.rules.facts import between, engine_version, keeps_state, number, text, window_layers
from kvgate.rules.verdict import Finding, Undecided, Verdict
from kvgate.units import GiB, MiB, whole_number

__all__ = ["RULES", "gguf_architecture"]

# GPU memory in GiB below which Ollama's default context is this long (ollama docs/context-length).
_OLLAMA_CONTEXTS, _NEAR = ((24, 4096), (48, 32768)), 0.05
# Ollama keeps up to three models a GPU where nobody says how many (ollama/ollama envconfig).
_OLLAMA_MODELS = 3
_QUANTS = re.compile(
    r"[-._](?:UD[-_])?(?:I?Q[1-8](?:_[A-Z0-9]+)*|TQ[12]_0|MXFP4(?:_MOE)?|BF16|F16|F32|FP16)"
    r"(?:-\d{5}-of-\d{5})?$",
    re.IGNORECASE,
)
# Types that a CUDA build has flash attention for by default, K and V alike (ggml-cuda/fattn.cu).
_PAIRED = ("f16", "bf16", "q8_0", "q4_0", "f32")
_QUANTISED = ("q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "iq4_nl")


def gguf_architecture(plan: Plan) -> Architecture | None:
    """The model of the plan, or the released one that a GGUF file or repository is named after.

    The name is all there is: a file that was edited may hold other figures.
    """
    if plan.arch is not None:
        return plan.arch
    name = plan.deployment.model.replace("\\", "/").rsplit("/", 1)[-1].split(":")[0]
    name = re.sub(r"\.gguf$", "", name, flags=re.IGNORECASE)
    name = re.sub(r"[-_]gguf$", "", _QUANTS.sub("", name), flags=re.IGNORECASE)
    try:
        return released(name) if name else None
    except InputError:
        return None


def context_is_divided_by_slots(plan: Plan) -> Verdict:
    """-c is the context of all slots together, and each slot gets its part."""
    slots = number(plan.get("parallel"))
    if not plan.runs("llama.cpp") or slots is None or slots < 2 or not plan.given("ctx_size"):
        return None
    # Ollama multiplies by the slots before it starts its runner.
    if plan.deployment.launcher == "ollama serve" or plan.get("kv_unified"):
        return None
    if plan.deployment.is_unresolved("ctx_size"):
        return Undecided("the value of --ctx-size")
    total = plan.get("ctx_size")
    known = gguf_architecture(plan)
    if not isinstance(total, int) or total < 0:
        return None
    if total == 0:
        if known is not None and known.max_position_embeddings:
            total = known.max_position_embeddings
            each = f"{total // slots:,} of the {total:,} tokens that the model was trained on"
        else:
            each = f"1/{slots} of the length in the file"
        written = "0 (the file's own length)"
    else:
        each, written = f"{total // slots:,} tokens", f"{total:,}"
    # The larger context takes as many times the cache: only where the GPU is known to hold it, or
    # isn't known at all.
    sizing = plan.sizing
    pool = sizing.pool if sizing is not None else None
    holds = pool is None or (pool.longest or total) >= total
    fix = plan.with_flag("--ctx-size", str(total * slots)) if total and holds else "--kv-unified"
    return Finding(
        f"--ctx-size {written} is divided by --parallel {slots}: a request gets {each}",
        ("an explicit --parallel keeps the slots apart unless --kv-unified is given",),
        fix,
    )


def quantised_values_need_flash_attention(plan: Plan) -> Verdict:
    """A quantised V cache with flash attention off."""
    kind = text(plan.get("cache_type_v"))
    if not plan.runs("llama.cpp") or kind not in _QUANTISED:
        return None
    flash = plan.get("flash_attn")
    if plan.deployment.launcher == "ollama serve":
        return None  # Ollama drops the cache type where flash attention is off
    if flash is None:
        # Before the automatic choice came (August 2025) the default was off.
        if between(plan, fixed="6200") is not True:
            return None
    elif flash is not False:
        return None
    return Finding(
        f"--cache-type-v {kind} needs flash attention, which is off: the context is not created",
        ("without flash attention V is stored transposed, which no quantised block allows",),
        plan.with_flag("--flash-attn", "on"),
    )


def cache_types_without_a_kernel(plan: Plan) -> Verdict:
    """A pair of cache types that a default CUDA build has no flash attention for."""
    kinds = tuple(text(plan.get(f"cache_type_{side}")) or "f16" for side in "kv")
    if not plan.runs("llama.cpp") or plan.deployment.launcher == "ollama serve":
        return None
    if kinds[0] == kinds[1] and kinds[0] in _PAIRED:
        return None
    if plan.get("flash_attn") is False or plan.get("no_kv_offload"):
        return None
    if plan.gpu is None:
        return Undecided("the GPU (--gpu)")
    if plan.gpu.vendor.casefold() != "nvidia":
        return None
    return Finding(
        f"K {kinds[0]} with V {kinds[1]} has no flash attention in a default CUDA build: attention "
        "is computed on the CPU, or the context is refused where V is quantised",
        (
            "without GGML_CUDA_FA_ALL_QUANTS there are kernels for f16, bf16, q8_0 and q4_0 only, "
            "each with itself",
        ),
        plan.with_flag("--cache-type-v", kinds[0] if kinds[0] in _PAIRED else "q8_0"),
    )


def slot_is_capped_to_the_trained_length(plan: Plan) -> Verdict:
    """A slot is cut back to the length in the file, whatever --ctx-size reserves."""
    if not plan.runs("llama.cpp") or plan.deployment.launcher == "llama-cli":
        return None
    total, slots = number(plan.get("ctx_size")), number(plan.get("parallel")) or 1
    if total is None or between(plan, fixed="6700"):
        return None
    if "context_length" in text(plan.get("override_kv")):
        return None
    divided = plan.given("parallel") and not plan.get("kv_unified")
    slot = total // slots if divided else total
    known = gguf_architecture(plan)
    if known is None or not known.max_position_embeddings:
        return Undecided("the context_length in the GGUF file")
    trained = known.max_position_embeddings
    if slot <= trained:
        return None
    lifted = text(plan.get("rope_scaling")) == "yarn" and bool(
        plan.get("rope_scale") or plan.get("rope_freq_scale")
    )
    if lifted:
        # Merged on 2026-08-30, between these two builds.
        if between(plan, first="10754") or engine_version(plan) is None:
            return None
        if not between(plan, fixed="10542"):
            return Undecided("whether this build holds llama.cpp's pull request 28030")
    return Finding(
        f"--ctx-size reserves a cache for {slot:,} tokens a slot, and each slot is cut back to the "
        f"{trained:,} that {known.id} was trained on",
        (
            f"the file's context_length is taken to be {trained:,}, as the model's config has it",
            *(("builds before b10754 cap with YaRN as well",) if lifted else ()),
        ),
        plan.with_flag("--ctx-size", str(trained * (slots if divided else 1))),
    )


def zero_context_is_fitted(plan: Plan) -> Verdict:
    """-c 0 was free to shrink for --fit, down to 4,096 tokens."""
    if not plan.runs("llama.cpp") or plan.get("ctx_size") != 0 or plan.get("fit") is False:
        return None
    if engine_version(plan) is None or between(plan, fixed="7407"):
        return None
    if between(plan, first="7800"):
        return (
            Undecided("whether this build holds llama.cpp's pull request 19070")
            if between(plan, fixed="8000")
            else None
        )
    least = number(plan.get("fit_ctx")) or 4096
    return Finding(
        f"--ctx-size 0 doesn't insist on the model's length in build {engine_version(plan)}: where "
        f"memory is short, --fit shrinks the context down to {least:,} tokens",
        ("later builds keep an explicit 0, and then run out of memory instead",),
        "leave --ctx-size out and give --fit-ctx, or give the number",
    )


def fitted_context_is_divided(plan: Plan) -> Verdict:
    """--fit chose a total of the trained length, which the slots then shared."""
    slots = number(plan.get("parallel"))
    if not plan.runs("llama.cpp") or slots is None or slots < 2 or plan.given("ctx_size"):
        return None
    if plan.deployment.launcher == "ollama serve" or plan.get("kv_unified"):
        return None
    if plan.get("fit") is False or engine_version(plan) is None:
        return None
    if between(plan, fixed="7539") or between(plan, first="10754"):
        return None
    if not between(plan, fixed="10542"):
        return Undecided("whether this build holds llama.cpp's pull request 27496")
    known = gguf_architecture(plan)
    trained = known.max_position_embeddings if known is not None else None
    part = f"{trained // slots:,} of {trained:,} tokens" if trained else f"1/{slots} of its length"
    return Finding(
        f"without --ctx-size, --fit stops at the trained length for all {slots} slots together: "
        f"each gets {part}, though memory may be free",
        ("an explicit --parallel keeps the slots apart",),
        plan.with_flag("--ctx-size", str(trained * slots)) if trained else "--kv-unified",
    )


def ollama_chooses_the_context_by_memory(plan: Plan) -> Verdict:
    """Ollama's context where nobody says one: by the memory of the GPUs, and prompts are cut."""
    if plan.deployment.launcher != "ollama serve" or plan.given("ctx_size") or plan.get("ctx_size"):
        return None
    if plan.gpu is None:
        return Undecided("the GPU (--gpu)")
    memory = plan.gpu.memory_bytes * (plan.deployment.gpu_count or 1) / GiB
    for limit, tokens in _OLLAMA_CONTEXTS:
        if abs(memory - limit) < limit * _NEAR:
            return Undecided(f"whether Ollama counts {memory:.1f} GiB as {limit} GiB or more")
        if memory < limit:
            return Finding(
                f"without OLLAMA_CONTEXT_LENGTH a request gets {tokens:,} tokens on "
                f"{memory:.0f} GiB of {plan.gpu.name}: what is longer is cut, with a warning in "
                "the server's log only",
                ("Ollama takes its default by the memory of the GPUs",),
                "set OLLAMA_CONTEXT_LENGTH, or num_ctx in the request",
            )
    return None


def prompt_cache_fills_host_memory(plan: Plan) -> Verdict:
    """The prompt cache in host memory, 8,192 MiB a server, against the container's limit."""
    limit = plan.deployment.host_memory_bytes
    if not plan.runs("llama.cpp") or plan.deployment.launcher == "llama-cli":
        return None
    if limit is None or between(plan, fixed="6700"):
        return None
    given = plan.get("cache_ram")
    if given == 0:
        return None
    servers, of = 1, ""
    if plan.deployment.launcher == "ollama serve":
        said = plan.deployment.env_value("OLLAMA_MAX_LOADED_MODELS") or ""
        servers = whole_number(said) or _OLLAMA_MODELS
        of = f" for each of {servers} runners"
    if isinstance(given, int) and given < 0:
        return Finding(
            f"--cache-ram {given} sets no limit, and the container has {limit / GiB:.1f} GiB",
            (),
            plan.with_flag("--cache-ram", "2048"),
        )
    each = (given if isinstance(given, int) else 8192) * MiB
    if each * servers < limit:
        return None
    return Finding(
        f"finished prompts are kept in host memory, {each / MiB:,.0f} MiB{of}: "
        f"{each * servers / GiB:.0f} GiB in a container of {limit / GiB:.1f} GiB",
        ("it is filled even when every layer is on the GPU",),
        "LLAMA_ARG_CACHE_RAM=1024 in the environment" if servers > 1 or of
        else plan.with_flag("--cache-ram", "1024"),
    )  # fmt: skip


def checkpoints_outlive_the_prompt_cache(plan: Plan) -> Verdict:
    """--cache-ram 0 leaves the context checkpoints of window and state models on."""
    if not plan.runs("llama.cpp") or plan.get("cache_ram") != 0:
        return None
    if plan.deployment.launcher == "llama-cli":
        return None
    asked = plan.get("ctx_checkpoints")
    if asked == 0:
        return None
    known = gguf_architecture(plan)
    if known is None:
        return Undecided(plan.lacks("model") or "whether the model has window or state layers")
    if not window_layers(known) and not keeps_state(known):
        return None
    most = number(asked) or 32
    return Finding(
        f"--cache-ram 0 turns the prompt cache off, and each slot still keeps up to {most} "
        f"checkpoints of {known.id}'s windows or states",
        ("two mechanisms, two flags",),
        plan.with_flag("--ctx-checkpoints", "0"),
    )


def old_prompt_is_computed_again(plan: Plan) -> Verdict:
    """A window cache that can't go back behind its window."""
    if not plan.runs("llama.cpp") or plan.deployment.launcher == "llama-cli":
        return None
    known = gguf_architecture(plan)
    if known is None or plan.get("swa_full"):
        return None
    windows = window_layers(known)
    if not windows or keeps_state(known):
        return None
    return Finding(
        f"{windows} layers of {known.id} keep their window only: a request that departs from the "
        "cached prompt further back than that is computed from its beginning",
        ("appending to a conversation isn't affected; editing its history is",),
        plan.with_flag("--swa-full", "").rstrip().removesuffix("''").rstrip(),
    )


def host_cache_with_split_tensors(plan: Plan) -> Verdict:
    """--split-mode tensor with the cache on the host."""
    if not plan.runs("llama.cpp") or text(plan.get("split_mode")) != "tensor":
        return None
    if plan.get("kv_offload") is not False:
        return None
    return Finding(
        "--split-mode tensor divides the cache over the GPUs, and --no-kv-offload keeps it on the "
        "host: the graph fails an assertion while it warms up",
        (),
        plan.with_flag("--split-mode", "layer"),
    )


def projector_turns_reuse_off(plan: Plan) -> Verdict:
    """A vision projector with chunk reuse or context shift."""
    if not plan.runs("llama.cpp") or not (plan.get("mmproj") or plan.get("mmproj_url")):
        return None
    off = ["--cache-reuse"] if number(plan.get("cache_reuse")) else []
    off += ["--context-shift"] if plan.get("context_shift") is True else []
    if not off:
        return None
    return Finding(
        f"{' and '.join(off)} is disabled because a projector is loaded, for text as well",
        ("plain reuse of a common beginning stays on",),
        plan.without_flag("--mmproj"),
    )


RULES = (
    context_is_divided_by_slots,
    quantised_values_need_flash_attention,
    cache_types_without_a_kernel,
    slot_is_capped_to_the_trained_length,
    zero_context_is_fitted,
    fitted_context_is_divided,
    ollama_chooses_the_context_by_memory,
    prompt_cache_fills_host_memory,
    checkpoints_outlive_the_prompt_cache,
    old_prompt_is_computed_again,
    host_cache_with_split_tensors,
    projector_turns_reuse_off,
)
