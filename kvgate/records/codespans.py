"""Code spans, by the pairing rules of the renderer (Python-Markdown's and pymdownx's are the same).

A run of backticks closes at the next run of the same length; when there is none, it pairs with the
longest run after it if that is shorter, and its first backticks are text.
"""

from __future__ import annotations

import re
from bisect import bisect_right

__all__ = ["atoms", "shown"]

_RUN = re.compile(r"`+")
# Noncharacters stand for what has a meaning in Markdown, so that code is never read as markup.
_MARKUP = "[]()<>!|\\#*_$^"
_HIDE = str.maketrans(_MARKUP, "".join(map(chr, range(0xFDD3, 0xFDD3 + len(_MARKUP)))))
_SHOW = {hidden: chr(shown) for shown, hidden in _HIDE.items()}
_HIDE[ord("\n")] = ord(" ")


def atoms(text: str) -> tuple[str, tuple[int, ...]]:
    r"""``text``, as long as before, with each code span between STX and ETX; and the lone runs.

    The lone runs are the offsets of backticks that have no partner of the same length. What could
    be markup inside a code span is hidden; ``shown`` brings it back.

    >>> atoms("a `b` c")
    ('a \x02b\x03 c', ())
    """
    if "`" not in text:
        return text, ()
    runs = [match.span() for match in _RUN.finditer(text)]
    longest = _longest_after(runs)
    places: dict[int, list[int]] = {}
    for number, (start, end) in enumerate(runs):
        places.setdefault(end - start, []).append(number)
    parts, lone = [], []
    at = number = skip = 0
    while number < len(runs):
        start, end = runs[number]
        slashes = _slashes(text, start)
        if slashes % 2 or (slashes and start - slashes < skip):
            start += 1  # a backslash makes the first backtick text
        start = max(start, skip)
        ticks = end - start
        if ticks < 1:
            number += 1
            continue
        closer = _next(places.get(ticks, ()), number)
        if closer is None:
            lone.append(start)
            closer = longest[number]
            if closer is None or runs[closer][1] - runs[closer][0] >= ticks:
                number += 1
                skip = end + ticks  # the renderer passes over so many characters more
                continue
        stop = runs[closer][1]
        parts += [text[at:start], "\x02", text[start + 1 : stop - 1].translate(_HIDE), "\x03"]
        at, number = stop, closer + 1
    return "".join([*parts, text[at:]]), tuple(lone)


def shown(text: str) -> str:
    """Text with atoms as plain text: what was hidden back again, without the backticks."""
    return text.replace("\x02", "").replace("\x03", "").replace("`", "").translate(_SHOW)


def _longest_after(runs: list[tuple[int, int]]) -> list[int | None]:
    """For each run the first of the longest runs after it."""
    found: list[int | None] = []
    best: int | None = None
    for number in range(len(runs) - 1, -1, -1):
        found.append(best)
        start, end = runs[number]
        if best is None or end - start >= runs[best][1] - runs[best][0]:
            best = number
    return found[::-1]


def _next(places: list[int] | tuple[int, ...], after: int) -> int | None:
    at = bisect_right(places, after)
    return places[at] if at < len(places) else None


def _slashes(text: str, at: int) -> int:
    first = at
    while first and text[first - 1] == "\\":
        first -= 1
    return at - first
