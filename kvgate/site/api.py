"""What programs read: the records and their graph as JSON, a feed, and llms.txt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

from kvgate import __version__
from kvgate.claims import Report
from kvgate.records.graphexport import to_json
from kvgate.records.record import Record
from kvgate.site.book import Book

__all__ = ["documents"]

_ATOM = "http://www.w3.org/2005/Atom"


def documents(
    book: Book, *, site_url: str, title: str, description: str
) -> Iterator[tuple[str, str]]:
    """(path below the site, text) of every machine-readable document.

    ``site_url`` ends with a slash, or is empty when the site doesn't know its address.
    """
    rows = [record_object(r, book.reports[r.id], site_url) for r in book.records]
    summary = [{k: row[k] for k in _SUMMARY} for row in rows]
    yield "api/v1/gotchas.json", _json({"records": summary})
    for row in rows:
        yield f"api/v1/gotchas/{row['id']}.json", _json(row)
    yield "api/v1/graph.json", _text(to_json(book.graph))
    yield "feed.xml", feed(book, site_url=site_url, title=title)
    yield "llms.txt", llms(book, site_url=site_url, title=title, description=description)


_SUMMARY = (
    "id", "title", "url", "severity", "status", "concepts", "affects", "signatures", "updated",
)  # fmt: skip


def record_object(record: Record, report: Report, site_url: str) -> dict[str, Any]:
    """One record: its front matter, its sections as Markdown, and what its claims gave."""
    front = record.front.model_dump(mode="json", exclude_none=True)
    front.pop("schema_version")
    claims = [
        {
            "name": result.example.name or None,
            "line": result.example.line,
            "expression": result.example.code,
            "expected": result.expected,
            "got": result.got,
            "outcome": result.outcome,
        }
        for result in report.results
    ]
    sections = [
        {"title": s.title, "level": s.level, "markdown": s.body(record.page.text)}
        for s in record.page.sections
    ]
    return {
        "affects": [], "signatures": [], "concepts": [], **front,
        "url": f"{site_url}gotchas/{record.id}/",
        "updated": updated(record),
        "sections": sections,
        "claims": claims,
    }


def updated(record: Record) -> str:
    """The last day on which the record was found to hold, or its newest source was seen."""
    days = [v.date for v in record.front.verified] or [s.seen for s in record.front.sources]
    return max(days).isoformat() if days else "1970-01-01"


def feed(book: Book, *, site_url: str, title: str) -> str:
    """An Atom feed of the records, last verified first."""
    base = site_url or "urn:kvgate:"
    records = sorted(book.records, key=lambda r: (updated(r), r.id), reverse=True)[:50]
    ElementTree.register_namespace("", _ATOM)
    root = ElementTree.Element(f"{{{_ATOM}}}feed")
    _child(root, "id", f"{base}feed.xml")
    _child(root, "title", f"{title}: gotchas")
    _child(root, "updated", f"{max(map(updated, records), default='1970-01-01')}T00:00:00Z")
    _child(root, "generator", "kvgate", version=__version__)
    _child(_child(root, "author"), "name", title)
    if site_url:
        _child(root, "link", rel="self", href=f"{site_url}feed.xml")
        _child(root, "link", href=site_url)
    for record in records:
        entry = _child(root, "entry")
        _child(entry, "id", f"{base}gotchas/{record.id}/")
        _child(entry, "title", record.title)
        _child(entry, "updated", f"{updated(record)}T00:00:00Z")
        if site_url:
            _child(entry, "link", href=f"{site_url}gotchas/{record.id}/")
        for concept in record.front.concepts:
            _child(entry, "category", term=concept)
        _child(entry, "summary", record.page.section("Symptom"), type="text")
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def llms(book: Book, *, site_url: str, title: str, description: str) -> str:
    """The site in the form that language models are given: a list of pages with their point."""
    lines = [f"# {title}", "", f"> {description}", "", "## Gotchas", ""]
    for record in book.records:
        address = f"{site_url}api/v1/gotchas/{record.id}.json"
        lines.append(
            f"- [{record.title}]({address}): {record.front.severity}, {record.front.status}"
        )
    lines += ["", "## Data", ""]
    for path, what in (
        ("gotchas.json", "every record in short"),
        ("graph.json", "the link graph, nodes and typed edges"),
    ):
        lines.append(f"- [{path}]({site_url}api/v1/{path}): {what}")
    return "\n".join(lines) + "\n"


def _child(
    parent: ElementTree.Element, name: str, text: str | None = None, **attributes: str
) -> ElementTree.Element:
    child = ElementTree.SubElement(parent, f"{{{_ATOM}}}{name}", attributes)
    child.text = text
    return child


def _json(document: dict[str, Any]) -> str:
    return _text({"schema_version": 1, **document})


def _text(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"
