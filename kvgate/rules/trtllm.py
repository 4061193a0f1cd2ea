"""TensorRT-LLM: prompts and prefixes that a setting or a GPU takes away.

Sources: NVIDIA/TensorRT-LLM tensorrt_llm/_torch/pyexecutor/py_executor_creator.py at 000429d5
(main of early 2026) and the issues and pull requests that the records name.
"""

from __future__ import annotations

from kvgate.architecture.layers import MLA, Attention
from kvgate.plan.model import Plan
from kvgate.rules.facts import (
    between,
    engine_version,
    is_latent,
    keeps_state,
    number,
    option,
    smallest_window,
    text,
    truthy,
)
from kvgate.rules.memory import most_tokens
from kvgate.rules.verdict import Finding, Undecided, Verdict

__all__ = ["RULES"]

_GPU = "the GPU (--gpu)"
_GEN = "TRTLLM_ENABLE_TRTLLM_GEN_ATTENTION"


def _hidden(plan: Plan) -> Undecided | None:
    """The file of options, where the command names one that isn't at hand."""
    hidden = [h for h in plan.deployment.hidden if "options" in h or "config" in h or "args" in h]
    return Undecided(f"the file of {hidden[0]}") if hidden else None


def _reuses(plan: Plan) -> bool:
    """Whether prefixes are to be reused; they are unless somebody says no."""
    return option(plan, "kv_cache_config", "enable_block_reuse") is not False


def _chunks(plan: Plan) -> bool:
    asked = (option(plan, "enable_chunked_prefill"), plan.get("enable_chunked_prefill"))
    return any(one is True for one in asked)


def _cache_dtype(plan: Plan) -> str:
    asked = text(option(plan, "kv_cache_config", "dtype"))
    if asked and asked != "auto":
        return asked
    quantization = plan.arch.quantization if plan.arch is not None else None
    return text(quantization.kv_cache) if quantization is not None else ""


def _length(plan: Plan) -> int | None:
    """--max_seq_len, the file's (which goes before it), or the model's own."""
    given = number(option(plan, "max_seq_len")) or number(plan.get("max_seq_len"))
    own = plan.arch.max_position_embeddings if plan.arch is not None else None
    return given or own


def prompt_longer_than_a_step(plan: Plan) -> Verdict:
    """Without chunked prefill a prompt has to fit into one step of max_num_tokens."""
    if not plan.runs("tensorrt-llm") or plan.deployment.role == "decode":
        return None
    if text(plan.get("backend")) in ("tensorrt", "trt") or _chunks(plan):
        return None
    if (open_ := _hidden(plan)) is not None:
        return open_
    step = number(option(plan, "max_num_tokens")) or number(plan.get("max_num_tokens")) or 8192
    length = _length(plan)
    if length is None:
        return Undecided(plan.lacks("model") or "the longest prompt (--max_seq_len)")
    if step >= length - 1:
        return None
    return Finding(
        f"prompts above {step:,} tokens are refused though sequences may have {length:,}: chunked "
        "prefill is off, so that a prompt has to fit into one step",
        (f"max_num_tokens is {step:,}", "chunked prefill is off unless it is asked for"),
        "enable_chunked_prefill: true in the file of --extra_llm_api_options",
    )


def latent_reuse_off_on_this_gpu(plan: Plan) -> Verdict:
    """Reuse and chunks for MLA are switched off outside of a list of GPU generations."""
    if not plan.runs("tensorrt-llm") or plan.arch is None or not is_latent(plan.arch):
        return None
    lost = [
        name
        for name, on in (("enable_block_reuse", _reuses(plan)),
                         ("enable_chunked_prefill", _chunks(plan)))
        if on
    ]  # fmt: skip
    if not lost:
        return _hidden(plan)
    if plan.gpu is None or plan.gpu.sm is None:
        return Undecided(_GPU) if plan.gpu is None else None
    sm = plan.gpu.sm[0] * 10 + plan.gpu.sm[1]
    if sm in (90, 100):
        return None
    if sm in (103, 120, 121):
        late = "1.2" if sm != 121 else "1.4"
        known = between(plan, fixed="1.0")
        if between(plan, first=late):
            return None
        if not known:
            return Undecided(f"whether the list of TensorRT-LLM {engine_version(plan) or ''} "
                             f"has SM{sm}; the log warns where it hasn't")  # fmt: skip
    return Finding(
        f"{' and '.join(lost)} is switched off for latent attention on {plan.gpu.name} (SM{sm}), "
        "with a warning at the start",
        ("the list was SM90 and SM100 first, then SM103 and SM120, then SM121",),
        "look for the warning in the log, and count with whole prompts each time",
    )


