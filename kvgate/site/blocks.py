"""What hand-written pages can ask for by ``<!-- kvgate: name -->``: pieces made from the book."""

from __future__ import annotations

from collections.abc import Mapping

from kvgate.records.record import Record
from kvgate.site.book import GONE, SEVERITIES, Book
from kvgate.site.computed import backends_block, chart_block, size_block
from kvgate.site.fields import field_tables
from kvgate.site.fragments import fragment
from kvgate.site.handpages import Block
from kvgate.site.planner import planner_block
from kvgate.site.virtual import To

__all__ = ["blocks"]


def blocks(book: Book, to: To, *, worker: bool = False) -> Mapping[str, Block]:
    """Every block by name, for a page from which ``to`` gives addresses.

    ``worker`` says whether the site answers in the reader's tab.
    """
    return {
        "backends": backends_block,
        "chart": chart_block,
        "fields": lambda words: fragment("fields.html.j2", tables=field_tables()),
        "find": lambda words: fragment(
            "find.html.j2", kind="box", rows=int(words or 4), worker=False, to=to
        ),
        "planner": lambda words: planner_block(book, to, worker=worker),
        "size": size_block,
        "verified": lambda words: _verified(book, to),
        "worst": lambda words: _worst(book, to, int(words or 10)),
    }


def _standing(book: Book) -> list[Record]:
    return [r for r in book.records if r.front.status not in GONE]


def _worst(book: Book, to: To, count: int) -> str:
    """The worst records: by severity, and within one those that most others lead to."""
    rank = {name: i for i, name in enumerate(SEVERITIES)}
    found = sorted(
        _standing(book),
        key=lambda r: (rank[r.front.severity], -len(book.graph.incoming[r.id]), r.title.casefold()),
    )
    return fragment("records.html.j2", records=found[:count], to=to, gone=())


def _verified(book: Book, to: To) -> str:
    """What was verified, against what, and when; newest first."""
    found: dict[tuple[str, str], list[str]] = {}
    for record in _standing(book):
        for seen in record.front.verified:
            found.setdefault((seen.version, seen.environment), []).append(seen.date.isoformat())
    rows = [
        (version, environment, len(days), max(days))
        for (version, environment), days in found.items()
    ]
    rows.sort(key=lambda row: (row[3], row[2]), reverse=True)
    reports = [book.reports[record.id] for record in _standing(book)]
    return fragment(
        "verified.html.j2",
        rows=rows[:6],
        rest=len(rows) - 6,
        records=len(reports),
        claims=sum(bool(e.want) for report in reports for e in report.document.examples),
        passed=sum(report.passed for report in reports),
        sources=sum(len(record.front.sources) for record in _standing(book)),
        to=to,
    )
