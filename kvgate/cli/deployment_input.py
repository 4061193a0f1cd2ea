"""The argument of `kvgate check`: a command line, a file, or - for standard input."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from kvgate.deployment import Deployment
from kvgate.errors import InputError, Place
from kvgate.manifests import read_deployments

__all__ = ["read_argument"]

# A manifest has some kilobytes; what is larger was not meant for a person's eyes.
_LARGEST = 16 * 2**20


def read_argument(text: str, *, engine: str | None) -> tuple[Deployment, ...]:
    """The deployments that the argument stands for.

    Raises InputError where it is neither a file nor a command that starts a known engine.
    """
    if text == "-":
        return read_deployments(_decode(sys.stdin.buffer.read(_LARGEST), "-"), "-", engine=engine)
    if _is_file(text):
        path = Path(text)
        place = Place(text)
        try:
            if path.stat().st_size > _LARGEST:
                raise InputError("is too large for a deployment", place=place, code="KV003")
            data = path.read_bytes()
        except OSError as error:
            raise InputError(
                f"cannot be read: {error.strerror}", place=place, code="KV002"
            ) from None
        return read_deployments(_decode(data, text), text, engine=engine, folder=path.parent)
    if " " not in text.strip() and (os.sep in text or "." in text):
        raise InputError("there is no such file", place=Place(text), code="KV002")
    return read_deployments(text, "<command line>", engine=engine, folder=Path.cwd())


def _is_file(text: str) -> bool:
    try:
        return len(text) < 4096 and "\n" not in text and Path(text).is_file()
    except (OSError, ValueError):
        # A command line with a NUL or of a length no path has is no file.
        return False


def _decode(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError("is not UTF-8", place=Place(name, line), code="KV003") from None
