"""A record's page: its rendered text between its head and what points to it."""

from __future__ import annotations

import re
import shlex
from collections import ChainMap
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from kvgate.records.backlinks import backlinks
from kvgate.records.record import Record
from kvgate.site.addresses import Addresses
from kvgate.site.bites import Strip
from kvgate.site.book import GONE, SEVERITIES, Book, generations
from kvgate.site.fragments import fragment, headings
from kvgate.site.localgraph import drawing

__all__ = ["RecordPage", "RecordPages", "check_command", "path_of"]

_NOTES = re.compile(r'<div class="footnote">\n<hr ?/?>')
_EVIDENCE = '<h2 id="evidence">Evidence</h2>\n'
_HEADING_ID = re.compile(r'(?<=<h2 id=")[^"]+(?=")')


def path_of(record_id: str) -> str:
    """The path of a record's page among the site's sources."""
    return f"gotchas/{record_id}.md"


@dataclass(frozen=True, slots=True)
class RecordPage:
    """The HTML of a record's page: its heading, what the site puts above and below its text."""

    heading: str
    head: str
    text: str
    tail: str
    above: tuple[tuple[str, str], ...]
    """(id, title as HTML) of the headings in the head."""
    below: tuple[tuple[str, str], ...]
    """Those of the tail."""

    @property
    def html(self) -> str:
        """The whole page."""
        return self.heading + self.head + self.text + self.tail


class RecordPages:
    """Puts what the book knows of a record around the record's text.

    ``report_url`` is where somebody says that a page is wrong or that it happened to them too: a
    form that takes ``title`` and ``body``; empty where there is none. ``planner`` is the path of
    the page, among the sources, that plans a deployment; empty where there is none. ``strip`` says
    where a record bites, None where nobody can tell or it is everywhere the same.
    """

    def __init__(
        self,
        book: Book,
        addresses: Addresses,
        report_url: str = "",
        *,
        planner: str = "",
        strip: Callable[[Record], Strip | None] = lambda record: None,
    ) -> None:
        self.book = book
        self.addresses = addresses
        self.report_url = report_url
        self.planner = planner
        self.strip = strip
        self._titles = {r.id: r.title for r in book.records}
        self._hrefs: dict[str, str] = {}

    def page(self, record: Record, html: str) -> RecordPage:
        """The page of a record, from its text as it was rendered."""
        front, graph = record.front, self.book.graph
        to = self._to
        values = {
            "record": record,
            "front": front,
            "report": self.book.reports[record.id],
            "expected": sum(bool(e.want) for e in record.claims.examples),
            "generations": generations(record),
            "severity": SEVERITIES[front.severity],
            "gone": front.status in GONE,
            "read_first": self._read_first(record),
            "related": self._related(record),
            "backlinks": backlinks(graph, record.id),
            "named": ChainMap({record.id: "this record"}, self._titles),
            "check": check_command(record),
            "planned": self._planned(record),
            "picture": drawing(self.book, record.id, lambda other: to(path_of(other))),
            "reports": self._reports(record),
            "strip": None if front.status in GONE else self.strip(record),
            "to": to,
        }
        heading, found, text = html.partition("</h1>")
        if not found:
            heading, text = "", html
        heading = heading.replace("<h1 ", '<h1 class="kv-title" ', 1)
        heading = fragment("record_path.html.j2", front=front, to=to) + heading
        head = _distinct(fragment("record_head.html.j2", **values), text)
        tail = _distinct(fragment("record_tail.html.j2", **values), text)
        below = headings(tail)
        notes = _NOTES.search(text)
        if notes:
            title = _distinct(_EVIDENCE, text)
            below[:0] = headings(title)
            tail = f'{title}<div class="footnote">{text[notes.end() :]}{tail}'
            text = text[: notes.start()]
        above = tuple(headings(head))
        return RecordPage(heading + found, head, text, tail, above, tuple(below))

    def _to(self, target: str) -> str:
        """The address of a page as any record's page links to it: all stand in one folder."""
        if target not in self._hrefs:
            self._hrefs[target] = self.addresses.between(path_of("_"), target)
        return self._hrefs[target]

    def _read_first(self, record: Record) -> list[tuple[str, str]]:
        if not any(related.type == "prerequisite" for related in record.front.related):
            return []
        return [(i, self.book.title(i)) for i in self.book.graph.read_first(record.id)]

    def _related(self, record: Record) -> dict[str, list[tuple[str, str]]]:
        found: dict[str, list[tuple[str, str]]] = {}
        for related in record.front.related:
            if related.id in self.book.library.records:
                found.setdefault(related.type, []).append((related.id, self.book.title(related.id)))
        return found

    def _planned(self, record: Record) -> str:
        """The planner with the record's first hit that is a command line; empty without either."""
        hit = next((hit for hit in record.front.hits if hit.run), None)
        if hit is None or not self.planner:
            return ""
        engine, _, version = (hit.on.engine or "").partition("==")
        asked = {"line": hit.run, "gpu": hit.on.gpu, "engine": engine, "version": version}
        said = urlencode({k: v for k, v in asked.items() if v}, quote_via=quote)
        return f"{self._to(self.planner)}#{said}"

    def _reports(self, record: Record) -> list[tuple[str, str]]:
        """(what to say, address) of each way to write about a record."""
        if not self.report_url:
            return []
        mark = "&" if "?" in self.report_url else "?"
        found = []
        for say, title, what, body in (
            ("This is wrong", "is wrong", "It is wrong", _WRONG),
            ("It happened to me too", "seen again", "It happened to me too", _AGAIN),
        ):
            # A form with fields takes its own, what takes plain text takes the body.
            own = {"id": record.id, "what": what}
            asked = urlencode({"title": f"{record.id}: {title}", **own, "body": body})
            found.append((say, f"{self.report_url}{mark}{asked}"))
        return found


_WRONG = """\
What the page says:

What is true, and where one can see it (version, commit, log, link):
"""
_AGAIN = """\
Engine and version:
GPU:
Command line, or the part of the manifest that matters:

The line of the log:

What helped:
"""


def check_command(record: Record) -> str:
    """A command line that asks kvgate about the record's first hit; empty where it has none.

    A reader pastes it into a shell, so it is quoted as a shell reads it.
    """
    hit = next(iter(record.front.hits), None)
    if hit is None:
        return ""
    words = [f"gotchas/{hit.file}" if hit.file else _quoted(hit.run or "")]
    if hit.on.gpu:
        words += ["--gpu", _quoted(hit.on.gpu)]
    if hit.on.engine:
        words += ["--engine", hit.on.engine]
    return " ".join(["kvgate check", *words])


def _quoted(text: str) -> str:
    if re.search(r"[^\w@%+=:,./-]", text) and not re.search(r'["$`\\!]', text):
        return f'"{text}"'
    return shlex.quote(text)


def _distinct(html: str, text: str) -> str:
    """Headings of ours whose id something in the record's text has already, with another id."""

    def free(match: re.Match[str]) -> str:
        name, number = match[0], 1
        while f' id="{name}"' in text:
            name, number = f"{match[0]}_{number}", number + 1
        return name

    return _HEADING_ID.sub(free, html)
