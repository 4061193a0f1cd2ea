"""A record's file as text, or the one reason why it can't be read."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from kvgate.errors import Diagnostic, Place

__all__ = ["EMPTY", "LARGEST", "UNUSABLE", "read"]

LARGEST = 2**20
"""Bytes; a record is a page, and a hundred times less than this."""

EMPTY = "KV105"
"""The code of a file without text."""

UNUSABLE = frozenset(f"KV10{n}" for n in range(1, 8))
"""The codes of files that could not be read at all."""


def read(path: Path, root: Path, shown: str | None = None) -> str | Diagnostic:
    r"""The file's text with ``\n`` line ends and no byte order mark, or what is wrong with it.

    ``root`` is the folder that a symbolic link must not leave, ``shown`` the name in messages.
    """
    name = shown or str(path)

    def fault(code: str, message: str, hint: str, line: int = 1, column: int = 1) -> Diagnostic:
        return Diagnostic(code, Place(name, line, column), message, hint)

    try:
        if path.is_symlink() and not path.resolve().is_relative_to(root.resolve()):
            return fault(
                "KV103",
                "a symbolic link leads out of the records' folder",
                "put the file itself here",
            )
        info = path.stat()
        if not stat.S_ISREG(info.st_mode):
            what = "a folder" if stat.S_ISDIR(info.st_mode) else "no regular file"
            return fault("KV102", f"this is {what}, and a record is a file", "rename or remove it")
        if info.st_size > LARGEST:
            size = f"{info.st_size / 2**20:.1f} MiB"
            return fault("KV104", f"the file has {size}, and a record 1 MiB at most", "split it")
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of symbolic links, before 3.13
        why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        return fault("KV101", f"the file can't be read: {why}", "check that it exists and its mode")
    if len(data) > LARGEST:
        return fault("KV104", "the file grew over 1 MiB while it was read", "split it")
    return _text(data, fault)


def _text(data: bytes, fault: Callable[..., Diagnostic]) -> str | Diagnostic:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return fault("KV106", "the file is UTF-16", "save it as UTF-8")
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        return fault("KV105", "the file is empty", "kvgate new writes a record to start from")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line, column = _position(data[: error.start].decode("utf-8", "replace"))
        bad = f"byte 0x{data[error.start]:02x}"
        return fault("KV106", f"the file is not UTF-8: {bad}", "save it as UTF-8", line, column)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    nul = text.find("\0")
    if nul >= 0:
        line, column = _position(text[:nul])
        return fault(
            "KV107", "the file holds a NUL byte", "remove it; is this a text?", line, column
        )
    return text


def _position(before: str) -> tuple[int, int]:
    before = before.replace("\r\n", "\n").replace("\r", "\n")
    return before.count("\n") + 1, len(before) - before.rfind("\n")
