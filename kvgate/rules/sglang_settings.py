"""SGLang: lengths, flags that went, and settings that one another rewrite.

Sources: sglang 0.4.3 to 0.5.23, srt/configs/model_config.py, srt/server_args.py, srt/arg_groups/.
"""

from __future__ import annotations

from kvgate.kvcache.length import derived_length
from kvgate.kvcache.request import NEWEST
from kvgate.plan.model import Plan
from kvgate.rules.facts import (
    between,
    engine_version,
    keeps_state,
    major,
    number,
    on_amd,
    state_strategy,
    text,
    truthy,
)
from kvgate.rules.verdict import Finding, Undecided, Verdict

__all__ = ["RULES"]

_VARIABLE = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
_ORIGINAL = "original_max_position_embeddings"
# Models whose config.json has dual_chunk_attention_config.
_DUAL_CHUNK = ("qwen2.5-7b-instruct-1m", "qwen2.5-14b-instruct-1m")


def context_length_above_the_derived(plan: Plan) -> Verdict:
    """--context-length is above what SGLang derives from the config, without its variable."""
    length = number(plan.get("context_length"))
    if not plan.runs("sglang") or length is None:
        return None
    if truthy(plan.deployment.env_value(_VARIABLE)):
        return None
    # From about 0.4.4 to 0.5.0 the variable was on by default.
    lenient = between(plan, first="0.4.4", fixed="0.5.1")
    if lenient:
        return None
    derived = _derived_length(plan)
    if derived is None:
        return Undecided(plan.lacks("model") or "the model's max_position_embeddings")
    if length <= derived:
        return None
    wrong = [n for n in plan.deployment.env if n.endswith("ALLOW_LONG_MAX_MODEL_LEN")]
    return Finding(
        f"--context-length {length:,} is above the {derived:,} that SGLang {engine_version(plan)} "
        "derives from the model's config: it stops",
        (
            *(f"{name} is not read by SGLang" for name in wrong),
            "the variable lifts the check and changes nothing about positions",
        ),
        f"{_VARIABLE}=1 with the model's YaRN settings in --json-model-override-args, "
        f"or --context-length {derived}",
    )


def _derived_length(plan: Plan) -> int | None:
    """What SGLang derives from the config, with an override's RoPE block in place of its own."""
    if plan.arch is None:
        return None
    override = plan.get("json_model_override_args")
    rope = override.get("rope_scaling") if isinstance(override, dict) else None
    version = engine_version(plan) or NEWEST["sglang"]
    return derived_length(
        plan.arch, engine="sglang", version=version, rope=rope if isinstance(rope, dict) else None
    )


def yarn_override_without_a_length(plan: Plan) -> Verdict:
    """YaRN is switched on by an override, and the limit stays at the config's own length."""
    override = plan.get("json_model_override_args")
    if not plan.runs("sglang") or not isinstance(override, dict):
        return None
    inner = override.get("text_config")
    sources = [override, inner] if isinstance(inner, dict) else [override]
    ropes = [s[k] for s in sources for k in ("rope_scaling", "rope_parameters") if k in s]
    rope = next((r for r in ropes if isinstance(r, dict)), None)
    if rope is None or _ORIGINAL not in rope:
        return None
    if "yarn" not in str(rope.get("rope_type") or rope.get("type")):
        return None
    factor, original = rope.get("factor"), rope[_ORIGINAL]
    if not isinstance(factor, int | float) or factor <= 1 or not isinstance(original, int):
        return None
    if plan.given("context_length") or any("max_position_embeddings" in s for s in sources):
        return None
    reached = int(factor * original)
    own = plan.arch.max_position_embeddings if plan.arch is not None else None
    if own is not None and own >= reached:
        return None
    stays = f"{own:,}" if own is not None else "the model's own max_position_embeddings"
    return Finding(
        f"YaRN by {factor:g} reaches {reached:,} positions, and SGLang's limit stays at {stays}: "
        f"it doesn't multiply where the override holds {_ORIGINAL}",
        ("longer requests are refused, shorter ones run with stretched positions all the same",),
        plan.with_flag("--context-length", str(reached)),
    )


