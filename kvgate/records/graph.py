"""The link graph: records as nodes, wiki-links and typed relations as edges.

An edge leads from the record that names to the record that is named: ``prerequisite`` from a record
to what is read before it, ``superseded-by`` from the old record to the new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kvgate.errors import Place
from kvgate.records.resolver import Entry, Heading, Resolution, Resolver
from kvgate.records.scanner import WikiLink

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["RELATIONS", "WIKILINK", "Edge", "LinkGraph", "Neighbourhood", "Node", "Relation"]

WIKILINK = "wikilink"
RELATIONS = ("prerequisite", "caused-by", "see-also", "superseded-by")

Where = Callable[..., Place]
"""Where a value of a page's front matter stands: ``where("related", 0, "id")``."""


def _nowhere(*path: str | int) -> Place:
    return Place("")


@dataclass(frozen=True, slots=True)
class Relation:
    """One entry of a record's ``related``: its type and the id it names."""

    type: str
    id: str


@dataclass(frozen=True, slots=True)
class Node:
    """A page of the graph: how links name it, its wiki-links, and its relations as written."""

    entry: Entry
    links: tuple[WikiLink, ...] = ()
    relations: tuple[Relation, ...] = ()
    where: Where = field(default=_nowhere, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Edge:
    """``source`` names ``target``, both ids, by a wiki-link or a relation.

    ``link`` is the wiki-link, None for a relation; ``heading`` the heading's id it leads to.
    """

    source: str
    target: str
    type: str
    heading: str = ""
    link: WikiLink | None = None
    where: Callable[[], Place] = field(default=_nowhere, repr=False, compare=False)

    @property
    def place(self) -> Place:
        """Line and column in the source's file."""
        return self.link.place if self.link else self.where()

    @property
    def section(self) -> Heading | None:
        """The heading that the wiki-link stands under."""
        return self.link.section if self.link else None

    @property
    def sentence(self) -> str:
        """The sentence that the wiki-link stands in, plain text; empty for a relation."""
        return self.link.sentence if self.link else ""


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The pages within a few steps of one, nearest first, and all edges among them."""

    id: str
    ids: tuple[str, ...]
    edges: tuple[Edge, ...]


class LinkGraph:
    """All pages and how they lead to each other. Edges keep the order of pages and of writing."""

    def __init__(self, nodes: Iterable[Node], resolver: Resolver | None = None) -> None:
        self.nodes = {node.entry.id: node for node in sorted(nodes, key=lambda n: n.entry.id)}
        self.resolver = resolver or Resolver(node.entry for node in self.nodes.values())
        self.edges = tuple(edge for node in self.nodes.values() for edge in self._edges(node))

    def resolve(self, node: Node, link: WikiLink) -> Resolution:
        """What a wiki-link of a page names."""
        return self.resolver.resolve(link.target, link.heading, source=node.entry.id)

    def _edges(self, node: Node) -> Iterator[Edge]:
        own = node.entry.id
        for number, relation in enumerate(node.relations):
            if relation.id in self.nodes and relation.id != own:

                def where(node: Node = node, number: int = number) -> Place:
                    return node.where("related", number, "id")

                yield Edge(own, relation.id, relation.type, where=where)
        for link in node.links:
            found = self.resolve(node, link)
            if found.entry and found.entry.id in self.nodes and found.entry.id != own:
                yield Edge(own, found.entry.id, WIKILINK, found.heading, link)

    @cached_property
    def incoming(self) -> dict[str, tuple[Edge, ...]]:
        """The edges that lead to each page, by its id."""
        return _by(self.edges, lambda edge: edge.target, self.nodes)

    @cached_property
    def outgoing(self) -> dict[str, tuple[Edge, ...]]:
        """The edges that leave each page, by its id."""
        return _by(self.edges, lambda edge: edge.source, self.nodes)

    def relation(self, kind: str) -> nx.DiGraph[str]:
        """The edges of one type alone."""
        import networkx

        graph: nx.DiGraph[str] = networkx.DiGraph()
        graph.add_edges_from((e.source, e.target) for e in self.edges if e.type == kind)
        return graph

    def read_first(self, page: str) -> tuple[str, ...]:
        """The prerequisites of a page, theirs included, in the order to read them.

        A circle among them (a lint finding of its own) is cut where it closes.
        """
        import networkx

        needs = self._prerequisites
        return tuple(networkx.dfs_postorder_nodes(needs, page))[:-1] if page in needs else ()

    @cached_property
    def _prerequisites(self) -> nx.DiGraph[str]:
        return self.relation("prerequisite")

    def neighbourhood(self, page: str, depth: int = 1) -> Neighbourhood:
        """What lies within ``depth`` steps of a page, in either direction."""
        near = {page: None} if page in self.nodes else {}
        rim = list(near)
        for _ in range(depth):
            rim = [other for some in rim for other in sorted(self._beside(some))]
            rim = [other for other in dict.fromkeys(rim) if other not in near]
            near.update(dict.fromkeys(rim))
        edges = (edge for some in near for edge in self.outgoing[some] if edge.target in near)
        return Neighbourhood(page, tuple(near), tuple(edges))

    def _beside(self, page: str) -> set[str]:
        after = {edge.target for edge in self.outgoing[page]}
        return after | {edge.source for edge in self.incoming[page]}


def _by(
    edges: Iterable[Edge], end: Callable[[Edge], str], ids: Iterable[str]
) -> dict[str, tuple[Edge, ...]]:
    found: dict[str, Any] = {page: [] for page in ids}
    for edge in edges:
        found[end(edge)].append(edge)
    return {page: tuple(some) for page, some in found.items()}
