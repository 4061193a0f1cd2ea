"""The headings of a page with the ids they are really rendered with."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element

from markdown.extensions.toc import unescape, unique

from kvgate.records.markdown import WikiLinkProcessor
from kvgate.records.pagetree import PageTree, parse
from kvgate.records.resolver import Heading
from kvgate.records.slugs import slug
from kvgate.records.targets import Target

__all__ = ["heading_ids", "headings"]

_TAGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_MARK = re.compile("\ufdd0[0-9]+\ufdd1")
# Text that no inline rule touches: the heading is then its own name.
_PLAIN = re.compile(r"[^\\`*_{}\[\]<>&#!\x02\x03\ufdd0\n]*")
_OWN_ID = re.compile(r"\{[^}\n]*(?:#|id\s*=)")


def heading_ids(text: str, offset: int = 0) -> tuple[str, ...]:
    """The ids of the headings of a page, in order, as the rendered page has them.

    >>> heading_ids("# Überblick & Co\\n\\n## Fix\\n\\n## Fix\\n")
    ('überblick-co', 'fix', 'fix_1')
    """
    return tuple(heading.id for heading in headings(parse(text, offset)))


def headings(page: PageTree) -> tuple[Heading, ...]:
    """The headings of a page in order. The page's tree is used up by it."""
    found = [element for element in page.root.iter() if element.tag in _TAGS]
    if not found:
        return ()
    texts = [element.text or "" for element in found]
    if all(map(_PLAIN.fullmatch, texts)) and not any(map(_has_own_id, page.root.iter())):
        return _plain(found)
    return _rendered(page, found)


def _plain(found: list[Element]) -> tuple[Heading, ...]:
    used: set[str] = set()
    counters: dict[str, int] = {}
    made = []
    for element in found:
        text = " ".join((element.text or "").split())
        made.append(Heading(unique(slug(text), used, counters), text, int(element.tag[1])))
    return tuple(made)


def _rendered(page: PageTree, found: list[Element]) -> tuple[Heading, ...]:
    """Rendered for good, with everything that may carry an id of its own."""
    md = page.markdown
    root = page.root
    if not any(map(_has_own_id, root.iter())):
        root = Element("div")
        root.extend(found)
    for element in root.iter():
        if element.text and type(element.text) is str:
            element.text = _MARK.sub("", element.text)
        if element.tail and type(element.tail) is str:
            element.tail = _MARK.sub("", element.tail)
    processor = WikiLinkProcessor(md, _AsWritten())
    md.inlinePatterns.register(processor, "kvgate_wikilinks", 185)
    for name in ("inline", "attr_list", "toc"):
        md.treeprocessors[name].run(root)
    names = [html.unescape(token["name"]) for token in _flat(md.toc_tokens)]  # type: ignore[attr-defined]
    shown = [element for element in root.iter() if element.tag in _TAGS]
    return tuple(
        Heading(unescape(element.get("id", "")), name, int(element.tag[1]))
        for element, name in zip(shown, names, strict=True)
    )


def _has_own_id(element: Element) -> bool:
    """Whether an id other than a footnote's may come from this element."""
    if not element.get("id", "fn:").startswith("fn:"):
        return True
    return any(text and _OWN_ID.search(text) for text in (element.text, element.tail))


def _flat(tokens: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for token in tokens:
        yield token
        yield from _flat(token["children"])


class _AsWritten:
    """In a heading a wiki-link shows what was written, wherever it leads."""

    def link(self, target: str, heading: str) -> Target:
        return Target(href="#", id=target)
