"""Rows in, rows out: one SGLang configuration in short field names, for programs and tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvgate.attention.sglang.model import Model, model_facts
from kvgate.attention.sglang.outcome import Outcome
from kvgate.attention.sglang.pipeline import Query, resolve
from kvgate.catalog.gpus import gpu
from kvgate.errors import InputError, nearest
from kvgate.units import whole_number

__all__ = ["FIELDS", "RESULTS", "answer", "answer_named", "flags_of"]

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
    *(name for name, _ in _SETTINGS), "warn", "error", "stage", "then_fails", "unknown",
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
    memory = row.get("gpu_mib")
    if memory is not None and (isinstance(memory, bool) or not isinstance(memory, int)):
        raise InputError(f"gpu_mib is a whole number, not {memory!r}")
    flags = flags_of(row)
    query = Query(model, (major, minor), engine, flags, memory)
    return _told(resolve(query), str(flags["kv_cache_dtype"]))


def answer_named(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with its answer: ``engine``, ``model`` (of the catalogue), ``sm`` or ``gpu``, options.

    Unlike `answer` it names its model and its GPU; ``then_fails`` is told too. Raises InputError
    for what it names wrongly or not at all.
    """
    from kvgate.architecture.released import model as released

    for name in ("engine", "model", "sm", "gpu"):
        if not isinstance(row.get(name) or "", str):
            raise InputError(f"{name} is text, not {row[name]!r}")
    if not row.get("model"):
        raise InputError("the row says no model", hint='write "model": "Qwen/Qwen3-8B"')
    asked = {n: v for n, v in row.items() if n not in ("engine", "model", "gpu", *RESULTS)}
    sm = str(row.get("sm") or "")
    if row.get("gpu"):
        card = gpu(str(row["gpu"]))
        if card.sm is None:
            raise InputError(f"how SGLang resolves its backends on {card.name} is not known")
        if sm and sm != card.capability:
            raise InputError(f"{card.name} has compute capability {card.capability}, not {sm}")
        sm = card.capability
        asked.setdefault("gpu_mib", card.memory_mib)
    elif not sm:
        raise InputError("the row says no device", hint='write "sm": "9.0" or "gpu": "H100"')
    asked.pop("sm", None)
    engine = str(row["engine"])
    given = {n: v for n, v in row.items() if n not in RESULTS}
    return given | answer(asked, model_facts(released(str(row["model"]))), sm, engine)


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
    more = row.get("ext") or {}
    if not isinstance(more, Mapping):
        raise InputError(f"ext is an object of options, not {more!r}")
    return flags | dict(more)


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
    if outcome.then_fails:
        told["then_fails"] = [f"{later.backend}: {later.text}" for later in outcome.then_fails]
    if outcome.unknown:
        told["unknown"] = list(outcome.unknown)
    return told
