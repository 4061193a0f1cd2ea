"""SGLang: pools smaller than what was promised, and host memory counted twice.

Sources: sglang 0.5.9 to 0.5.23, srt/managers/tp_worker.py, srt/model_executor/model_runner.py,
srt/mem_cache/; each release's code was read.
"""

from __future__ import annotations

from kvgate.kvcache.reserve import visible_bytes
from kvgate.kvcache.sglang_cells import has_swa_pool
from kvgate.kvcache.sglang_options import chunked_prefill_default
from kvgate.plan.model import Plan
from kvgate.rules.facts import (
    between,
    engine_version,
    is_latent,
    keeps_state,
    number,
    on_amd,
    smallest_window,
    state_strategy,
    text,
    truthy,
    window_layers,
)
from kvgate.rules.memory import most_tokens
from kvgate.rules.verdict import Finding, Undecided, Verdict
from kvgate.units import GiB, format_bytes

__all__ = ["RULES"]

# Families without a hook of their own, for which AMD's automatic choice is known to be aiter.
_AITER_BY_DEFAULT = ("llama", "mistral", "mixtral", "qwen2", "qwen3", "glm4", "deepseek", "kimi")


def context_longer_than_the_pool(plan: Plan) -> Verdict:
    """The context length that is promised is longer than what the pool of one rank holds."""
    if not plan.runs("sglang"):
        return None
    length = number(plan.get("context_length"))
    if length is None:
        # Nobody promised more than the model's own; what that needs is said by the size.
        return None
    if plan.arch is None or plan.gpu is None:
        return Undecided(plan.lacks("model") or plan.lacks("gpu") or "the model and the GPU")
    pool = plan.sizing.pool if plan.sizing is not None else None
    if pool is not None and pool.refusal is not None:
        return Finding(
            f"--context-length {length:,} is promised, and no pool is left. SGLang says: "
            f"{pool.refusal}",
            ("the weights and the fraction of memory decide this before any length does",),
            "more GPUs, weights of fewer bits, or a higher --mem-fraction-static",
        )
    if pool is not None and pool.tokens is not None:
        if pool.longest is None or length <= pool.longest:
            return None
        return _too_long(plan, length, f"the pool holds about {pool.tokens:,} tokens")
    fraction = plan.get("mem_fraction_static")
    bound = most_tokens(plan, fraction if isinstance(fraction, float) else 0.95)
    if bound is None:
        return Undecided(plan.lacks("size") or "the size of the pool")
    if bound.tokens >= length:
        # The bound is generous: the pool itself may still be smaller.
        return Undecided(plan.lacks("size") or "the size of the pool")
    if not bound.tokens:
        return Finding(
            f"--context-length {length:,} is promised, and no pool is left: the weights take "
            f"{format_bytes(bound.weights)} a GPU of the {format_bytes(bound.share)} that they and "
            "the cache may take",
            ("the figure leaves out activations and graphs, which take more",),
            "more GPUs, or weights of fewer bits",
        )
    return _too_long(plan, length, f"the pool holds {bound.tokens:,} tokens at most")


def _too_long(plan: Plan, length: int, why: str) -> Finding:
    return Finding(
        f"SGLang starts with --context-length {length:,} and refuses requests that long: {why}",
        (
            "the limit of a request is the smaller of the two, less 6 tokens",
            "compare max_total_num_tokens with context_len in the log",
        ),
        "lower --context-length to what max_total_num_tokens says, use more GPUs, or an fp8 cache",
    )


def pair_promises_more_than_its_pool(plan: Plan) -> Verdict:
    """A server of a pair promises a context that its pool doesn't hold: aborted, then answered."""
    if text(plan.get("disaggregation_mode")) not in ("prefill", "decode"):
        return None
    if between(plan, fixed="0.5.12") is not True:
        return None
    found = context_longer_than_the_pool(plan)
    if not isinstance(found, Finding):
        return found
    return Finding(
        f"a prompt between the pool and the promised length is aborted on the "
        f"{plan.get('disaggregation_mode')} side, and the pair may answer it all the same: "
        f"{found.message}",
        found.because,
        found.fix,
    )


