"""Models of several kinds of layers in vLLM: what turns their allocator off, what blocks become.

Sources: vllm 0.11.2 to 0.33.0, config/vllm.py, v1/core/kv_cache_utils.py,
v1/attention/backends/flash_attn.py, platforms/interface.py; each release named here was read.
"""

from __future__ import annotations

from kvgate.architecture.layers import StateLayer
from kvgate.kvcache.vllm_rules import OLDEST, batch_defaults, vllm_rules
from kvgate.plan.model import Plan
from kvgate.plan.transfer import keeps_groups
from kvgate.rules.facts import between, engine_version, keeps_state, number, window_layers
from kvgate.rules.verdict import Finding, Undecided, Verdict
from kvgate.rules.vllm_facts import (
    GPU,
    MODEL,
    block_size,
    connectors,
    events_enabled,
    has_groups,
    manager_off,
    mixes_windows,
    resized,
    seen,
    size_fault,
)
from kvgate.units import format_bytes, whole_number

__all__ = ["RULES"]

_KEEP = "--no-disable-hybrid-kv-cache-manager"
_ROUTER = "DYN_KV_CACHE_BLOCK_SIZE"


def connector_turns_the_manager_off(plan: Plan) -> Verdict:
    """A KV connector switches off the allocator that a model of several kinds of layers needs."""
    if not plan.runs("vllm") or not connectors(plan):
        return None
    off = manager_off(plan)
    if off is None or off[0].startswith("--"):
        return None
    if plan.arch is None:
        return Undecided(plan.lacks("model") or MODEL)
    if not has_groups(plan.arch):
        return None
    why, certain = off
    if not certain:
        return Undecided(f"whether {', '.join(connectors(plan))} supports the hybrid manager")
    fix = plan.without_flag("--kv-transfer-config")
    if between(plan, "0.12.0", "0.22.0") and keeps_groups(connectors(plan)):
        fix = f"add {_KEEP}"
    if keeps_state(plan.arch):
        return Finding(
            f"{why}, which turns the hybrid manager off; {plan.arch.id} keeps states beside "
            "attention and doesn't start without it",
            ("states can't be turned into full attention",),
            fix,
        )
    return Finding(
        f"{why}, which turns the hybrid manager off: windowed layers of {plan.arch.id} are then "
        f"kept at full length{_grown(plan)}",
        ("one warning line at the start says so",),
        fix,
    )


def events_turn_the_manager_off(plan: Plan) -> Verdict:
    """KV events switch the hybrid manager off in releases up to 0.19."""
    if not plan.runs("vllm") or not events_enabled(plan) or not between(plan, fixed="0.20.2"):
        return None
    if plan.arch is None:
        return Undecided(plan.lacks("model") or MODEL)
    if not has_groups(plan.arch):
        return None
    if keeps_state(plan.arch):
        message = (
            f"--kv-events-config turns the hybrid manager off in {seen(plan)}, and {plan.arch.id} "
            "keeps states beside attention: the engine can't unify the two and stops"
        )
    else:
        message = (
            f"--kv-events-config turns the hybrid manager off in {seen(plan)}: windowed layers of "
            f"{plan.arch.id} are kept at full length{_grown(plan)}"
        )
    return Finding(
        message,
        ("the setting alone does it, also with enable_kv_cache_events false",),
        plan.without_flag("--kv-events-config"),
    )


def merged_group_loses_the_global_context(plan: Plan) -> Verdict:
    """One group for windowed and global layers, whose window then cuts the global layers too."""
    if not plan.runs("vllm") or not between(plan, "0.25.0", "0.28.0"):
        return None
    off = manager_off(plan)
    if off is None:
        return None
    if plan.arch is None:
        return Undecided(plan.lacks("model") or MODEL)
    if not mixes_windows(plan.arch):
        return None
    if not off[1]:
        return Undecided(f"whether {', '.join(connectors(plan))} supports the hybrid manager")
    if plan.gates is None:
        return Undecided(plan.lacks("gates") or "the gates")
    if "FLASH_ATTN" not in {group.selected for group in plan.gates.groups}:
        return None
    return Finding(
        f"{off[0]}, and FLASH_ATTN of {seen(plan)} then applies the window of "
        f"{window_layers(plan.arch)} layers of {plan.arch.id} to its global layers as well: what "
        "is older than the window is lost, without an error",
        ("0.24 and 0.28 take the window from the layer itself",),
        plan.with_flag("--attention-backend", "TRITON_ATTN"),
    )


def pages_do_not_divide(plan: Plan) -> Verdict:
    """Pages of different layers can't be brought to one size in releases before 0.24."""
    if not plan.runs("vllm") or not between(plan, "0.12.0", "0.24.0"):
        return None
    if plan.arch is None:
        return Undecided(plan.lacks("model") or MODEL)
    said = size_fault(plan)
    if "cannot give a page" not in said:
        return None
    return Finding(
        f"{seen(plan)} has one page size for all layers of {plan.arch.id}, and theirs don't "
        f"divide: {said}",
        (
            f"--kv-cache-dtype {plan.kv_cache_dtype}, tensor parallel size {plan.tp}"
            + (f", --block-size {plan.get('block_size')}" if plan.get("block_size") else ""),
        ),
        plan.without_flag("--block-size") if plan.get("block_size") else "vLLM 0.24 or later",
    )


