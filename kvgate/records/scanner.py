"""The scanner: every wiki-link of a page with its place in the source, and what is wrong.

It sees what the renderer sees: it reads the page with the renderer's block rules (``pagetree``) and
finds links in each run of text with the renderer's own function (``wikilinks.find``). So code,
fences, comments, escapes, front matter and raw HTML hold no links, and the links come in the order
in which they are rendered (those in footnotes last).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from kvgate.errors import Diagnostic, InputError, Place
from kvgate.records import pagefaults
from kvgate.records.codespans import atoms
from kvgate.records.headings import headings
from kvgate.records.linkcodes import CODES
from kvgate.records.pagefaults import Fault
from kvgate.records.pagetree import PageTree, Run, front_matter_end, parse
from kvgate.records.resolver import Heading
from kvgate.records.sentences import sentence
from kvgate.records.wikilinks import LINK, Found, find, looks_like_link, tidy

__all__ = ["CODES", "Scan", "WikiLink", "scan"]


@dataclass(frozen=True, slots=True)
class WikiLink:
    """One wiki-link of a page.

    ``target``, ``heading`` and ``label`` are plain text (NFC, spaces collapsed), empty where not
    written. ``start`` and ``end`` are offsets in the text scanned, ``place`` the line and column of
    the start. ``section`` is the heading it stands under (None above the first and in footnotes),
    ``paragraph`` the number of its run of text.
    """

    target: str
    heading: str
    label: str
    place: Place
    start: int
    end: int
    section: Heading | None
    paragraph: int
    context: tuple[str, int, int] = field(repr=False)
    """The run of text (code set aside) and where in it the link stands."""

    @property
    def sentence(self) -> str:
        """The sentence around the link, as plain text."""
        return sentence(*self.context)


@dataclass(frozen=True, slots=True)
class Scan:
    """What a page holds: links and headings in the order of the rendered page, and problems."""

    links: tuple[WikiLink, ...]
    headings: tuple[Heading, ...]
    problems: tuple[Diagnostic, ...]


def scan(
    text: str, *, path: str = "", offset: int | None = None, markdown_in_html: bool = False
) -> Scan:
    """Scan a page for wiki-links.

    ``text`` is the whole file; ``offset`` is where its body begins, by default after the front
    matter. Places and offsets count in ``text``. Never raises for what a page holds.

    >>> [(k.target, k.place.column) for k in scan("`[[a]]` and [[b-c|that]]").links]
    [('b-c', 13)]
    """
    offset = front_matter_end(text) if offset is None else offset
    try:
        page = parse(text, offset, path=path, markdown_in_html=markdown_in_html)
        return _Scanner(text, path, page).scan(offset)
    except InputError as error:
        place = error.place or Place(path)
        return Scan((), (), (Diagnostic("KV230", place, error.message, error.hint),))


class _Scanner:
    def __init__(self, text: str, path: str, page: PageTree) -> None:
        self.text = text
        self.path = path
        self.page = page
        self.starts = [0, *(match.end() for match in re.finditer(r"\r\n?|\n", text))]
        self.problems: list[Diagnostic] = []

    def scan(self, offset: int) -> Scan:
        found: list[tuple[Run, str, Found]] = []
        for run in self.page.runs():
            if run.marks:
                found += self._run(run)
        for spot in pagefaults.of_page(self.text, offset, self.page):
            self._note(spot.start, spot.fault)
        known = headings(self.page)
        links = tuple(self._link(run, masked, link, known) for run, masked, link in found)
        self.problems.sort(key=lambda problem: problem.place)
        return Scan(links, known, tuple(self.problems))

    def _run(self, run: Run) -> Iterator[tuple[Run, str, Found]]:
        """The links of a run of text; problems are noted."""
        masked, lone = atoms(run.text)
        met = set()
        for found in find(masked, self.page.references):
            met.add(found.start)
            if found.start not in run.marks:  # the renderer itself lost some of the text here
                self._note(min(run.marks.values()), pagefaults.GARBLED)
            elif found.kind == LINK:
                yield run, masked, found
            elif found.kind in pagefaults.SHAPES:
                length = found.end - found.start
                self._note(run.marks[found.start], pagefaults.SHAPES[found.kind], length)
        for at, source in run.marks.items():
            if at not in met and run.tag in ("td", "th") and self._is_cut(masked, at, source):
                self._note(source, pagefaults.CUT)
        if lone and met:
            self._note(min(run.marks.values()), pagefaults.LONE_BACKTICK)

    def _is_cut(self, masked: str, at: int, source: int) -> bool:
        line = self.text[source : self._line_end(source)]
        return looks_like_link(line, 0) and "]]" not in masked[at:] and "\x03" not in masked[at:]

    def _link(self, run: Run, masked: str, found: Found, known: tuple[Heading, ...]) -> WikiLink:
        start = run.marks[found.start]
        section = None if run.footnote or not run.headings else known[run.headings - 1]
        return WikiLink(
            tidy(found.target),
            tidy(found.heading),
            tidy(found.label),
            self._place(start),
            start,
            self._end(start, run.text[found.start : found.end]),
            section,
            run.number,
            (masked, found.start, found.end),
        )

    def _end(self, start: int, written: str) -> int:
        """Where the link ends in the source, whose lines may begin with quote marks and spaces."""
        at = start
        for letter in "".join(written.split()):
            while at < len(self.text) and self.text[at] != letter:
                at += 1
            at += 1
        return min(at, len(self.text))

    def _note(self, start: int, fault: Fault, length: int = 0) -> None:
        place = self._place(start)
        end = place.column + length if length else 0
        self.problems.append(Diagnostic(fault.code, place, fault.message, fault.hint, end))

    def _place(self, at: int) -> Place:
        line = bisect_right(self.starts, at)
        return Place(self.path, line, at - self.starts[line - 1] + 1)

    def _line_end(self, at: int) -> int:
        line = bisect_right(self.starts, at)
        return self.starts[line] if line < len(self.starts) else len(self.text)
