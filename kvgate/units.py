"""Bytes and their names. KiB, MiB, GiB are powers of two; kB, MB, GB are powers of ten."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kvgate.errors import InputError

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = [
    "GB",
    "KB",
    "MB",
    "TB",
    "GiB",
    "KiB",
    "MiB",
    "TiB",
    "counted",
    "format_bytes",
    "parse_bytes",
    "parse_count",
    "whole_number",
]

KiB, MiB, GiB, TiB = 2**10, 2**20, 2**30, 2**40
KB, MB, GB, TB = 10**3, 10**6, 10**9, 10**12

_BYTES = {
    "B": 1, "KiB": KiB, "MiB": MiB, "GiB": GiB, "TiB": TiB,
    "kB": KB, "KB": KB, "MB": MB, "GB": GB, "TB": TB,
}  # fmt: skip
_NUMBER = re.compile(r"\s*([0-9][0-9_,]*(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*\Z")

_DIGITS = 100  # Python reads numbers of more than 4,300 digits only when told to

# vLLM's human-readable integers: lower case counts in thousands, upper case in 1024s
# (vllm 0.33.0 engine/arg_utils.py, human_readable_int).
_COUNT = {"": 1, "k": KB, "m": MB, "g": GB, "t": TB, "K": KiB, "M": MiB, "G": GiB, "T": TiB}


def format_bytes(count: float, *, digits: int = 2) -> str:
    """Bytes in the largest power-of-two unit that keeps the number at or above 1.

    >>> format_bytes(24576)
    '24.00 KiB'
    >>> format_bytes(132)
    '132 B'
    """
    size = abs(count)
    for name, unit in (("TiB", TiB), ("GiB", GiB), ("MiB", MiB), ("KiB", KiB)):
        if size >= unit:
            return f"{count / unit:,.{digits}f} {name}"
    return f"{count:,.{digits}f} B" if count != int(count) else f"{int(count)} B"


def counted(count: int, noun: str) -> str:
    """A number with its noun, which takes an s but for one.

    >>> counted(1, "token"), counted(131072, "token")
    ('1 token', '131,072 tokens')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def parse_bytes(text: str) -> int:
    """Bytes from a number with a unit; a bare number is bytes.

    Raises InputError when the text is no number, the unit is unknown, or bytes are not whole.

    >>> parse_bytes("24.0 KiB")
    24576
    """
    match = _NUMBER.match(text)
    if not match:
        raise InputError(
            f"{text!r} is not a size", hint="write a number and a unit, such as 24.0 KiB"
        )
    number, unit = match.groups()
    if unit and unit not in _BYTES:
        raise InputError(f"unknown unit {unit!r} in {text!r}", hint=f"known: {', '.join(_BYTES)}")
    value = _exactly(number) * _BYTES[unit or "B"]
    if value.denominator != 1:
        raise InputError(f"{text!r} is not a whole number of bytes")
    return int(value)


def parse_count(text: str) -> int:
    """A whole number as vLLM's flags read it: ``128k`` is 128,000 and ``128K`` is 131,072.

    Raises InputError for anything else.

    >>> parse_count("128K"), parse_count("128k"), parse_count("131072")
    (131072, 128000, 131072)
    """
    match = _NUMBER.match(text)
    number, unit = match.groups() if match else ("", "?")
    if unit not in _COUNT:
        raise InputError(f"{text!r} is not a whole number", hint="write 131072, 128k or 128K")
    value = _exactly(number) * _COUNT[unit]
    if value.denominator != 1:
        raise InputError(f"{text!r} is not a whole number")
    return int(value)


def whole_number(text: str) -> int | None:
    """The number that decimal digits and nothing else stand for; None for any other text.

    >>> whole_number("64"), whole_number("²"), whole_number("-1")
    (64, None, None)
    """
    return int(text) if text.isdecimal() and len(text) <= _DIGITS else None


def _exactly(number: str) -> Fraction:
    if len(number) > _DIGITS:
        raise InputError(f"a number of {len(number)} digits is too long to be a quantity")
    # Imported where a text is read: most commands read none, and it takes a while.
    from fractions import Fraction

    return Fraction(re.sub("[_,]", "", number))
