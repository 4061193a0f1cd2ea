"""Prefill and decode in one file: what the two sides have to agree on and don't."""

from __future__ import annotations

from collections.abc import Sequence

from kvgate.architecture.layers import MLA, Attention
from kvgate.attention.handoff import Mismatch, Side, handoff
from kvgate.plan.model import Plan
from kvgate.rules.judge import Judged
from kvgate.rules.verdict import Finding

__all__ = ["pairs"]

# A finding of a pair belongs to no record; this is its code.
MISMATCH = "KV433"

_SEVERITY = {
    "refused": "fails-later",
    "passes-and-corrupts": "silently-wrong",
    "cache-miss": "slower",
}
_CONNECTORS = {
    "NixlConnector": "vllm-nixl",
    "MooncakeConnector": "vllm-mooncake",
    "LMCacheConnectorV1": "lmcache",
    "LMCacheMPConnector": "lmcache",
}


def pairs(plans: Sequence[Plan]) -> tuple[Judged, ...]:
    """What each prefill side of a file and each decode side of the same engine disagree on."""
    found = [
        judged
        for prefill in plans
        if prefill.deployment.role == "prefill"
        for decode in plans
        if decode.deployment.role == "decode" and decode.engine == prefill.engine
        for judged in _between(prefill, decode)
    ]
    return tuple({(j.title, j.finding.message): j for j in found}.values())


def _between(prefill: Plan, decode: Plan) -> list[Judged]:
    connector = _connector(prefill) or _connector(decode)
    if connector is None:
        return []
    found = []
    for mismatch in handoff(_side(prefill), _side(decode), connector):
        severity = _SEVERITY.get(mismatch.outcome)
        if severity:
            found.append(
                Judged(
                    MISMATCH,
                    severity,
                    f"prefill and decode differ in {mismatch.item.replace('_', ' ')}",
                    _finding(mismatch, prefill, decode),
                )
            )
    return found


def _finding(mismatch: Mismatch, prefill: Plan, decode: Plan) -> Finding:
    said = f"; the engine says: {mismatch.text}" if mismatch.text else ""
    doubt = " (concluded from the code)" if mismatch.inferred else ""
    return Finding(
        f"{mismatch.item.replace('_', ' ')} is {mismatch.prefill} for prefill and "
        f"{mismatch.decode} for decode: {mismatch.outcome.replace('-', ' ')}{doubt}{said}",
        (
            mismatch.why,
            f"prefill stands at {prefill.deployment.place}, decode at {decode.deployment.place}",
        ),
        f"make {mismatch.item.replace('_', ' ')} the same on both sides",
    )


def _connector(plan: Plan) -> str | None:
    if plan.engine == "sglang":
        return "sglang"
    config = plan.get("kv_transfer_config")
    name = config.get("kv_connector") if isinstance(config, dict) else None
    return _CONNECTORS.get(str(name))


def _side(plan: Plan) -> Side:
    release = plan.release
    named = plan.deployment.version is not None
    outcome, gates, sizing = plan.outcome, plan.gates, plan.sizing
    layers = [group.layer for group in plan.arch.groups] if plan.arch else []
    format_ = sizing.needs.choice.format if sizing is not None else None
    speculation = plan.get("speculative_config") or plan.get("speculative_algorithm")
    backend = gates.selected if gates is not None else outcome.selected if outcome else None
    page = outcome.page_size if outcome is not None else plan.get("block_size")
    dtype = outcome.kv_dtype if outcome is not None else plan.kv_cache_dtype
    return Side(
        engine_version=str(release.asked) if release is not None and named else None,
        model=plan.deployment.model or None,
        kv_dtype=dtype,
        backend=backend,
        block_size=page if isinstance(page, int) else None,
        tensor_parallel=plan.tp,
        decode_context_parallel=plan.get("decode_context_parallel_size") or 1,
        speculation=str(speculation) if speculation else "none",
        record=format_.name if format_ is not None and format_.record_bytes else None,
        record_bytes=format_.record_bytes if format_ is not None else None,
        mla=any(isinstance(layer, MLA) for layer in layers),
        hybrid=len({type(layer) for layer in layers}) > 1
        or any(isinstance(layer, Attention) and layer.kind != "full" for layer in layers),
    )
