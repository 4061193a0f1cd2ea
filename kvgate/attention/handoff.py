"""Prefill/decode hand-off: what two sides have to agree on, and what a difference leads to."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from kvgate.errors import InputError, nearest

__all__ = ["Mismatch", "Side", "connectors", "handoff"]

Outcome = Literal["refused", "passes-and-corrupts", "cache-miss", "ok", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a hand-off; a field that nobody knows is None, and is said to be unknown.

    ``kv_dtype`` is the resolved one, ``block_size`` the effective one in tokens (page size).
    ``layout`` is ``NHD`` or ``HND``. ``record`` names the packed record of an MLA cache,
    ``record_bytes`` is its length in bytes. ``fp8_encoding`` is ``e4m3fn``, ``e4m3fnuz`` (MI300X,
    MI325X) or ``e5m2``. ``kv_bytes`` are one token's bytes in one layer.
    """

    engine_version: str | None = None
    model: str | None = None
    dtype: str | None = None
    kv_dtype: str | None = None
    backend: str | None = None
    block_size: int | None = None
    layout: str | None = None
    tensor_parallel: int | None = None
    decode_context_parallel: int | None = None
    speculation: str | None = None
    record: str | None = None
    record_bytes: int | None = None
    fp8_encoding: str | None = None
    kv_scales: str | None = None
    rope: str | None = None
    kv_bytes: float | None = None
    mla: bool = False
    hybrid: bool = False


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One item of a hand-off that differs, or that one side leaves unknown.

    ``text`` is the engine's own message where it has one, ``why`` says what goes wrong, and
    ``inferred`` that the outcome is concluded from code rather than reported.
    """

    item: str
    prefill: object
    decode: object
    outcome: Outcome
    text: str
    why: str
    source: str
    inferred: bool = False


def connectors() -> tuple[str, ...]:
    """The connectors that the catalogue knows."""
    return tuple(str(entry["id"]) for entry in _file())


def handoff(prefill: Side, decode: Side, connector: str) -> tuple[Mismatch, ...]:
    """Every item of the connector that differs between the sides, in the catalogue's order.

    An item that only one side knows has the outcome ``unknown``; one that neither side knows is
    left out. Raises InputError for an unknown connector, with the nearest names.

    >>> sides = Side(block_size=64), Side(block_size=128)
    >>> [(m.item, m.outcome) for m in handoff(*sides, "sglang")]
    [('block_size', 'refused')]
    """
    found = []
    for item in _connector(connector)["item"]:
        if _applies(item, prefill, decode):
            mismatch = _judge(item, prefill, decode)
            if mismatch is not None:
                found.append(mismatch)
    # A narrower rule for the same item (NVFP4's tensor parallel size) overrules the general one.
    worst = {m.item: m for m in found if m.outcome != "ok"}
    return tuple(m for m in found if m.outcome != "ok" or m.item not in worst)


def _applies(item: dict[str, Any], prefill: Side, decode: Side) -> bool:
    if item.get("unless") == "mla" and (prefill.mla or decode.mla):
        return False
    match item.get("only"):
        case None:
            return True
        case "hybrid":
            return prefill.hybrid or decode.hybrid
        case "flashinfer":
            return "flashinfer" in {str(prefill.backend).lower(), str(decode.backend).lower()}
        case dtype:
            return dtype in {prefill.kv_dtype, decode.kv_dtype}


def _judge(item: dict[str, Any], prefill: Side, decode: Side) -> Mismatch | None:
    name = str(item["field"])
    left, right = getattr(prefill, name), getattr(decode, name)
    if left is None and right is None:
        return None
    if item["rule"] != "free" and (left is None or right is None):
        return _mismatch(item, left, right, "unknown")
    if left == right or (
        item["rule"] == "multiple" and right % left == 0 and not _shrinks(prefill, decode)
    ):
        return None
    if item["rule"] == "bytes":
        return _mismatch(item, left, right, _by_length(prefill, decode))
    return _mismatch(item, left, right, item["outcome"])


def _shrinks(prefill: Side, decode: Side) -> bool:
    return (prefill.tensor_parallel or 1) > (decode.tensor_parallel or 1)


def _by_length(prefill: Side, decode: Side) -> Outcome:
    if prefill.kv_bytes is None or decode.kv_bytes is None:
        return "unknown"
    return "passes-and-corrupts" if prefill.kv_bytes == decode.kv_bytes else "refused"


def _mismatch(item: dict[str, Any], left: object, right: object, outcome: Outcome) -> Mismatch:
    return Mismatch(
        item=str(item["field"]), prefill=left, decode=right, outcome=outcome,
        text=str(item["text"]), why=str(item["why"]), source=str(item["source"]),
        inferred=bool(item.get("inferred", False)),
    )  # fmt: skip


def _connector(name: str) -> dict[str, Any]:
    names: dict[str, dict[str, Any]] = {}
    for entry in _file():
        for spelled in (entry["id"], *entry["aliases"]):
            names.setdefault(spelled.casefold(), entry)
    found = names.get(name.strip().casefold())
    if found is None:
        raise InputError(f"unknown KV connector {name!r}", hint=nearest(name, connectors()))
    return found


@cache
def _file() -> list[dict[str, Any]]:
    text = (files("kvgate.catalog") / "handoff.toml").read_text(encoding="utf-8")
    entries: list[dict[str, Any]] = tomllib.loads(text)["connector"]
    return entries