def decode_prefix_cache_with_speculation(plan: Plan) -> Verdict:
    """A decode server of a pair is to reuse prefixes and to speculate."""
    if not plan.runs("sglang") or text(plan.get("disaggregation_mode")) != "decode":
        return None
    algorithm = plan.get("speculative_algorithm")
    if not plan.get("disaggregation_decode_enable_radix_cache") or not algorithm:
        return None
    if not between(plan, first="0.5.11"):
        return None
    allowed = {"DSPARK"} if between(plan, first="0.5.21") else set()
    if between(plan, first="0.5.23"):
        allowed |= {"EAGLE", "EAGLE3", "NEXTN"}  # NEXTN is an older name of EAGLE
    if str(algorithm).upper() in allowed:
        return None
    return Finding(
        f"--disaggregation-decode-enable-radix-cache and --speculative-algorithm {algorithm} "
        f"exclude each other in SGLang {engine_version(plan)}",
        ("the draft's keys have no place in the decode side's prefix cache",),
        plan.without_flag("--disaggregation-decode-enable-radix-cache"),
    )


def dual_chunk_without_prefix_cache(plan: Plan) -> Verdict:
    """Dual chunk attention, which has no prefix cache and since 0.5.20 no backend."""
    if not plan.runs("sglang"):
        return None
    name = plan.deployment.model.casefold().rsplit("/", 1)[-1]
    asked = text(plan.get("attention_backend"))
    if name not in _DUAL_CHUNK and asked != "dual_chunk_flash_attn":
        return None
    if between(plan, first="0.5.20"):
        return Finding(
            f"SGLang {engine_version(plan)} has no dual_chunk_flash_attn backend any more, which "
            f"the config of {plan.deployment.model} asks for",
            ("0.5.19 is the last release with it",),
            "remove dual_chunk_attention_config and stay inside the trained length",
        )
    return Finding(
        "dual chunk attention turns the prefix cache and mixed chunks off: a long prompt that "
        "requests share is computed each time",
        ("the key dual_chunk_attention_config of the config chooses the backend",),
        "remove the key where reuse matters more than the length",
    )


def fp4_name_is_gone(plan: Plan) -> Verdict:
    """--kv-cache-dtype fp4_e2m1, which 0.5.20 doesn't take any more."""
    if not plan.runs("sglang") or not between(plan, first="0.5.20"):
        return None
    last = plan.deployment.last("kv_cache_dtype")
    if last is None or last.text.strip().casefold() != "fp4_e2m1":
        return None
    return Finding(
        f"fp4_e2m1 is no cache dtype of SGLang {engine_version(plan)}: what it meant is called "
        "fp4_mx_block16 now, and nvfp4 is another format",
        ("the parser refuses it at once",),
        plan.with_flag("--kv-cache-dtype", "fp4_mx_block16"),
    )


def nsa_flags_are_gone(plan: Plan) -> Verdict:
    """--nsa-... of early recipes, which 0.5.20 doesn't take any more."""
    written = [g.written for g in plan.deployment.given if g.written.startswith("--nsa-")]
    if not plan.runs("sglang") or not written or not between(plan, first="0.5.20"):
        return None
    renamed = [flag.replace("--nsa-", "--dsa-", 1) for flag in written]
    return Finding(
        f"{', '.join(written)} is unknown to SGLang {engine_version(plan)}: NSA became DSA, and "
        "the old names went in 0.5.20",
        ("environment variables of the old name are still read",),
        ", ".join(renamed),
    )


def mamba_strategy_flag_is_gone(plan: Plan) -> Verdict:
    """--mamba-scheduler-strategy, which 0.5.20 doesn't take any more."""
    given = plan.deployment.written("--mamba-scheduler-strategy")
    if not plan.runs("sglang") or given is None or not between(plan, first="0.5.20"):
        return None
    return Finding(
        f"--mamba-scheduler-strategy is unknown to SGLang {engine_version(plan)}; leaving it out "
        "changes the strategy, and with it how many requests fit",
        ("since 0.5.14 the default is extra_buffer while overlap scheduling is on",),
        f"--mamba-radix-cache-strategy {given.text}".rstrip(),
    )


def hybrid_without_extra_buffer(plan: Plan) -> Verdict:
    """Up to 0.5.13 a hybrid with prefix caching lost the overlap scheduler by default."""
    if not plan.runs("sglang") or plan.arch is None or not keeps_state(plan.arch):
        return None
    if plan.get("disable_radix_cache") or not between(plan, first="0.5.6", fixed="0.5.14"):
        return None
    strategy = state_strategy(plan)
    if strategy not in ("auto", "no_buffer"):
        return None
    return Finding(
        f"{plan.arch.id} keeps states, and SGLang {engine_version(plan)} takes no_buffer for them: "
        "the overlap scheduler is off while the prefix cache is on",
        ("0.5.14 and later take extra_buffer by default",),
        plan.with_flag("--mamba-scheduler-strategy", "extra_buffer"),
    )


