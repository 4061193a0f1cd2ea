"""The link graph of a library: its records as nodes."""

from __future__ import annotations

from kvgate.records.graph import LinkGraph, Node, Relation
from kvgate.records.loader import Library

__all__ = ["graph_of"]


def graph_of(library: Library) -> LinkGraph:
    """The records of a library and how they lead to each other."""
    entries = {entry.id: entry for entry in library.entries()}
    nodes = (
        Node(
            entries[record.id],
            record.page.scan.links,
            tuple(Relation(r.type, r.id) for r in record.front.related),
            record.place,
        )
        for record in library.records.values()
    )
    return LinkGraph(nodes, library.resolver)
