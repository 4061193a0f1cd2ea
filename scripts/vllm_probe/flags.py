"""The flags of ``vllm serve`` as the release's own parser declares them."""

from __future__ import annotations

import argparse
import inspect
from typing import Any

from scripts.vllm_probe.fakes import fake_cuda
from scripts.vllm_probe.releases import first

__all__ = ["serve_flags"]


def serve_flags() -> list[dict[str, Any]]:
    """Every option: spellings, destination, choices, default, type, number of values, action."""
    fake_cuda((9, 0))
    parser_class = first(
        "vllm.utils.argparse_utils:FlexibleArgumentParser", "vllm.utils:FlexibleArgumentParser"
    )
    make = first(
        "vllm.entrypoints.common.cli_args:make_arg_parser",
        "vllm.entrypoints.launchers.cli_args:make_arg_parser",
        "vllm.entrypoints.serve.cli_args:make_arg_parser",
        "vllm.entrypoints.openai.cli_args:make_arg_parser",
    )
    kwargs = (
        {"description": "serve"}
        if "description" in inspect.signature(parser_class).parameters
        else {}
    )
    parser = make(parser_class(**kwargs))
    return [_flag(action) for action in parser._actions]


def _flag(action: argparse.Action) -> dict[str, Any]:
    kind = action.type
    return {
        "flags": list(action.option_strings),
        "dest": action.dest,
        "choices": [str(choice) for choice in action.choices] if action.choices else None,
        "nargs": action.nargs,
        "default": _plain(action.default),
        "type": getattr(kind, "__name__", None) if kind is not None else None,
        "action": type(action).__name__,
        "deprecated": getattr(action, "deprecated", None) or None,
    }


def _plain(value: Any) -> Any:
    """The value itself where JSON has it, its text otherwise."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    return str(value)
