"""The options of a question: checked against the release's own list, as its parser would."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvgate.attention.sglang.outcome import RefusedError
from kvgate.attention.sglang.release import Rules

__all__ = ["settings"]

_STRATEGY = "mamba_radix_cache_strategy"
# Up to 0.5.10 the parser stored some options under their long spelling.
_FIELDS = {
    "tensor_parallel_size": "tp_size",
    "pipeline_parallel_size": "pp_size",
    "data_parallel_size": "dp_size",
    "expert_parallel_size": "ep_size",
    "decode_context_parallel_size": "dcp_size",
    "attention_context_parallel_size": "attn_cp_size",
    "mamba_scheduler_strategy": _STRATEGY,
}


def settings(rules: Rules, flags: Mapping[str, object]) -> dict[str, Any]:
    """Every setting of the release: its default, or what the user gave.

    Raises InputError for an option the release doesn't have, RefusedError for a value outside an
    option's choices, in argparse's words.
    """
    cfg: dict[str, Any] = {}
    for entry in rules.data["flags"]:
        cfg.setdefault(_field(entry), entry.get("default"))
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
        cfg[_field(entry)] = value
    cfg.setdefault("disaggregation_mode", "null")
    cfg.setdefault("attn_dp_size", None)
    if cfg.get(_STRATEGY) == "auto" and not rules.has("mamba.no_buffer_overlap"):
        cfg[_STRATEGY] = "no_buffer"
    return cfg


def _field(entry: dict[str, Any]) -> str:
    dest = str(entry["dest"])
    return _FIELDS.get(dest, dest)
