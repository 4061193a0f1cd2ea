"""The prose of a page: its text with everything blanked out that isn't said to the reader.

Blanking keeps every offset: what is found in the prose stands at the same place in the file.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from kvgate.claims.fences import fences

__all__ = ["CODE", "blank"]

CODE = "\ufffc"
"""Stands for each character of a code span: it is no space, no letter and no digit."""

_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}\.)[ \t]")
_HOLDER = re.compile(r" {0,3}(?:!!!|\?\?\?\+?|===|\[\^[^\]]*\]:|: )")
_MARK = re.compile(r"\\.|`+|<!--", re.DOTALL)


def blank(text: str, offset: int) -> str:
    """``text`` with code, comments and all before ``offset`` replaced, character by character.

    Blocks of code and comments become spaces, code spans a run of CODE.

    >>> blank("a `b` <!-- c --> d", 0).replace(CODE, "#")
    'a ###            d'
    """
    hidden = [(0, offset)]
    hidden.extend((offset + f.start, offset + f.end) for f in fences(text[offset:]))
    text = _paint(text, hidden, " ")
    text = _paint(text, list(_indented(text)), " ")
    spans, comments = _inline(text)
    return _paint(_paint(text, comments, " "), spans, CODE)


def _paint(text: str, spans: list[tuple[int, int]], colour: str) -> str:
    parts, at = [], 0
    for start, end in spans:
        parts.append(text[at:start])
        parts.append("\n".join([colour * len(line) for line in text[start:end].split("\n")]))
        at = end
    parts.append(text[at:])
    return "".join(parts)


def _indented(text: str) -> Iterator[tuple[int, int]]:
    """Blocks that are code because of their indentation: deeper than the list above them holds."""
    holds = 0  # how many levels of four columns the last list or admonition takes as its own
    at = start = 0
    level = 0
    after_blank = True
    code_from = -1
    for line in text.split("\n"):
        start, at = at, at + len(line) + 1
        if not line.strip():
            after_blank = True
            continue
        wide = line.expandtabs(4) if "\t" in line else line
        level = (len(wide) - len(wide.lstrip(" "))) // 4
        if code_from >= 0 and level <= holds:
            yield code_from, start
            code_from = -1
        if code_from < 0 and level > holds and after_blank:
            code_from = start
        elif code_from < 0:
            if _ITEM.match(line) or _HOLDER.match(line):
                holds = level + 1
            elif after_blank and level < holds:
                holds = level
        after_blank = False
    if code_from >= 0:
        yield code_from, len(text)


def _inline(text: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The code spans and the HTML comments, in one pass: each may hold the other's marks."""
    ticks: dict[int, list[int]] = {}
    for run in re.finditer("`+", text):
        ticks.setdefault(len(run[0]), []).append(run.start())
    breaks = [m.start() for m in re.finditer(r"\n[ \t]*\n", text)]
    spans: list[tuple[int, int]] = []
    comments: list[tuple[int, int]] = []
    at = 0
    unclosed = False
    while mark := _MARK.search(text, at):
        at = mark.end()
        if mark[0] == "<!--":
            end = -1 if unclosed else text.find("-->", at)
            unclosed = end < 0
            if end >= 0:
                at = end + 3
                comments.append((mark.start(), at))
        elif mark[0][0] == "`":
            same = ticks.get(len(mark[0]), [])
            index = bisect_left(same, at)
            # A code span ends within its paragraph.
            stop = bisect_left(breaks, at)
            limit = breaks[stop] if stop < len(breaks) else len(text)
            if index < len(same) and same[index] < limit:
                at = same[index] + len(mark[0])
                spans.append((mark.start(), at))
    return spans, comments
