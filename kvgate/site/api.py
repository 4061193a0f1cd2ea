"""Records and their graph as data: what the JSON documents of the site hold."""

from __future__ import annotations

from typing import Any

from kvgate.records.record import Record
from kvgate.site.addresses import Addresses
from kvgate.site.book import Book, generations
from kvgate.site.record_page import path_of

__all__ = ["gotcha", "graph", "summary", "updated"]


def summary(book: Book, record: Record, addresses: Addresses) -> dict[str, Any]:
    """A record in short, as the list of all of them has it."""
    front = record.front
    found = {
        "id": front.id,
        "title": front.title,
        "url": addresses.full(path_of(front.id)),
        "severity": front.severity,
        "status": front.status,
        "summary": book.summaries[front.id],
        "fix": front.fix,
        "concepts": front.concepts,
        "affects": [a.model_dump(exclude_none=True) for a in front.affects],
        "gpus": generations(record),
        "signatures": [s.model_dump() for s in front.signatures],
        "updated": updated(record),
    }
    return {name: value for name, value in found.items() if value is not None}


def gotcha(book: Book, record: Record, short: dict[str, Any]) -> dict[str, Any]:
    """One record: its front matter, its sections as Markdown, and what its claims gave."""
    front = record.front.model_dump(mode="json", exclude_none=True, exclude={"schema_version"})
    text = record.page.text
    return {
        **front,
        **short,
        "sections": [
            {"title": s.title, "level": s.level, "markdown": s.body(text)}
            for s in record.page.sections
        ],
        "claims": [
            {
                "name": result.example.name or None,
                "line": result.example.line,
                "expression": result.example.code,
                "expected": result.expected,
                "got": result.got,
                "outcome": result.outcome,
            }
            for result in book.reports[record.id].results
        ],
    }


def graph(book: Book, addresses: Addresses) -> dict[str, Any]:
    """The link graph: records as nodes, and an edge for each wiki-link and each typed relation."""
    nodes = []
    for record_id, node in book.graph.nodes.items():
        front = book.library.records[record_id].front
        nodes.append({
            "id": record_id,
            "title": node.entry.title,
            "url": addresses.full(path_of(record_id)),
            "status": front.status,
            "severity": front.severity,
            "concepts": front.concepts,
            "engines": tuple(dict.fromkeys(a.engine for a in front.affects)),
            "links_in": len(book.graph.incoming[record_id]),
            "links_out": len(book.graph.outgoing[record_id]),
        })  # fmt: skip
    edges = [
        {
            "source": edge.source,
            "target": edge.target,
            "type": edge.type,
            "heading": edge.heading,
            "label": edge.link.label if edge.link else "",
            "section": {"id": edge.section.id, "text": edge.section.text} if edge.section else None,
            "sentence": edge.sentence,
        }
        for edge in book.graph.edges
    ]
    return {"nodes": nodes, "edges": edges}


def updated(record: Record) -> str | None:
    """The last day on which the record was found to hold, or else a source of it was seen."""
    days = [v.date for v in record.front.verified] or [s.seen for s in record.front.sources]
    return max(days).isoformat() if days else None
