"""A file that a command would change: shown as a diff first, written only when told to."""

from __future__ import annotations

import difflib
from pathlib import Path

import click

from kvgate.records.atomic import write_text

__all__ = ["rewrite"]


def rewrite(path: Path, old: str, new: str, *, write: bool) -> bool:
    """Print what changes in a file, and write it if told to; False where nothing changes.

    Both texts are the file's, with its own line ends. Raises OSError where it can't be written; the
    old file is there still.
    """
    if new == old:
        return False
    name = path.as_posix()
    diff = difflib.unified_diff(
        _lines(old), _lines(new), name, name, lineterm="", n=2
    )  # fmt: skip
    click.echo("\n".join(diff))
    if write:
        write_text(path, new)
    return True


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
