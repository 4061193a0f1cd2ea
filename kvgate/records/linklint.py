"""What is wrong with the links between pages, as findings with stable codes (``linkcodes``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kvgate.errors import Diagnostic, Place
from kvgate.records.graph import LinkGraph, Node
from kvgate.records.resolver import Entry, fold
from kvgate.records.scanner import WikiLink

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["check"]

_CIRCULAR = {
    "prerequisite": "each is to be read before the next",
    "caused-by": "each is the cause of the one before",
    "superseded-by": "each is the successor of the one before",
}


def check(graph: LinkGraph) -> list[Diagnostic]:
    """Every finding about the links and relations of all pages, by path, line and column."""
    found = [finding for node in graph.nodes.values() for finding in _page(graph, node)]
    found += _circles(graph)
    found += _alone(graph)
    found += _names(graph)
    return sorted(found, key=lambda finding: (finding.place, finding.code))


def _page(graph: LinkGraph, node: Node) -> Iterator[Diagnostic]:
    yield from _links(graph, node)
    yield from _relations(graph, node)
    yield from _successors(graph, node)


def _links(graph: LinkGraph, node: Node) -> Iterator[Diagnostic]:
    seen: set[tuple[int, str, str]] = set()
    for link in node.links:
        found = graph.resolve(node, link)
        if found.code:
            yield _at(link, found.code, found.message, found.hint)
        if not found.entry:
            continue
        if found.entry.id == node.entry.id and link.target:
            hint = f"write [[#{link.heading}]]" if link.heading else "write the words without link"
            yield _at(link, "KV203", "the page links to itself", hint)
        elif found.entry.id != node.entry.id:
            yield from _withdrawn(graph, node, found.entry, link.place, "the link leads")
        here = (link.paragraph, found.entry.id, found.heading)
        if here in seen and not found.code:
            message = f"this paragraph has linked to {found.entry.id!r} already"
            yield _at(link, "KV204", message, "link it once")
        seen.add(here)


def _relations(graph: LinkGraph, node: Node) -> Iterator[Diagnostic]:
    seen = set()
    for number, relation in enumerate(node.relations):
        named = graph.nodes.get(relation.id)
        if named is None:
            yield _unknown(graph, node, number)
        elif relation.id == node.entry.id:
            place = node.where("related", number, "id")
            yield Diagnostic("KV211", place, "the record is related to itself", "remove it")
        elif relation in seen:
            place = node.where("related", number)
            message = f"{relation.type} {relation.id!r} is given twice"
            yield Diagnostic("KV212", place, message, "remove one")
        elif named.entry.status == "withdrawn":
            place = node.where("related", number, "id")
            yield from _withdrawn(graph, node, named.entry, place, "the relation leads")
        seen.add(relation)


def _unknown(graph: LinkGraph, node: Node, number: int) -> Diagnostic:
    named = node.relations[number].id
    found = graph.resolver.resolve(named)
    hint = f"write {found.entry.id!r}" if found.entry else found.hint
    place = node.where("related", number, "id")
    return Diagnostic("KV210", place, f"no record has the id {named!r}", hint)


def _withdrawn(
    graph: LinkGraph, node: Node, named: Entry, place: Place, what: str
) -> Iterator[Diagnostic]:
    if named.status != "withdrawn" or node.entry.status == "withdrawn":
        return
    successors = [r.id for r in graph.nodes[named.id].relations if r.type == "superseded-by"]
    hint = f"its successor is {successors[0]!r}" if successors else "say it without the record"
    yield Diagnostic("KV205", place, f"{what} to {named.id!r}, which is withdrawn", hint)


def _successors(graph: LinkGraph, node: Node) -> Iterator[Diagnostic]:
    """Who comes to the new record must find the old one: by a link in prose or a relation."""
    if node.entry.status != "superseded":
        return
    for number, relation in enumerate(node.relations):
        if relation.type != "superseded-by" or relation.id not in graph.nodes:
            continue
        if not any(edge.target == node.entry.id for edge in graph.outgoing[relation.id]):
            yield Diagnostic(
                "KV215",
                node.where("related", number, "id"),
                f"the successor {relation.id!r} does not name this record",
                f"add {{type: see-also, id: {node.entry.id}}} to its related, or link to it",
            )


def _circles(graph: LinkGraph) -> Iterator[Diagnostic]:
    for kind, meaning in _CIRCULAR.items():
        if not any(edge.type == kind for edge in graph.edges):
            continue
        import networkx

        network = graph.relation(kind)
        for circle in networkx.strongly_connected_components(network):
            if len(circle) > 1:
                first = min(circle)
                around = _around(network.subgraph(circle), first)
                message = f"a circle of {kind}: " + " -> ".join(around)
                place = _relation_place(graph.nodes[first], kind, around[1])
                yield Diagnostic("KV213", place, message, f"{meaning}; remove one")


def _around(network: nx.DiGraph[str], first: str) -> list[str]:
    """A shortest way from ``first`` back to it."""
    import networkx

    steps = networkx.single_source_shortest_path_length(network, first)
    last = min(network.predecessors(first), key=lambda page: (steps[page], page))
    return [*networkx.shortest_path(network, first, last), first]


def _relation_place(node: Node, kind: str, named: str) -> Place:
    for number, relation in enumerate(node.relations):
        if (relation.type, relation.id) == (kind, named):
            return node.where("related", number, "id")
    return node.where("id")


def _alone(graph: LinkGraph) -> Iterator[Diagnostic]:
    if len(graph.nodes) < 2:
        return
    for page, node in graph.nodes.items():
        connected = graph.incoming[page] or graph.outgoing[page]
        if node.entry.status != "withdrawn" and not connected:
            yield Diagnostic(
                "KV214",
                node.where("id"),
                "no link leads to this record and it leads to none",
                "relate it to the records that a reader of it needs, or link to one",
            )


def _names(graph: LinkGraph) -> Iterator[Diagnostic]:
    for name, entries in graph.resolver.clashes():
        for entry in entries:
            others = " and ".join(repr(other.id) for other in entries if other is not entry)
            node = graph.nodes.get(entry.id)
            aliases = [fold(alias) for alias in entry.aliases]
            path = ("aliases", aliases.index(name)) if name in aliases else ("title",)
            if node and name in (*aliases, fold(entry.title)):
                message = f"{others} answers to {name!r} as well"
                yield Diagnostic("KV206", node.where(*path), message, "name one of them otherwise")


def _at(link: WikiLink, code: str, message: str, hint: str) -> Diagnostic:
    end = link.place.column + link.end - link.start
    return Diagnostic(code, link.place, message, hint, end)
