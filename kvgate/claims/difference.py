"""How an expected text and the one that was computed differ, in few words."""

from __future__ import annotations

import difflib

__all__ = ["difference"]

_SHORT = 60
_AROUND = 30


def difference(expected: str, got: str) -> str:
    """``expected 12, got 13``; for longer texts an indented block that shows where they part.

    >>> difference("12", "13")
    'expected 12, got 13'
    """
    if "\n" in got:
        return _lines(expected, got)
    expected = " ".join(expected.split()) if "\n" in expected else expected
    if len(expected) <= _SHORT and len(got) <= _SHORT:
        return f"expected {expected}, got {got}"
    at = _parting(expected, got)
    start = max(0, at - _AROUND)
    before = "…" if start else ""
    caret = " " * (len(before) + at - start) + "^"
    return (
        f"the value differs from character {at + 1} on"
        f"\n    expected: {before}{_cut(expected, start)}"
        f"\n    got:      {before}{_cut(got, start)}"
        f"\n              {caret}"
    )


def _parting(expected: str, got: str) -> int:
    for at, (left, right) in enumerate(zip(expected, got, strict=False)):
        if left != right:
            return at
    return min(len(expected), len(got))


def _cut(text: str, start: int) -> str:
    end = start + _AROUND + _SHORT
    return text[start:end] + ("…" if len(text) > end else "")


def _lines(expected: str, got: str) -> str:
    changes = [
        line
        for line in difflib.unified_diff(
            expected.split("\n")[:200], got.split("\n")[:200], lineterm="", n=1
        )
        if not line.startswith(("---", "+++", "@@"))
    ]
    shown = [_cut(line, 0) for line in changes[:20]]
    more = [f"… and {len(changes) - 20} more lines"] if len(changes) > 20 else []
    return "\n    ".join(["the value differs (- expected, + got):", *shown, *more])
