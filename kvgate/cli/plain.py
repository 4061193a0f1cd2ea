"""Plain lines on a terminal or in a pipe: wrapped, and coloured only where a person reads them.

What rich does for tables, without the time that importing it takes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

import click

__all__ = ["show_lines", "wrap"]

_STYLES: dict[str, dict[str, bool | str]] = {
    "head": {"bold": True},
    "good": {"bold": True, "fg": "green"},
    "bad": {"bold": True, "fg": "red"},
}
# What a pipe or a file gets, and the widest that reads well.
_PIPED, _WIDEST = 80, 100


def show_lines(lines: Iterable[tuple[int, str, str]]) -> None:
    """Print (indent, text, style) lines; no colour in a pipe and under NO_COLOR."""
    width = _PIPED
    if sys.stdout.isatty():
        try:
            width = min(os.get_terminal_size().columns or _PIPED, _WIDEST)
        except OSError:
            width = _PIPED
    colour = False if os.environ.get("NO_COLOR") else None
    for indent, text, style in lines:
        for line in wrap(text, indent, width):
            click.echo(click.style(line, **_STYLES[style]) if style else line, color=colour)  # type: ignore[arg-type]


def wrap(text: str, indent: int, width: int) -> list[str]:
    """A text in lines of at most ``width`` characters where its words allow, hanging by two more.

    >>> wrap("one two three", 2, 9)
    ['  one two', '    three']
    """
    lines: list[str] = []
    line = " " * indent
    fresh = True
    for word in text.split(" "):
        if not fresh and len(line) + 1 + len(word) > width:
            lines.append(line)
            line, fresh = " " * (indent + 2), True
        line += word if fresh else f" {word}"
        fresh = False
    return [*lines, line.rstrip()]
