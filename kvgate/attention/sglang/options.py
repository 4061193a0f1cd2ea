"""The options of a question: checked against the release's own list, as its parser would."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvgate.attention.sglang.outcome import RefusedError
from kvgate.attention.sglang.release import Rules, field_of
from kvgate.errors import InputError

__all__ = ["settings"]

# Options with checks of their own in SGLang that no rule here follows.
_UNCHECKED = frozenset({
    "disaggregation_mode", "enable_dp_attention", "enable_lmcache", "enable_lora",
    "enable_page_major_kv_layout", "enable_two_batch_overlap", "enable_unified_memory",
    "language_model_only", "lora_paths", "moe_a2a_backend", "quantization",
})  # fmt: skip

# What a value is, by the name of the parser's converter; others are taken as they come.
_KINDS: dict[str, tuple[type, ...]] = {"int": (int,), "float": (float, int), "str": (str,)}
_COUNTS = frozenset({"page_size", "tp_size", "pp_size", "dp_size", "mamba_track_interval"})

_STRATEGY = "mamba_radix_cache_strategy"


def settings(rules: Rules, flags: Mapping[str, object]) -> tuple[dict[str, Any], list[str]]:
    """What the user set, by the names SGLang stores it under, and what of it can't be judged.

    Raises InputError for an option the release doesn't have and for a value that is none of its
    kind, RefusedError for a value outside an
    option's choices, in argparse's words.
    """
    asked: dict[str, Any] = {}
    unknown = []
    for name, value in flags.items():
        entry = rules.option(name)
        choices = entry.get("choices")
        if choices and value is not None and value not in choices:
            listed = ", ".join(repr(choice) for choice in choices)
            spelled = "/".join(entry["flags"])
            raise RefusedError(
                f"error: argument {spelled}: invalid choice: {value!r} (choose from {listed})",
                "argparse",
            )
        kinds = _KINDS.get(str(entry.get("type")))
        if kinds and value is not None and type(value) not in kinds:
            raise InputError(f"{name} is a {entry['type']}, not {value!r}")
        if entry["dest"] in _COUNTS and value is not None and value < 1:  # type: ignore[operator]
            raise InputError(f"{name} is at least 1, not {value!r}")
        asked[field_of(entry)] = value
        if entry["dest"] in _UNCHECKED:
            unknown.append(f"what SGLang's own checks of {name} say: they are not modelled")
    if not rules.has("mamba.no_buffer_overlap"):
        strategy = asked.get(_STRATEGY, rules.defaults.get(_STRATEGY))
        asked[_STRATEGY] = "no_buffer" if strategy == "auto" else strategy
    return asked, unknown