def latent_reuse_off_for_fp4(plan: Plan) -> Verdict:
    """Reuse for MLA is switched off with a cache dtype other than fp8."""
    if not plan.runs("tensorrt-llm") or plan.arch is None or not is_latent(plan.arch):
        return None
    dtype = _cache_dtype(plan)
    if not _reuses(plan) or dtype not in ("nvfp4", "fp4", "int8"):
        return _hidden(plan) if not dtype else None
    return Finding(
        f"enable_block_reuse is switched off: the cache of {plan.arch.id} is {dtype}, and latent "
        "attention reuses blocks in 16 bits and fp8 only",
        ("one warning at the start says so",),
        "dtype: fp8 in kv_cache_config",
    )


def fp4_cache_outside_sm10x(plan: Plan) -> Verdict:
    """An NVFP4 cache on a GPU that has no kernel for it."""
    if not plan.runs("tensorrt-llm"):
        return None
    if _cache_dtype(plan) != "nvfp4":
        return None
    if plan.gpu is None:
        return Undecided(_GPU)
    if plan.gpu.sm is None or plan.gpu.sm[0] == 10:
        return None
    return Finding(
        f"the cache is nvfp4, whose kernels TensorRT-LLM has for SM100 and SM103 only; "
        f"{plan.gpu.name} is compute capability {plan.gpu.capability}",
        ("NVFP4 weights are another thing, and run on SM120",),
        "dtype: fp8 in kv_cache_config",
    )


def sinks_outside_their_generations(plan: Plan) -> Verdict:
    """A model with attention sinks on a GPU that this release has no such kernel for."""
    if not plan.runs("tensorrt-llm") or plan.arch is None:
        return None
    if not any(isinstance(g.layer, Attention) and g.layer.sinks for g in plan.arch.groups):
        return None
    if plan.gpu is None:
        return Undecided(_GPU)
    if plan.gpu.sm is None or plan.gpu.sm[0] in (9, 10):
        return None
    if plan.gpu.sm[0] == 12:
        if between(plan, first="1.2"):
            return None
        if not between(plan, fixed="1.1"):
            return Undecided("whether this release holds TensorRT-LLM's pull request 7937")
    elif engine_version(plan) is None or not between(plan, fixed="1.2"):
        return Undecided("which generations this release has sinks for")
    return Finding(
        f"{plan.arch.id} has attention sinks, which TensorRT-LLM {engine_version(plan)} runs on "
        f"SM90 and SM100; {plan.gpu.name} is compute capability {plan.gpu.capability}",
        ("sinks for SM120 and SM121 were merged in October 2025",),
        "TensorRT-LLM 1.2 or later on SM12x, another engine elsewhere",
    )


def trtllm_gen_on_sm12x(plan: Plan) -> Verdict:
    """The variable that asks for trtllm-gen attention, on a GPU without its binaries."""
    if not plan.runs("tensorrt-llm") or not truthy(plan.deployment.env_value(_GEN)):
        return None
    if plan.gpu is None:
        return Undecided(_GPU)
    if plan.gpu.sm is None or plan.gpu.sm[0] == 10:
        return None
    return Finding(
        f"{_GEN} asks for kernels that exist for SM100 and SM103 only; {plan.gpu.name} is compute "
        f"capability {plan.gpu.capability}",
        ("FMHA v2 serves SM12x",),
        f"leave {_GEN} unset",
    )


def host_cache_adds_no_length(plan: Plan) -> Verdict:
    """host_cache_size is set, and the longest sequence doesn't fit on the GPU."""
    host = option(plan, "kv_cache_config", "host_cache_size")
    if not plan.runs("tensorrt-llm") or number(host) is None:
        return None
    fraction = option(plan, "kv_cache_config", "free_gpu_memory_fraction")
    fraction = fraction if isinstance(fraction, float) else plan.get("free_gpu_memory_fraction")
    length = _length(plan)
    if plan.arch is None or plan.gpu is None or length is None:
        return Undecided(plan.lacks("model") or plan.lacks("gpu") or "the model and the GPU")
    dtype = _cache_dtype(plan)
    bound = most_tokens(plan, 1.0, dtype if dtype in ("fp8", "nvfp4") else "auto")
    if bound is None:
        return Undecided("the bytes of the weights")
    share = fraction if isinstance(fraction, float) else 0.9
    tokens = int(bound.tokens * share)
    if tokens >= length:
        return None
    return Finding(
        f"host_cache_size {host / 1e9:.0f} GB doesn't lengthen a sequence: {length:,} tokens need "
        f"to be on the GPU while they are computed, and {tokens:,} fit at most",
        ("host memory holds blocks of requests that wait or may come again",),
        f"max_seq_len: {tokens}, an fp8 cache, or more GPUs",
    )