def mem_fraction_below_the_weights(plan: Plan) -> Verdict:
    """--mem-fraction-static is given, and the weights alone take that share of the memory."""
    fraction = plan.get("mem_fraction_static")
    if not plan.runs("sglang") or not isinstance(fraction, float) or not 0 < fraction <= 1:
        return None
    if plan.arch is None or plan.gpu is None:
        return Undecided(plan.lacks("model") or plan.lacks("gpu") or "the model and the GPU")
    bound = most_tokens(plan, fraction)
    if bound is None:
        return Undecided(plan.lacks("size") or "the bytes of the weights")
    whole = visible_bytes(plan.gpu)
    if bound.weights < bound.share or bound.weights >= 0.97 * whole:
        return None
    least = bound.weights / whole
    return Finding(
        f"--mem-fraction-static {fraction} is {format_bytes(bound.share)} of {plan.gpu.name}, and "
        f"the weights take {format_bytes(bound.weights)}: nothing is left for the cache",
        (f"the weights alone are {least:.3f} of the memory; the flag covers them and the cache",),
        plan.with_flag("--mem-fraction-static", f"{min(least + 0.03, 0.99):.2f}"),
    )


def window_pool_caps_input(plan: Plan) -> Verdict:
    """A request's limit is the window pool, which is smaller than the full one."""
    if not plan.runs("sglang") or plan.arch is None or not has_swa_pool(plan.arch):
        return None
    if plan.get("disable_hybrid_swa_memory") or not between(plan, fixed="0.5.13"):
        return None
    # Since 0.5.11 only a prefill server of a pair compares with the window pool.
    paired = text(plan.get("disaggregation_mode")) == "prefill"
    if between(plan, first="0.5.11") and not paired:
        return None
    pool = plan.sizing.pool if plan.sizing is not None else None
    if pool is not None and pool.refusal is not None:
        return None  # it doesn't start
    swa = number(dict(pool.extra).get("swa_tokens")) if pool is not None else None
    if pool is None or swa is None or pool.tokens is None or plan.max_model_len is None:
        return Undecided(plan.lacks("size") or plan.lacks("gpu") or "the sizes of the pools")
    if swa >= min(pool.tokens, plan.max_model_len):
        return None
    return Finding(
        f"SGLang {engine_version(plan)} refuses prompts longer than the window pool of about "
        f"{swa:,} tokens, though the full pool holds {pool.tokens:,} and the context is "
        f"{plan.max_model_len:,}",
        ("the window layers need no more than their window of a prompt",),
        plan.with_flag("--swa-full-tokens-ratio", "1.0"),
    )


def window_layers_without_a_pool(plan: Plan) -> Verdict:
    """Window layers of a family that SGLang gives no window pool keep every token."""
    if not plan.runs("sglang") or plan.arch is None:
        return None
    windows, window = window_layers(plan.arch), smallest_window(plan.arch)
    if not windows or window is None or has_swa_pool(plan.arch):
        return None
    length = plan.max_model_len
    if length is None or length <= window:
        return None
    layers = sum(plan.arch.kinds().values())
    return Finding(
        f"{windows} of the {layers} layers of {plan.arch.id} look back {window:,} tokens, and "
        f"SGLang keeps all {length:,} of them: its window pool is for listed architectures only",
        ("the answers are the same; the pool holds fewer tokens than the layers need",),
        "vLLM or llama.cpp keep the window only; or count with full layers",
    )


def state_slots_cap_requests(plan: Plan) -> Verdict:
    """State slots are fewer than the requests that are wanted need."""
    if not plan.runs("sglang") or plan.arch is None or not keeps_state(plan.arch):
        return None
    wanted = number(plan.get("max_running_requests"))
    slots = number(plan.get("max_mamba_cache_size"))
    if wanted is None:
        return None
    each = _slots_per_request(plan)
    if slots is not None:
        limit, why = slots // each, f"{slots} state slots, {each} for each request"
    else:
        pool = plan.sizing.pool if plan.sizing is not None else None
        extra = dict(pool.extra) if pool is not None else {}
        held = number(extra.get("state_slots"))
        if held is None:
            return Undecided(plan.lacks("size") or plan.lacks("gpu") or "how many slots fit")
        limit, why = held // each, f"about {held} state slots fit, {each} for each request"
    if limit >= wanted:
        return None
    return Finding(
        f"{limit} requests run at once, not {wanted}: {why}",
        ("the token pool has nothing to do with it",),
        plan.with_flag("--max-mamba-cache-size", str(wanted * each)),
    )


