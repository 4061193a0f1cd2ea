"""What a page may ask of the renderer: a few inputs cost it time that grows with their square.

Everything people write stays far below; what comes near was made to hurt.
"""

from __future__ import annotations

import re
from collections import Counter

from kvgate.errors import InputError, Place

__all__ = ["check"]

_MOST = 2_000_000  # characters of a page
_SHORT = 4_000  # characters in which no such cost can come together
_COST = 20_000_000  # characters read again and again by a regular expression: a second or two
_SLOW_COST = 3_000_000  # the same by a loop in Python
_FOOTNOTES = 1_000  # references to one footnote
_TAG = re.compile(r"<[A-Za-z/]|>")
_BREAK = re.compile(r"^ {0,3}(?:#{1,6}|(?:[-*_] *){3,}$|=+ *$)|^ *$", re.MULTILINE)
# Each level of nesting costs the parser several frames of Python's stack; people nest three or so.
_DEEP = re.compile(
    r"^[ \t]*(?:(?:[*+-]|\d+\.)[ \t]+|>[ \t]*){40,}|^(?: {4}|\t){40,}(?:[*+-]|\d+\.)[ \t]",
    re.MULTILINE,
)
_BRACKET = re.compile(r"\\.|\[|\]\(?|\)|\n(?=[ \t]*(?:\n|\||[*+-][ \t]|\d+\.[ \t]))|\Z", re.DOTALL)
_FOOTNOTE = re.compile(r"\[\^[^\]]*\]")


def check(text: str, start: int, end: int, path: str = "") -> None:
    """Raise InputError when ``text[start:end]``, prose between two fences, is more than it takes.

    Too much are 40 list and quote marks on one line, thousands of tags, brackets, parentheses that
    are never closed, of headings or rules with no blank line between, of uses of one footnote.
    """
    if end - start > _MOST:
        message = f"the page has {end - start} characters, more than {_MOST}"
        raise InputError(message, hint="divide it into several", place=Place(path))
    if deep := _DEEP.search(text, start, end):
        raise InputError(
            "lists or quotes are nested too deep",
            hint="nest them three or four levels deep at most",
            place=_place(text, deep.start(), path),
        )
    if end - start > _SHORT:
        _check_tags(text, start, end, path)
        _check_breaks(text, start, end, path)
        if text.count("[", start, end) > _FOOTNOTES:
            _check_brackets(text, start, end, path)
            _check_footnotes(text, start, end, path)


def _check_tags(text: str, start: int, end: int, path: str) -> None:
    """Each tag that is not ended makes the parser read on to the next ``>``."""
    cost, waiting, first = 0, 0, 0
    for match in _TAG.finditer(text, start, end):
        if match[0] == ">":
            waiting = 0
        else:
            waiting += 1
            first = match.start() if waiting == 1 else first
            cost += match.start() - first
    if cost > _COST:
        raise InputError(
            "there are thousands of HTML tags that are never ended",
            hint="write &lt; or put code in backticks",
            place=_place(text, first, path),
        )


def _check_breaks(text: str, start: int, end: int, path: str) -> None:
    """Each heading and rule makes the parser look at the rest of its block anew."""
    breaks, first = 0, start
    for match in _BREAK.finditer(text, start, end):
        if match[0].strip(" "):
            breaks += 1
            if breaks * (match.start() - first) > _COST:
                raise InputError(
                    "there are thousands of headings or rules with no blank line between",
                    hint="put a blank line before and after each",
                    place=_place(text, first, path),
                )
        else:
            breaks, first = 0, match.end()


def _check_brackets(text: str, start: int, end: int, path: str) -> None:
    """Each ``[`` makes the parser read on to its ``]``, each ``](`` to its ``)``."""
    cost = 0
    brackets: list[int] = []
    addresses: list[int] = []
    for match in _BRACKET.finditer(text, start, end):
        at, mark = match.start(), match[0]
        if mark == "[":
            brackets.append(at)
        elif mark.startswith("]"):
            cost += at - brackets.pop() if brackets else 0
            if mark == "](":
                addresses.append(at)
        elif mark == ")":
            cost += at - addresses.pop() if addresses else 0
        elif not mark.startswith("\\"):  # the end of a run of text
            cost += sum(at - opened for opened in (*brackets, *addresses))
            brackets, addresses = [], []
        if cost > _SLOW_COST:
            raise InputError(
                "there are thousands of brackets that are closed late or never",
                hint="close them, or put code in backticks and fences",
                place=_place(text, at, path),
            )


def _check_footnotes(text: str, start: int, end: int, path: str) -> None:
    """Each further use of a footnote makes the renderer go through the former ones."""
    uses = Counter(_FOOTNOTE.findall(text, start, end)).most_common(1)
    if uses and uses[0][1] > _FOOTNOTES:
        name, times = uses[0]
        place = _place(text, text.index(name, start), path)
        message = f"the footnote {name} is used {times} times, more than {_FOOTNOTES}"
        raise InputError(message, hint="say it once", place=place)


def _place(text: str, at: int, path: str) -> Place:
    line = text.count("\n", 0, at) + 1
    return Place(path, line, at - text.rfind("\n", 0, at))
