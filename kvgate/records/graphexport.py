"""The link graph for other programs: JSON, GraphML and DOT."""

from __future__ import annotations

import re
from typing import Any

from kvgate.records.graph import Edge, LinkGraph, Node

__all__ = ["SCHEMA_VERSION", "to_dot", "to_graphml", "to_json"]

SCHEMA_VERSION = 1

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_STYLES = {
    "wikilink": "dotted",
    "prerequisite": "bold",
    "caused-by": "solid",
    "see-also": "dashed",
    "superseded-by": "solid",
}


def to_json(graph: LinkGraph) -> dict[str, Any]:
    """The graph as data for ``json.dumps``; nodes by id, edges by source and place.

    ``nodes`` have ``id``, ``title``, ``url``, ``status`` and the numbers ``links_in`` and
    ``links_out``. ``edges`` have ``source`` and ``target`` (ids), ``type`` (``wikilink`` or a
    relation), ``heading`` (the id of the heading it leads to, or empty), ``label`` (or empty),
    ``section`` (``id`` and ``text`` of the heading the link stands under, or null), ``sentence``
    (plain text, or empty), and ``path``, ``line`` and ``column`` of the place.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "nodes": [_node(graph, node) for node in graph.nodes.values()],
        "edges": [_edge(edge) for edge in sorted(graph.edges, key=_order)],
    }


def to_graphml(graph: LinkGraph) -> str:
    """The graph as a GraphML document; networkx reads it back."""
    import networkx

    network: Any = networkx.MultiDiGraph()
    for node in graph.nodes.values():
        network.add_node(_xml(node.entry.id), **_flat(_node(graph, node)))
    for number, edge in enumerate(sorted(graph.edges, key=_order)):
        attributes = _flat(_edge(edge))
        source, target = attributes.pop("source"), attributes.pop("target")
        network.add_edge(source, target, key=f"e{number}", **attributes)
    lines = networkx.generate_graphml(network, named_key_ids=True)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + "\n".join(lines) + "\n"


def to_dot(graph: LinkGraph) -> str:
    """The graph in the DOT language, for Graphviz."""
    lines = ["digraph kvgate {", "  rankdir=LR;", "  node [shape=box, fontname=sans];"]
    for node in graph.nodes.values():
        entry = node.entry
        style = ' style="dashed"' if entry.status in ("superseded", "withdrawn") else ""
        lines.append(
            f"  {_quoted(entry.id)} [label={_quoted(entry.title)} URL={_quoted(entry.url)}{style}];"
        )
    for edge in sorted(graph.edges, key=_order):
        style = _STYLES.get(edge.type, "solid")
        lines.append(
            f"  {_quoted(edge.source)} -> {_quoted(edge.target)} "
            f'[label={_quoted(edge.type)} style="{style}"];'
        )
    return "\n".join([*lines, "}"]) + "\n"


def _node(graph: LinkGraph, node: Node) -> dict[str, Any]:
    entry = node.entry
    return {
        "id": entry.id,
        "title": entry.title,
        "url": entry.url,
        "status": entry.status,
        "links_in": len(graph.incoming[entry.id]),
        "links_out": len(graph.outgoing[entry.id]),
    }


def _edge(edge: Edge) -> dict[str, Any]:
    section = edge.section
    return {
        "source": edge.source,
        "target": edge.target,
        "type": edge.type,
        "heading": edge.heading,
        "label": edge.link.label if edge.link else "",
        "section": {"id": section.id, "text": section.text} if section else None,
        "sentence": edge.sentence,
        "path": edge.place.path,
        "line": edge.place.line,
        "column": edge.place.column,
    }


def _order(edge: Edge) -> tuple[str, int, int, str, str]:
    return (edge.source, edge.place.line, edge.place.column, edge.type, edge.target)


def _flat(data: dict[str, Any]) -> dict[str, Any]:
    """Attributes as GraphML takes them: text and numbers only."""
    section = data.pop("section", None)
    if section:
        data = {**data, "section": section["text"]}
    return {name: _xml(value) if isinstance(value, str) else value for name, value in data.items()}


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def _quoted(text: str) -> str:
    """A DOT string; a backslash would begin an escape of Graphviz' labels."""
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\r", " ").replace("\n", "\\n")
    return f'"{text}"'
