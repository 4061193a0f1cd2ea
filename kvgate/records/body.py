"""The body of a record: its headings and the sections they open."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from kvgate.errors import Diagnostic, Place

__all__ = ["REQUIRED", "Section", "check", "sections"]

REQUIRED = ("Symptom", "Root cause", "Workaround", "Notes")
"""The sections every record has, in this order; others may stand among them."""

# What Python-Markdown takes as a heading: hashes at the very start of a line, or an underline below
# the first line of a block.
_ATX = re.compile(r"^(#{1,6})[ \t]*+([^\n]*)$", re.MULTILINE)
_UNDERLINE = re.compile(r"^(?:=+|-+)[ ]*$", re.MULTILINE)
_ATTRIBUTES = re.compile(r"[ \t]*\{[^{}\n]*\}\Z")
_LEVELS = 7


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the text below it, down to the next heading of its level or above.

    ``start`` is the offset of the heading, ``body_start`` the offset after its line, ``end`` where
    the section stops; ``line`` is the heading's 1-based line. All count in the file.
    """

    level: int
    title: str
    line: int
    start: int
    body_start: int
    end: int

    def body(self, text: str) -> str:
        """The Markdown below the heading."""
        return text[self.body_start : self.end].strip("\n")


@dataclass(frozen=True, slots=True)
class _Heading:
    start: int
    body_start: int
    level: int
    title: str


def sections(text: str, prose: str, offset: int) -> tuple[Section, ...]:
    """The sections of a page from ``offset`` on, in the order of their headings.

    ``prose`` is ``text`` with code and comments blanked out (`kvgate.records.prose.blank`), so that
    a ``#`` in them opens nothing.
    """
    found = sorted(_headings(text, prose, offset), key=lambda heading: heading.start)
    ends = [0] * len(found)
    below = [len(text)] * _LEVELS  # by level: where a section of that level ends
    for index in range(len(found) - 1, -1, -1):
        level = found[index].level
        ends[index] = below[level]
        below[level:] = [found[index].start] * (_LEVELS - level)
    made = []
    line, counted = 1, 0
    for heading, end in zip(found, ends, strict=True):
        line += text.count("\n", counted, heading.start)
        counted = heading.start
        made.append(
            Section(heading.level, heading.title, line, heading.start, heading.body_start, end)
        )
    return tuple(made)


def _headings(text: str, prose: str, offset: int) -> Iterator[_Heading]:
    for match in _ATX.finditer(prose, offset):
        title = text[match.start(2) : match.end(2)].rstrip().rstrip("#").rstrip()
        end = min(match.end() + 1, len(text))
        yield _Heading(match.start(), end, len(match[1]), _ATTRIBUTES.sub("", title))
    for match in _UNDERLINE.finditer(prose, offset):
        above = prose.rfind("\n", 0, max(match.start() - 1, 0)) + 1
        over = prose.rfind("\n", 0, max(above - 1, 0)) + 1
        line = prose[above : match.start()]
        begins_a_block = above <= offset or not prose[over:above].strip()
        if line.strip() and begins_a_block and not line.startswith("#"):
            title = text[above : match.start()].strip()
            level = 1 if match[0][0] == "=" else 2
            yield _Heading(above, min(match.end() + 1, len(text)), level, title)


def check(found: tuple[Section, ...], text: str, path: str, line: int) -> Iterator[Diagnostic]:
    """What is wrong with a record's sections; ``line`` is where its body begins."""
    seen: dict[str, Section] = {}
    for section in found:
        place = Place(path, section.line)
        if section.level == 1:
            hint = "begin sections with ##; the page takes its title from the front matter"
            yield Diagnostic("KV145", place, f"a first-level heading: {section.title!r}", hint)
        if section.level != 2:
            continue
        name = section.title
        if name in seen:
            first = f"the first is on line {seen[name].line}"
            message = f"the section {name!r} stands here again; {first}"
            yield Diagnostic("KV143", place, message, "merge the two")
            continue
        seen[name] = section
        if not section.body(text).strip():
            hint = "write at least one sentence"
            yield Diagnostic("KV144", place, f"the section {name!r} is empty", hint)
    yield from _required(seen, path, line)


def _required(seen: dict[str, Section], path: str, line: int) -> Iterator[Diagnostic]:
    order = f"the order is {', '.join(REQUIRED)}"
    for missing in (name for name in REQUIRED if name not in seen):
        similar = [name for name in seen if name.casefold() == missing.casefold()]
        at = seen[similar[0]].line if similar else line
        hint = f"write it ## {missing}" if similar else f"add ## {missing}; {order}"
        yield Diagnostic("KV141", Place(path, at), f"the section {missing!r} is missing", hint)
    present = [name for name in seen if name in REQUIRED]
    for before, after in pairwise(present):
        if REQUIRED.index(before) > REQUIRED.index(after):
            message = f"the section {after!r} stands after {before!r}"
            yield Diagnostic("KV142", Place(path, seen[after].line), message, order)