def prefix_hits_end_at_state_checkpoints(plan: Plan) -> Verdict:
    """Prefix caching of a model with states finds only what ends at a kept state."""
    if not plan.runs("vllm") or plan.arch is None or not keeps_state(plan.arch):
        return None
    version = engine_version(plan)
    if version is None or version.release < OLDEST.release:
        return None
    rules = vllm_rules(version)
    asked = plan.get("enable_prefix_caching")
    caching = asked if isinstance(asked, bool) else rules.hybrid_prefix_caching
    drafts = 1 if plan.get("speculative_config") else 0
    if rules.mamba_mode(plan.arch.model_type, caching, drafts) != "align":
        return None
    block = block_size(plan)
    if block is None:
        return Undecided(plan.lacks("size") or GPU)
    return Finding(
        f"prefix caching of {plan.arch.id} keeps one state a request, at the last multiple of "
        f"{block:,} tokens before the prompt's end: another prompt reuses nothing unless it "
        "shares the first one up to there",
        (
            f"a block is {block:,} tokens, so that a state fits into its page",
            "attention blocks are cached too, and count only where a state is there as well",
        ),
        "",
    )


def block_grows_to_hold_a_state(plan: Plan) -> Verdict:
    """A block size is given, or a router needs one, and the engine enlarges it for the states."""
    if not plan.runs("vllm") or plan.arch is None or not keeps_state(plan.arch):
        return None
    asked = number(plan.get("block_size"))
    if asked is None and not connectors(plan) and not events_enabled(plan):
        return None
    block = block_size(plan)
    if block is None:
        return Undecided(plan.lacks("size") or GPU)
    if block == (asked or 16):
        return None
    written = f"--block-size {asked}" if asked else "the usual block of 16"
    return Finding(
        f"{written} becomes {block:,} tokens for {plan.arch.id}, so that an attention page holds "
        "a state",
        (
            f"tensor parallel size {plan.tp} and cache {plan.kv_cache_dtype} decide the number",
            "routers, connectors and a peer must be given the number of the log, not the flag's",
        ),
        "",
    )


def dynamo_router_block_differs(plan: Plan) -> Verdict:
    """Dynamo's router is told another block size than the engine publishes events with."""
    if not plan.runs("vllm") or not plan.deployment.launcher.startswith("dynamo"):
        return None
    if not events_enabled(plan):
        return None
    if plan.arch is None:
        return Undecided(plan.lacks("model") or MODEL)
    if not keeps_state(plan.arch):
        return None
    block = block_size(plan)
    if block is None:
        return Undecided(plan.lacks("size") or GPU)
    told = number(plan.get("block_size")) or 16
    said = plan.deployment.env_value(_ROUTER)
    if said is not None and (number_said := whole_number(said.strip())) is not None:
        told = number_said
    if told == block:
        return None
    return Finding(
        f"the engine publishes blocks of {block:,} tokens, and a router that was told {told} "
        "drops every event: requests are routed by load alone",
        (f"{plan.arch.id} keeps states, which enlarges the block",),
        f"{_ROUTER}={block} on the frontend, or a Dynamo that asks the engine for it",
    )


def more_sequences_than_states(plan: Plan) -> Verdict:
    """--max-num-seqs is above the states that the pool holds."""
    if not plan.runs("vllm") or plan.arch is None or not between(plan, first="0.20.2"):
        return None
    if not any(isinstance(group.layer, StateLayer) for group in plan.arch.groups):
        return None
    if plan.get("enforce_eager"):
        # The test is about decode graphs, which are not recorded then.
        return None
    pool = plan.sizing.pool if plan.sizing is not None else None
    if pool is None or pool.blocks is None or plan.gpu is None:
        return Undecided(plan.lacks("size") or plan.lacks("gpu") or GPU)
    version = engine_version(plan)
    asked = number(plan.get("max_num_seqs"))
    if asked is None and version is not None:
        asked = batch_defaults(vllm_rules(version), plan.gpu.memory_bytes, plan.gpu.name)[1]
    if asked is None or not pool.fits or asked <= pool.blocks:
        return None
    default = "" if plan.get("max_num_seqs") is not None else " by default"
    return Finding(
        f"{asked:,} sequences are allowed{default}, and the pool has about {pool.blocks:,} blocks, "
        f"of which each sequence of {plan.arch.id} needs one for its state",
        (
            f"KV memory of about {format_bytes(pool.memory.likely)} a GPU",
            "the engine tests it after it has loaded and profiled",
        ),
        plan.with_flag("--max-num-seqs", str(max(pool.blocks * 9 // 10, 1))),
    )


def _grown(plan: Plan) -> str:
    """What that does to one sequence, where it can be said."""
    on = resized(plan, hybrid_kv_cache_manager=True, kv_cache_memory=1 << 42)
    off = resized(plan, hybrid_kv_cache_manager=False, kv_cache_memory=1 << 42)
    if on is None or off is None or on.pool is None or off.pool is None:
        return ""
    before, after = on.max_concurrency, off.max_concurrency
    if not before or not after or before <= after:
        return ""
    length = f"{on.max_model_len:,} tokens"
    return f", and one sequence of {length} takes {before / after:.1f} times as much of the pool"


RULES = (
    connector_turns_the_manager_off,
    events_turn_the_manager_off,
    merged_group_loses_the_global_context,
    pages_do_not_divide,
    prefix_hits_end_at_state_checkpoints,
    block_grows_to_hold_a_state,
    dynamo_router_block_differs,
    more_sequences_than_states,
)
