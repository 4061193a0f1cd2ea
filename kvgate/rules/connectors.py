"""Caches that leave the engine: keys that must agree, and layouts that a connector doesn't know.

Sources: vllm 0.10.2 to 0.33.0, v1/core/kv_cache_utils.py; lmcache 0.3.7, 0.5.4 and 0.5.6,
integration/vllm/, v1/gpu_connector/gpu_connectors.py, v1/token_database.py.
"""

from __future__ import annotations

from kvgate.plan.model import Plan
from kvgate.rules.facts import between, is_sparse, number, text
from kvgate.rules.verdict import Finding, Undecided, Verdict
from kvgate.rules.vllm_facts import MODEL, connectors, seen

__all__ = ["RULES"]

_SEED = "PYTHONHASHSEED"
_IN_PROCESS = "LMCacheConnectorV1"
# Connectors that look blocks up by their hash, in a store that other processes write as well.
_BY_HASH = {
    "LMCacheConnectorV1", "LMCacheMPConnector", "MooncakeStoreConnector", "HF3FSKVConnector",
    "FlexKVConnectorV1",
}  # fmt: skip


def block_hashes_differ_between_processes(plan: Plan) -> Verdict:
    """Processes that share a cache by block hashes, each with a random start of the chain."""
    if not plan.runs("vllm"):
        return None
    shared = [name for name in connectors(plan) if name in _BY_HASH]
    seed = plan.deployment.env.get(_SEED)
    if not shared or (seed is not None and seed.value not in ("", "random")):
        # A value that stands elsewhere (a secret, an expansion) is a value all the same.
        return None
    algorithm = text(plan.get("prefix_caching_hash_algo")) or "sha256"
    fixed = between(plan, first="0.29.0")
    if fixed and not algorithm.startswith("xxhash"):
        return None
    if fixed is None:
        return Undecided("vLLM's version")
    return Finding(
        f"{_SEED} isn't set, and {seen(plan)} then begins its chain of block hashes at random: "
        f"another process, or this one after a restart, finds nothing of what "
        f"{', '.join(shared)} has stored",
        ("writes go on, hits stay at 0, nothing is logged", f"hash algorithm {algorithm}"),
        f"set {_SEED}=0 on every process that shares the store",
    )


def in_process_lmcache_with_index_caches(plan: Plan) -> Verdict:
    """LMCache's in-process connector on a model with index caches beside its latents."""
    if not plan.runs("vllm") or _IN_PROCESS not in connectors(plan):
        return None
    if plan.arch is None:
        return Undecided(plan.lacks("model") or MODEL)
    if not is_sparse(plan.arch):
        return None
    layers = plan.arch.num_layers
    caches = sum(
        group.count
        for group in plan.arch.groups
        if getattr(group.layer, "indexer", None) is not None
        and not getattr(group.layer, "shares_indexer", False)
    )
    return Finding(
        f"{_IN_PROCESS} counts {layers} caches, one a layer, and {plan.arch.id} registers "
        f"{layers + caches}: {caches} layers keep index keys beside their latents",
        (
            "leaving the index caches out starts, and spoils answers past the tokens it selects",
            "LMCache 0.5.6 still counts this way",
        ),
        "LMCacheMPConnector where LMCache has validated the model, else no LMCache",
    )


def in_process_lmcache_with_dcp(plan: Plan) -> Verdict:
    """LMCache's in-process connector on ranks that hold only a part of the tokens."""
    dcp = number(plan.get("decode_context_parallel_size")) or 1
    if not plan.runs("vllm") or dcp == 1 or _IN_PROCESS not in connectors(plan):
        return None
    return Finding(
        f"{_IN_PROCESS} expects a slot for each token on each rank, and under "
        f"--decode-context-parallel-size {dcp} a rank holds every {dcp}th token only",
        ("the first request ends in an assertion on slot_mapping",),
        plan.without_flag("--decode-context-parallel-size"),
    )


RULES = (
    block_hashes_differ_between_processes,
    in_process_lmcache_with_index_caches,
    in_process_lmcache_with_dcp,
)
