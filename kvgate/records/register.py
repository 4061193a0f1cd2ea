"""The register: every id that was ever published, so that none is lost and none is used again."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from kvgate.errors import Diagnostic, InputError, Place
from kvgate.records import file
from kvgate.records.atomic import locked, write_text

__all__ = ["FILE", "add_ids", "read_register"]

FILE = "ids.txt"
"""The register's name in a folder of records: one id a line, in alphabetical order."""

_HEAD = """\
# Every id that a record was ever published under, one a line, in alphabetical order.
# Lines are added, never removed: a record that is gone stays as a page with status: withdrawn.
"""


def read_register(path: Path) -> dict[str, int]:
    """The ids of a register, each with its 1-based line; empty when there is no such file.

    Raises InputError where the file can't be read.
    """
    if not os.path.lexists(path):
        return {}
    # With the bounds of a record: a link to a device has no end.
    text = file.read(path, path.parent)
    if isinstance(text, Diagnostic):
        if text.code == file.EMPTY:
            return {}
        message = f"the register can't be read: {text.message}"
        raise InputError(message, hint=text.hint, place=text.place)
    found: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        name = line.partition("#")[0].strip()
        if name:
            found.setdefault(name, number)
    return found


def add_ids(path: Path, ids: Iterable[str]) -> tuple[str, ...]:
    """Add ids to a register and return the new ones.

    An interrupted write leaves the old file, and two runs at once lose nothing.

    Raises InputError where the file can't be read or written.
    """
    try:
        with locked(path):
            known = read_register(path)
            new = tuple(sorted(set(ids) - known.keys()))
            if new:
                lines = "".join(f"{name}\n" for name in sorted({*known, *new}))
                write_text(path, _HEAD + lines, newline="\n")
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(f"the register can't be written: {why}", place=Place(str(path))) from None
    return new