def state_reuse_left_to_the_release(plan: Plan) -> Verdict:
    """enable_block_reuse isn't said for a model with state layers, whose default meaning moved."""
    if not plan.runs("tensorrt-llm") or plan.arch is None or not keeps_state(plan.arch):
        return None
    if option(plan, "kv_cache_config", "enable_block_reuse") is not None:
        return None
    if (open_ := _hidden(plan)) is not None:
        return open_
    return Finding(
        f"{plan.arch.id} keeps states, and enable_block_reuse isn't set: releases refuse it, "
        "ignore it or reuse at snapshots, each by its own default",
        ("a state can't be cut at a block",),
        "enable_block_reuse: false in kv_cache_config, or true with the release pinned",
    )


def reuse_stops_at_the_window(plan: Plan) -> Verdict:
    """Prefixes longer than the smallest window aren't reused."""
    if not plan.runs("tensorrt-llm") or plan.arch is None or not _reuses(plan):
        return None
    window = smallest_window(plan.arch)
    if window is None or between(plan, first="1.2"):
        return None
    if (open_ := _hidden(plan)) is not None:
        return open_
    if not between(plan, first="0.19", fixed="1.1"):
        if engine_version(plan) is not None and between(plan, fixed="0.19"):
            return None
        return Undecided("whether this release keeps window blocks in line")
    return Finding(
        f"prompts longer than {window:,} tokens, the smallest window of {plan.arch.id}, find no "
        "cached blocks",
        ("the window's blocks are a ring, and the beginning is overwritten",),
        "TensorRT-LLM 1.2 or later; measure cached tokens there as well",
    )


def buffer_smaller_than_the_prompt(plan: Plan) -> Verdict:
    """The transfer buffer of a pair holds fewer tokens than a prompt may have."""
    held = number(option(plan, "cache_transceiver_config", "max_tokens_in_buffer"))
    length = _length(plan)
    if not plan.runs("tensorrt-llm") or held is None:
        return None
    if length is None:
        return Undecided(plan.lacks("model") or "the longest prompt")
    if held >= length - 1:
        return None
    return Finding(
        f"max_tokens_in_buffer is {held:,} and a sequence may have {length:,} tokens: longer "
        "prompts get buffers of their own, which are kept",
        ("GPU memory grows with each of them",),
        f"max_tokens_in_buffer: {length} with a lower free_gpu_memory_fraction",
    )


def pair_without_a_transceiver(plan: Plan) -> Verdict:
    """A worker of a pair whose file says nothing about the transfer."""
    if not plan.runs("tensorrt-llm") or plan.deployment.role not in ("prefill", "decode"):
        return None
    if (open_ := _hidden(plan)) is not None:
        return open_
    if option(plan, "cache_transceiver_config"):
        return None
    return Finding(
        f"this is a {plan.deployment.role} worker, and its options have no "
        "cache_transceiver_config: it has no way to hand its cache over",
        ("a generator of such files left the block out",),
        "cache_transceiver_config: {backend: DEFAULT, max_tokens_in_buffer: N} on both sides",
    )


def batch_size_is_for_each_rank(plan: Plan) -> Verdict:
    """With attention data parallelism max_batch_size counts on each rank."""
    on = option(plan, "enable_attention_dp") is True or plan.get("enable_attention_dp") is True
    batch = number(option(plan, "max_batch_size")) or number(plan.get("max_batch_size"))
    if not plan.runs("tensorrt-llm") or not on or batch is None or plan.tp < 2:
        return None
    return Finding(
        f"max_batch_size {batch:,} counts on each of {plan.tp} attention ranks: up to "
        f"{batch * plan.tp:,} sequences run, and each rank needs the cache of {batch:,}",
        ("each rank has an executor and a pool of its own",),
        f"plan the memory of {batch:,} sequences a rank",
    )


def block_size_is_rewritten(plan: Plan) -> Verdict:
    """FlashMLA sets tokens_per_block to 64, whatever the file says."""
    asked = number(option(plan, "kv_cache_config", "tokens_per_block"))
    if not plan.runs("tensorrt-llm") or asked in (None, 64) or plan.arch is None:
        return None
    latent = [g.layer for g in plan.arch.groups if isinstance(g.layer, MLA)]
    if not latent:
        return None
    if plan.gpu is None:
        return Undecided(_GPU)
    if plan.gpu.sm != (9, 0) or any(layer.head_size != 576 for layer in latent):
        return None
    return Finding(
        f"tokens_per_block {asked} becomes 64: latent attention runs on FlashMLA on "
        f"{plan.gpu.name}, whose block is 64",
        ("one line of information at the start says so",),
        "tokens_per_block: 64, in the router and the peer as well",
    )


RULES = (
    prompt_longer_than_a_step,
    latent_reuse_off_on_this_gpu,
    latent_reuse_off_for_fp4,
    fp4_cache_outside_sm10x,
    sinks_outside_their_generations,
    trtllm_gen_on_sm12x,
    host_cache_adds_no_length,
    state_reuse_left_to_the_release,
    reuse_stops_at_the_window,
    buffer_smaller_than_the_prompt,
    pair_without_a_transceiver,
    batch_size_is_for_each_rank,
    block_size_is_rewritten,
)
