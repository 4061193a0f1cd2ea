"""One fenced code block: its place in a Markdown page, its header and its code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["TAB", "CodeLine", "Fence", "prefix_length", "source_lines"]

TAB = 4
"""The columns of a tab stop."""

_LINE = re.compile(r"([^\r\n]*)(\r\n|\n|\r|\Z)")


@dataclass(frozen=True, slots=True)
class CodeLine:
    """One line of a fence's code: the offset where its code begins, the code, its 1-based line."""

    start: int
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Fence:
    """One fenced code block; all offsets count characters of the text given.

    ``info`` is what follows the marker, stripped. ``start`` and ``end`` are the beginning of the
    opening line and the end of the closing line (line break excluded); ``body_start`` and
    ``body_end`` enclose the lines between them, each with its break. ``line`` is the 1-based line
    of the opening. ``indent`` counts the columns before the marker, quote marks included.
    ``closed`` is False where the closing line is missing; ``end`` equals ``body_end`` then.
    """

    info: str
    start: int
    end: int
    body_start: int
    body_end: int
    line: int
    closed: bool
    indent: int
    marker: str = "```"
    prefix: str = ""

    @property
    def language(self) -> str:
        """The first word of the header, lower case, without a dot or brace: ``pycon``."""
        word = (self.info.strip("{}").split() or [""])[0]
        return "" if "=" in word else word.lstrip(".").lower()

    def lines(self, text: str) -> tuple[CodeLine, ...]:
        """The lines of the body without the indentation or quote marks of the fence."""
        found = []
        for number, (start, raw) in enumerate(
            source_lines(text, self.body_start, self.body_end), 1
        ):
            line = raw.expandtabs(TAB)
            skip = prefix_length(line, self.indent)
            code = line[skip:] if line.strip() else ""
            found.append(CodeLine(start + _raw_index(raw, skip), code, self.line + number))
        return tuple(found)

    def code(self, text: str) -> str:
        """The body as code: one string, lines joined and ended by ``\\n``."""
        return "".join(f"{line.text}\n" for line in self.lines(text))


def prefix_length(line: str, most: int) -> int:
    """How many of the first ``most`` characters are spaces and quote marks."""
    length = 0
    while length < most and length < len(line) and line[length] in " >":
        length += 1
    return length


def _raw_index(raw: str, column: int) -> int:
    """The index in ``raw`` of the character that covers ``column`` once tabs are expanded."""
    if "\t" not in raw:
        return column
    index = at = 0
    while index < len(raw) and at < column:
        at += TAB - at % TAB if raw[index] == "\t" else 1
        index += 1
    return index


def source_lines(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """Each line's offset and text; a text that ends in a line break has no empty line after it."""
    at = start
    while at < end:
        line = _LINE.match(text, at, end)
        if not line:
            return
        yield at, line[1]
        at = line.end()
