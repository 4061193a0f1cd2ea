"""Answers of kvgate on hand-written pages, computed when the site is built."""

from __future__ import annotations

import shlex
from typing import Any

from kvgate.errors import InputError
from kvgate.site.fragments import fragment
from kvgate.units import whole_number

__all__ = ["backends_block", "chart_block", "size_block"]

# What computes is imported where it is asked for: most sites have no such block.


def size_block(words: str) -> str:
    """A sizing with its explanation, for ``MODEL gpu=GPU engine=vllm==0.33.0 tp=4``.

    Raises InputError for what `kvgate.kvcache.size` refuses, and for an option it doesn't have.
    """
    from kvgate.kvcache import size

    name, options = _call(words)
    try:
        sizing = size(name, **options)
    except TypeError as error:
        raise InputError(f"the block asks for what size() doesn't have: {error}") from None
    command = _command("size", name, options)
    return fragment("computed_size.html.j2", command=command, lines=sizing.explanation)


def backends_block(words: str) -> str:
    """The backends of a model's layers with their reasons, for ``MODEL gpu=GPU engine=ENGINE``.

    Raises InputError for what `kvgate.attention.backends` refuses.
    """
    from kvgate.architecture import model
    from kvgate.attention import backends

    name, options = _call(words)
    report = backends(model(name), **options)
    command = _command("backends", name, options)
    return fragment("computed_backends.html.j2", command=command, report=report)


def chart_block(words: str) -> str:
    """The needs of several models against context, for ``MODEL MODEL …``.

    Raises InputError for a model that the catalogue doesn't have.
    """
    from kvgate.site.chart import chart

    names = shlex.split(words)
    if not names:
        raise InputError("the chart names no model", hint="<!-- kvgate: chart MODEL MODEL -->")
    return chart(names)


def _call(words: str) -> tuple[str, dict[str, Any]]:
    name, *rest = shlex.split(words)
    pairs = (word.partition("=")[::2] for word in rest)
    return name, {key: value if (n := whole_number(value)) is None else n for key, value in pairs}


def _command(verb: str, name: str, options: dict[str, Any]) -> str:
    flags = (f"--{k.replace('_', '-')} {shlex.quote(str(v))}" for k, v in options.items())
    return " ".join(["kvgate", verb, name, *flags])
