"""The terminal: one console, which knows whether a person or a program reads it."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

__all__ = ["console", "show", "wrapped"]

# What a pipe or a file gets: a line for each thing that is said, whatever its length, so that grep
# finds a finding whole.
_PIPED = 100_000


def console() -> Console:
    """A console on standard output; colours only for a terminal, and not under NO_COLOR."""
    from rich.console import Console

    # Rich takes COLUMNS for the width by itself; only where nothing says one is ours needed.
    guess = not (sys.stdout.isatty() or os.environ.get("COLUMNS"))
    return Console(
        width=_PIPED if guess else None,
        # With a width alone a dumb terminal would get 80 all the same.
        height=25 if guess else None,
        highlight=False,
        soft_wrap=False,
        markup=False,
        emoji=False,
    )


def wrapped(text: str, indent: int = 0) -> str:
    """A sentence as a person reads it, without words cut in two; one line for a program."""
    pad = " " * indent
    if not sys.stdout.isatty():
        return pad + text
    return textwrap.fill(
        text, max(shutil.get_terminal_size().columns, 2 * indent + 20), initial_indent=pad,
        subsequent_indent=pad, break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def show(what: RenderableType) -> None:
    """Print; without the blanks at the right of a table's cells when it's no terminal."""
    out = console()
    if out.is_terminal:
        out.print(what)
        return
    with out.capture() as held:
        out.print(what)
    # Not splitlines: another end of a line, in a stranger's text, would begin a line here.
    lines = held.get().split("\n")
    sys.stdout.write("\n".join(line.rstrip(" ") for line in lines))
