"""Why an example failed, in the words of the exception: one line, the same on every run."""

from __future__ import annotations

import re

__all__ = ["reason"]

_LONGEST = 400
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def reason(error: Exception) -> str:
    """The exception's type and text, without addresses of objects, which differ from run to run.

    >>> reason(ValueError("no such thing"))
    'ValueError: no such thing'
    """
    try:
        said = str(error)
    except Exception:  # an exception's text may be made by what raised it
        said = "its text cannot be shown"
    said = _CONTROL.sub(" ", _ADDRESS.sub("", said))
    return f"{type(error).__name__}: {said}"[:_LONGEST]