def _slots_per_request(plan: Plan) -> int:
    """State slots a request takes (sglang 0.5.23 srt/mem_cache/kv_cache_configurator.py)."""
    if plan.get("disable_radix_cache"):
        return 1
    strategy = state_strategy(plan)
    if strategy == "auto":
        plain = between(plan, fixed="0.5.14") or plan.get("disable_overlap_schedule")
        strategy = "no_buffer" if plain else "extra_buffer"
    if strategy == "extra_buffer":
        return 4 if plan.get("disable_overlap_schedule") else 5
    return 4 if strategy == "extra_buffer_lazy" else 3


def hierarchical_cache_refuses_pools(plan: Plan) -> Verdict:
    """The first host cache knew one kind of pool; window and state pools weren't it."""
    if not plan.runs("sglang") or not plan.get("enable_hierarchical_cache") or plan.arch is None:
        return None
    if not between(plan, fixed="0.5.13") or plan.get("disable_radix_cache"):
        return None
    windows = has_swa_pool(plan.arch) and not plan.get("disable_hybrid_swa_memory")
    # These two lose their window pool beside the host cache, and start.
    windows = windows and not plan.arch.model_type.startswith(("mimo", "step3"))
    states = keeps_state(plan.arch) and bool(between(plan, fixed="0.5.10"))
    unified = truthy(plan.deployment.env_value("SGLANG_ENABLE_UNIFIED_RADIX_TREE"))
    if not windows and not states:
        return None
    if unified and between(plan, first="0.5.12"):
        return None
    kind = "a window pool" if windows else "a state pool"
    return Finding(
        f"{plan.arch.id} has {kind} beside the full one, and the host cache of SGLang "
        f"{engine_version(plan)} takes one kind of pool: the scheduler dies once the weights are "
        "loaded",
        ("0.5.13 brings another tree for such models by itself",),
        plan.without_flag("--enable-hierarchical-cache"),
    )


