"""Who links to a record, with the sentence that does."""

from __future__ import annotations

from dataclasses import dataclass

from kvgate.records.graph import WIKILINK, LinkGraph

__all__ = ["Backlink", "backlinks"]


@dataclass(frozen=True, slots=True)
class Backlink:
    """One link to a record: the page it comes from, the heading above it, and its sentence."""

    id: str
    title: str
    section: str
    sentence: str


def backlinks(graph: LinkGraph, record_id: str) -> tuple[Backlink, ...]:
    """The wiki-links that lead to a record, one a page and section, in page order."""
    found: dict[tuple[str, str], Backlink] = {}
    for edge in graph.incoming.get(record_id, ()):
        if edge.type == WIKILINK:
            section = edge.section.text if edge.section else ""
            title = graph.nodes[edge.source].entry.title
            back = Backlink(edge.source, title, section, edge.sentence)
            found.setdefault((edge.source, section), back)
    return tuple(found.values())
