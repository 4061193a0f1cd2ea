"""Rows in, rows out: one SGLang configuration in short field names, for programs and tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvgate.attention.sglang.model import Model
from kvgate.attention.sglang.outcome import Outcome
from kvgate.attention.sglang.pipeline import Query, resolve
from kvgate.errors import InputError, nearest
from kvgate.units import whole_number

__all__ = ["FIELDS", "RESULTS", "answer", "flags_of"]

_FLAGS = {
    "kv_in": "kv_cache_dtype",
    "be_in": "attention_backend",
    "pre_in": "prefill_attention_backend",
    "dec_in": "decode_attention_backend",
    "page_in": "page_size",
}
FIELDS = (*_FLAGS, "sm", "model", "set", "spec", "ext", "gpu_mib")
_SETTINGS = (
    ("mamba_strategy", "mamba_strategy"), ("moe", "moe_runner"), ("draft", "draft"),
    ("lin_decode", "linear_decode"), ("nvfp4_prefill", "nvfp4_prefill"),
    ("no_hybrid_swa", "hybrid_swa_off"), ("no_overlap", "overlap_off"), ("no_radix", "radix_off"),
)  # fmt: skip
RESULTS = (
    "prefill", "decode", "page", "kv", "kv_torch", "graph", "dsa_p", "dsa_d",
    *(name for name, _ in _SETTINGS), "warn", "error", "stage", "unknown",
)  # fmt: skip


def answer(row: Mapping[str, Any], model: Model, sm: str, engine: str = "sglang") -> dict[str, Any]:
    """What SGLang makes of a row on one compute capability (``9.0``).

    ``decode`` is left out where it equals ``prefill``, ``kv`` where it equals ``kv_in``, ``graph``
    where it is ``full/breakable``; so is every other field that has nothing to say. Raises
    InputError for fields that are unknown, naming all of them, and for what ``resolve`` refuses.
    """
    strange = [name for name in row if name not in FIELDS and name not in RESULTS]
    if strange:
        hints = "; ".join(f"{name}: {nearest(name, FIELDS)}" for name in strange)
        raise InputError(f"unknown field {', '.join(map(repr, strange))}", hint=hints)
    major, minor = map(whole_number, sm.partition(".")[::2])
    if major is None or minor is None:
        raise InputError(f"{sm!r} is no compute capability", hint='write "9.0"')
    flags = flags_of(row)
    query = Query(model, (major, minor), engine, flags, row.get("gpu_mib"))
    return _told(resolve(query), str(flags["kv_cache_dtype"]))


def flags_of(row: Mapping[str, Any]) -> dict[str, object]:
    """The options a row stands for.

    ``spec`` is ``EAGLE:topk`` (three steps; four draft tokens for a chain, eight for a tree) or
    ``NGRAM:breadth``; ``ext`` holds any other option by its destination.
    """
    flags: dict[str, object] = {name: row[short] for short, name in _FLAGS.items() if short in row}
    flags.setdefault("kv_cache_dtype", "auto")
    algorithm, _, digits = str(row.get("spec") or "").partition(":")
    number = whole_number(digits)
    if algorithm:
        if number is None or algorithm not in ("EAGLE", "NGRAM"):
            raise InputError(f"{row['spec']!r} is no speculation", hint='write "EAGLE:1"')
        flags["speculative_algorithm"] = algorithm
    if algorithm == "EAGLE":
        flags["speculative_eagle_topk"] = number
        flags["speculative_num_steps"] = 3
        flags["speculative_num_draft_tokens"] = 4 if number == 1 else 8
    elif algorithm == "NGRAM":
        flags["speculative_ngram_max_bfs_breadth"] = number
    return flags | dict(row.get("ext") or {})


def _told(outcome: Outcome, asked: str) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if outcome.error is not None:
        told |= {"error": outcome.error, "stage": outcome.stage}
    else:
        told |= {
            "prefill": outcome.prefill,
            "page": outcome.page_size,
            "kv_torch": outcome.kv_torch,
        }
        if outcome.decode != outcome.prefill:
            told["decode"] = outcome.decode
        if outcome.kv_dtype != asked:
            told["kv"] = outcome.kv_dtype
        if outcome.graph not in (None, ("full", "breakable")):
            told["graph"] = "/".join(outcome.graph or ())
        if outcome.sparse:
            told["dsa_p"], told["dsa_d"] = outcome.sparse
        told |= {name: value for name, field in _SETTINGS if (value := getattr(outcome, field))}
    if outcome.warnings:
        told["warn"] = list(outcome.warnings)
    if outcome.unknown:
        told["unknown"] = list(outcome.unknown)
    return told