def hierarchical_size_counted_twice(plan: Plan) -> Verdict:
    """--hicache-size is taken once for each host pool of a hybrid model."""
    size = plan.get("hicache_size")
    if not plan.runs("sglang") or plan.arch is None or not isinstance(size, int | float):
        return None
    if size <= 0 or not plan.get("enable_hierarchical_cache"):
        return None
    if not between(plan, first="0.5.10", fixed="0.5.17"):
        return None
    kinds = ["keys and values"]
    kinds += ["states"] if keeps_state(plan.arch) else []
    kinds += ["windows"] if has_swa_pool(plan.arch) and between(plan, first="0.5.13") else []
    if len(kinds) == 1:
        return None
    need = size * 1e9 * len(kinds) * plan.tp
    limit = plan.deployment.host_memory_bytes
    beyond = limit is not None and need > limit
    return Finding(
        f"--hicache-size {size:g} is taken by each of {len(kinds)} host pools ({', '.join(kinds)}) "
        f"on each of {plan.tp} ranks: {need / GiB:.0f} GiB in all"
        + (f", and the container has {limit / GiB:.0f}" if beyond and limit else ""),
        ("from 0.5.17 on the figure is one budget, divided by the pools' bytes",),
        plan.with_flag("--hicache-size", str(int(size // len(kinds)))),
    )


def hierarchical_cache_turns_window_pool_off(plan: Plan) -> Verdict:
    """The host cache makes the window layers of some models keep every token."""
    if not plan.runs("sglang") or not plan.get("enable_hierarchical_cache") or plan.arch is None:
        return None
    kind = plan.arch.model_type
    step = kind.startswith("step3")
    mimo = kind.startswith("mimo_v2") and between(plan, fixed="0.5.14")
    if not step and not mimo:
        return None
    return Finding(
        f"--enable-hierarchical-cache turns the window pool of {plan.arch.id} off: "
        f"{window_layers(plan.arch)} window layers keep every token",
        ("max_total_num_tokens on the GPU falls, whatever the host adds",),
        "compare max_total_num_tokens with and without the host cache",
    )


def aiter_takes_a_share_of_memory(plan: Plan) -> Verdict:
    """The aiter backend multiplies the memory fraction by 0.85 above 8,192 tokens of context."""
    if not plan.runs("sglang"):
        return None
    asked = text(plan.get("attention_backend"))
    if asked != "aiter" and (asked or not on_amd(plan)):
        return None
    if plan.max_model_len is None:
        length = number(plan.get("context_length"))
        if length is None:
            return Undecided(plan.lacks("model") or "the context length")
    else:
        length = plan.max_model_len
    if length <= 8192:
        return None
    if not asked:
        # Latent attention takes aiter by itself with 16 or 128 heads a rank only.
        if plan.arch is None:
            return Undecided(plan.lacks("model") or "the model")
        if is_latent(plan.arch) and plan.arch.query_heads // plan.tp not in (16, 128):
            return None
        if not plan.arch.model_type.startswith(_AITER_BY_DEFAULT):
            return Undecided("which backend SGLang takes for this model on AMD")
    given = plan.get("mem_fraction_static")
    honoured = truthy(plan.deployment.env_value("SGLANG_AITER_HONOR_EXPLICIT_MEM_FRACTION"))
    if honoured and given is not None and between(plan, first="0.5.19"):
        return None
    what = f"{given} becomes {given * 0.85:.3f}" if isinstance(given, float) else "15 % less"
    return Finding(
        f"with aiter and a context of {length:,} tokens SGLang multiplies --mem-fraction-static by "
        f"0.85 ({what}), without a word in the log",
        ("up to 8,192 tokens it leaves the fraction alone",),
        "read mem_fraction_static in the final server_args, and ask for more where weights allow",
    )


def sequence_bounded_by_one_rank(plan: Plan) -> Verdict:
    """Decode context parallelism divides a sequence, but the limit compared it with one rank."""
    ranks = number(plan.get("dcp_size")) or number(plan.get("decode_context_parallel_size"))
    if not plan.runs("sglang") or ranks is None or ranks < 2:
        return None
    if not between(plan, fixed="0.5.17"):
        return None
    return Finding(
        f"a sequence is divided over {ranks} ranks, and SGLang {engine_version(plan)} still "
        "refuses what is longer than one rank's pool",
        ("from 0.5.17 on the limit counts all ranks",),
        "upgrade to SGLang 0.5.17 or later",
    )


def attention_dp_divides_the_chunk(plan: Plan) -> Verdict:
    """With attention data parallelism the prefill chunk is divided by the number of ranks."""
    ranks = number(plan.get("dp_size"))
    if not plan.runs("sglang") or not plan.get("enable_dp_attention") or not ranks or ranks < 2:
        return None
    chunk = plan.get("chunked_prefill_size")
    if not isinstance(chunk, int):
        if plan.gpu is None:
            return Undecided("the GPU (--gpu), by whose memory the chunk is chosen")
        chunk = chunked_prefill_default(plan.gpu.memory_mib)
    if chunk <= 0:
        return None
    each = chunk // ranks
    length = plan.max_model_len or 131072
    return Finding(
        f"--chunked-prefill-size {chunk:,} becomes {each:,} with {ranks} attention ranks: a prompt "
        f"of {length:,} tokens takes {-(-length // each):,} steps, not {-(-length // chunk):,}",
        ("each rank has a pool of its own, and one request lives in one of them",),
        plan.with_flag("--chunked-prefill-size", str(chunk * ranks)),
    )


RULES = (
    context_longer_than_the_pool,
    pair_promises_more_than_its_pool,
    mem_fraction_below_the_weights,
    window_pool_caps_input,
    window_layers_without_a_pool,
    state_slots_cap_requests,
    hierarchical_cache_refuses_pools,
    hierarchical_size_counted_twice,
    hierarchical_cache_turns_window_pool_off,
    aiter_takes_a_share_of_memory,
    sequence_bounded_by_one_rank,
    attention_dp_divides_the_chunk,
)