def page_size_against_state_chunk(plan: Plan) -> Verdict:
    """A page size that the state cache's strategy doesn't take."""
    page = number(plan.get("page_size"))
    if not plan.runs("sglang") or plan.arch is None or page is None or page == 1:
        return None
    if not keeps_state(plan.arch) or plan.get("disable_radix_cache"):
        return None
    if not between(plan, first="0.5.11"):
        return None
    every = number(plan.get("mamba_track_interval")) or 256
    strategy = state_strategy(plan)
    if strategy == "no_buffer":
        why = "no_buffer takes a page of 1 only"
    elif max(64, page) % min(64, page):
        why = f"{page} neither divides 64 nor is a multiple of it"
    elif every % page:
        why = f"states are kept every {every} tokens, which {page} doesn't divide"
    else:
        return None
    if plan.outcome is not None and plan.outcome.page_size not in (None, page):
        return None  # the backend replaced it before anybody asked
    return Finding(
        f"--page-size {page} stops SGLang {engine_version(plan)} for {plan.arch.id}: {why}",
        ("the linear layers' state is cached in chunks of 64 tokens",),
        plan.with_flag("--page-size", "64") if strategy != "no_buffer"
        else plan.without_flag("--page-size"),
    )  # fmt: skip


def page_size_is_rewritten(plan: Plan) -> Verdict:
    """The page size that was asked for isn't the one that will run."""
    page = number(plan.get("page_size"))
    if not plan.runs("sglang") or page is None or on_amd(plan):
        return None
    if plan.outcome is None:
        return Undecided(plan.lacks("gates") or "the backend that will run")
    if plan.outcome.page_size in (None, page):
        return None
    became = plan.outcome.page_size
    said = any(n.setting == "page_size" and not n.said for n in plan.outcome.notes)
    return Finding(
        f"--page-size {page} becomes {became}, as {plan.outcome.selected} asks for it"
        + (", without a word in the log" if said else ""),
        ("routers, host caches and the peer of a pair have to be told the page that runs",),
        plan.with_flag("--page-size", str(became)),
    )


def host_cache_moves_decode_from_fa3(plan: Plan) -> Verdict:
    """Up to 0.5.13 the host cache moved decode away from fa3, or changed how it copies."""
    if not plan.runs("sglang") or not plan.get("enable_hierarchical_cache"):
        return None
    if not between(plan, fixed="0.5.14"):
        return None
    if (text(plan.get("hicache_io_backend")) or "kernel") != "kernel" or on_amd(plan):
        return None
    decode, base = text(plan.get("decode_attention_backend")), text(plan.get("attention_backend"))
    if decode == "fa3":
        return Finding(
            "decode with fa3 can't read the host cache's kernel copies: --hicache-io-backend "
            "becomes direct, which is slower for small pages",
            ("one warning in the log says so",),
            "--hicache-io-backend direct with --page-size 64, or another decode backend",
        )
    if decode or (base and base != "fa3"):
        return None
    generation = major(plan)
    if not base:
        if generation is None:
            return Undecided("the GPU (--gpu)")
        if generation != 9:
            return None
    return Finding(
        "decode moves from fa3 to flashinfer or triton because of the host cache, without a word "
        "in the log",
        ("prefill stays with fa3",),
        "--decode-attention-backend flashinfer, so that it is said",
    )


def host_cache_layout_is_rewritten(plan: Plan) -> Verdict:
    """Mooncake's store doesn't keep the default layout of the host cache."""
    if not plan.runs("sglang") or text(plan.get("hicache_storage_backend")) != "mooncake":
        return None
    layout = text(plan.get("hicache_mem_layout")) or "layer_first"
    if not plan.get("enable_hierarchical_cache") or layout != "layer_first":
        return None
    if (number(plan.get("dcp_size")) or 1) > 1 and between(plan, first="0.5.20"):
        return None
    direct = text(plan.get("hicache_io_backend")) == "direct"
    became = "page_first_direct" if direct else "page_first"
    return Finding(
        f"the store of Mooncake doesn't take layer_first: the layout becomes {became}, by the I/O "
        "backend of this node",
        ("nodes with different I/O backends write different layouts into one store",),
        f"--hicache-mem-layout {became} --hicache-io-backend "
        f"{'direct' if direct else 'kernel'} on every node",
    )


RULES = (
    context_length_above_the_derived,
    yarn_override_without_a_length,
    decode_prefix_cache_with_speculation,
    dual_chunk_without_prefix_cache,
    fp4_name_is_gone,
    nsa_flags_are_gone,
    mamba_strategy_flag_is_gone,
    hybrid_without_extra_buffer,
    page_size_against_state_chunk,
    page_size_is_rewritten,
    host_cache_moves_decode_from_fa3,
    host_cache_layout_is_rewritten,
)
