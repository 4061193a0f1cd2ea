"""Units of prose: the sentences, table cells and list items that say one thing each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kvgate.records.footnotes import REFERENCE

__all__ = ["Unit", "units"]

_HEADING = re.compile(r"#{1,6}(?!#)")
_UNDERLINE = re.compile(r"(?:=+|-+)[ ]*\Z")
_QUOTE = re.compile(r"[ \t]*(?:>[ \t]?)+")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_OPENER = re.compile(r"[ \t]*(?:: |\[\^[^\]\s]{1,80}\]:)")
_TITLE = re.compile(r"[ \t]*(?:!!!|\?\?\?\+?|===)[ \t]")
_DELIMITERS = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*\Z")
_PIPE = re.compile(r"(?<!\\)\|")
# The end of a sentence: a stop, what closes with it, footnotes right behind or after one space.
_STOP = re.compile(
    r"(?<![.!?\u2026])[.!?\u2026]++[\"'\u201d\u2019)\]*_]*+(?:[ ]?\[\^[^\]\[\s^]{1,80}\])*+(?=\s)"
    r"|[\u3002\uff01\uff1f]"
)
_ABBREVIATIONS = re.compile(
    r"(?:al|approx|avg|ca|cf|e\.g|eg|eq|etc|excl|fig|i\.e|ie|incl|max|min|nos?|pp?|resp|sec|st|v|ver"
    r"|vs|[A-Z])\Z",
    re.IGNORECASE,
)
_WORD_BEFORE = re.compile(r"([A-Za-z][A-Za-z.]*)\Z")
# What the reader isn't told: link targets, addresses, tags.
_TARGETS = re.compile(
    r"\]\([^()\s]*+(?:\([^()\s]*+\)[^()\s]*+)*+(?=[\s)])"
    r"|https?://[^\s<>)\]|]+"
    r"|</?[A-Za-z][^<>\n]*>"
    r"|\[\[[^\]\[|\n]*(?:\||(?=\]\]))"
)


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of prose at an offset of the page.

    ``kind`` is how a message calls it: sentence, table row. ``vouched`` says that a footnote
    elsewhere bears it: in its row, or at the head of its column. ``head`` is the text
    at the head of a cell's column, which may name the unit of its numbers.
    """

    start: int
    text: str
    kind: str = "sentence"
    vouched: bool = False
    head: str = ""


def units(prose: str) -> Iterator[Unit]:
    """The units of a page's prose (see `kvgate.records.prose`), in order; headings are none."""
    prose = _TARGETS.sub(lambda m: "".join("\n" if c == "\n" else " " for c in m[0]), prose)
    for start, lines in _blocks(prose):
        if len(lines) > 1 and "|" in lines[0] and _DELIMITERS.match(lines[1]) and "|" in lines[1]:
            yield from _cells(start, lines)
        else:
            yield from _paragraph(start, lines)


def _blocks(prose: str) -> Iterator[tuple[int, list[str]]]:
    """Runs of lines without a blank one, with the offset of the first."""
    at = begin = 0
    lines: list[str] = []
    for line in prose.split("\n"):
        if line.strip() and not _HEADING.match(line):
            if not lines:
                begin = at
            lines.append(line)
        elif lines:
            yield begin, lines
            lines = []
        at += len(line) + 1
    if lines:
        yield begin, lines


def _paragraph(start: int, lines: list[str]) -> Iterator[Unit]:
    if len(lines) > 1 and _UNDERLINE.match(lines[1]):
        start, lines = start + len(lines[0]) + len(lines[1]) + 2, lines[2:]
    at = begin = start
    text: list[str] = []
    alone = False  # the title of an admonition or tab goes with no other line
    for line in lines:
        quoted = _QUOTE.match(line)
        skip = quoted.end() if quoted else 0
        title = _TITLE.match(line, skip)
        item = title or _ITEM.match(line, skip) or _OPENER.match(line, skip)
        if text and (item or alone):
            yield from _sentences(begin, "\n".join(text))
            text = []
        if not text:
            begin = at
        alone = title is not None
        skip = item.end() if item else skip
        text.append(" " * skip + line[skip:])
        at += len(line) + 1
    if text:
        yield from _sentences(begin, "\n".join(text))


def _sentences(start: int, text: str) -> Iterator[Unit]:
    begin = 0
    for stop in _STOP.finditer(text):
        if not _ends(text, stop):
            continue
        yield Unit(start + begin, text[begin : stop.end()])
        begin = stop.end()
    if text[begin:].strip():
        yield Unit(start + begin, text[begin:])


def _ends(text: str, stop: re.Match[str]) -> bool:
    after = text[stop.end() : stop.end() + 60].lstrip(" \t\n*_\"'(\u201c\u2018[")
    if after[:1].islower():
        return False
    if stop[0].startswith(".") and "[^" not in stop[0]:
        word = _WORD_BEFORE.search(text, max(0, stop.start() - 12), stop.start())
        if word and _ABBREVIATIONS.match(word[1]):
            return False
    return True


def _cells(start: int, lines: list[str]) -> Iterator[Unit]:
    """The cells of a table. A row is said in one breath: a footnote in it bears all its cells."""
    heads = [lines[0][a:b] for a, b in _split(lines[0])]
    at = start
    for number, line in enumerate(lines):
        cells = list(_split(line)) if number != 1 else []
        row = bool(REFERENCE.search(line))
        for index, (a, b) in enumerate(cells):
            head = heads[index] if index < len(heads) else ""
            vouched = row or bool(REFERENCE.search(head))
            yield Unit(at + a, line[a:b], "table row", vouched, head if number else "")
        at += len(line) + 1


def _split(line: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for pipe in _PIPE.finditer(line):
        if line[begin : pipe.start()].strip() or begin:
            yield begin, pipe.start()
        begin = pipe.end()
    if line[begin:].strip():
        yield begin, len(line)
