"""Backlinks: which pages lead to a page, and with which words."""

from __future__ import annotations

from dataclasses import dataclass

from kvgate.errors import Place
from kvgate.records.graph import WIKILINK, LinkGraph
from kvgate.records.resolver import Entry, Heading

__all__ = ["Backlink", "Mention", "backlinks"]


@dataclass(frozen=True, slots=True)
class Mention:
    """One sentence that links to the page: plain text, not yet escaped for HTML."""

    sentence: str
    section: Heading | None
    heading: str
    """The id of the heading that is linked to, empty for the page as a whole."""
    place: Place


@dataclass(frozen=True, slots=True)
class Backlink:
    """A page that leads here: what it says, and as what its relations name this page."""

    source: Entry
    mentions: tuple[Mention, ...]
    relations: tuple[str, ...]


def backlinks(graph: LinkGraph, page: str) -> tuple[Backlink, ...]:
    """The pages that lead to ``page``, by title; withdrawn ones are left out.

    Two links in one sentence make one mention.
    """
    mentions: dict[str, dict[str, Mention]] = {}
    relations: dict[str, dict[str, None]] = {}
    for edge in graph.incoming.get(page, ()):
        if edge.type == WIKILINK:
            said = Mention(edge.sentence, edge.section, edge.heading, edge.place)
            mentions.setdefault(edge.source, {}).setdefault(said.sentence, said)
        else:
            relations.setdefault(edge.source, {})[edge.type] = None
    sources = [graph.nodes[source].entry for source in {**mentions, **relations}]
    return tuple(
        Backlink(
            source,
            tuple(mentions.get(source.id, {}).values()),
            tuple(relations.get(source.id, {})),
        )
        for source in sorted(sources, key=lambda entry: (entry.title.casefold(), entry.id))
        if source.status != "withdrawn"
    )
