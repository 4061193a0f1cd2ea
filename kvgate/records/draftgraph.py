"""The link graph as the linter sees it: files whose front matter is broken are pages all the same.

Otherwise one misspelt key would make every link to its record a second finding.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kvgate.records.graph import RELATIONS, LinkGraph, Node, Relation
from kvgate.records.loader import Library
from kvgate.records.record import Draft
from kvgate.records.resolver import Entry

__all__ = ["graph_of_drafts"]


def graph_of_drafts(library: Library) -> LinkGraph:
    """The graph of all files of a folder; the library's own where every file is in order."""
    if all(draft.record for draft in library.drafts):
        return library.graph
    nodes = {node.entry.id: node for node in map(_node, library.drafts)}
    nodes.update(library.graph.nodes)
    return LinkGraph(nodes.values())


def _node(draft: Draft) -> Node:
    stem = Path(draft.path).stem
    page = draft.page
    entry = Entry(
        id=_text(draft, "id", stem),
        title=_text(draft, "title", stem),
        aliases=tuple(a for a in _items(draft, "aliases") if isinstance(a, str)),
        headings=page.scan.headings if page else (),
        status=_text(draft, "status", "active"),
    )
    return Node(entry, page.scan.links if page else (), tuple(_relations(draft)), draft.place)


def _relations(draft: Draft) -> Iterator[Relation]:
    """The relations as written; those that the schema objects to are cut off with all after them.

    A node's relations are counted, so that a finding can point at one: none may be left out.
    """
    for item in _items(draft, "related"):
        kind, name = (item.get("type"), item.get("id")) if isinstance(item, dict) else (None, None)
        if kind not in RELATIONS or not isinstance(name, str):
            return
        yield Relation(kind, name)


def _text(draft: Draft, key: str, otherwise: str) -> str:
    value = draft.value(key)
    return value if isinstance(value, str) else otherwise


def _items(draft: Draft, key: str) -> tuple[Any, ...]:
    value = draft.value(key)
    return value if isinstance(value, tuple) else ()
