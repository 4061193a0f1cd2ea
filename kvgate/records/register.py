"""The register: every id that was ever published, so that none is lost and none is used again."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from kvgate.errors import InputError, Place

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
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise InputError(f"the register can't be read: {why}", place=Place(str(path))) from None
    found: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        name = line.partition("#")[0].strip()
        if name:
            found.setdefault(name, number)
    return found


def add_ids(path: Path, ids: Iterable[str]) -> tuple[str, ...]:
    """Add ids to a register and return the new ones; an interrupted write leaves the old file.

    Raises InputError where the file can't be read or written.
    """
    known = read_register(path)
    new = tuple(sorted(set(ids) - known.keys()))
    if not new:
        return ()
    text = _HEAD + "".join(f"{name}\n" for name in sorted({*known, *new}))
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            Path(name).chmod(path.stat().st_mode & 0o777 if path.exists() else 0o644)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(f"the register can't be written: {why}", place=Place(str(path))) from None
    return new
