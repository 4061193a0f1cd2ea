"""The Python-Markdown extension that renders wiki-links, by the grammar the linter reads them with.

``[[target|label]]`` becomes ``<a class="kv-link" href="…" data-kv-id="…">label</a>``. A link that
leads nowhere, and what only looks like one, becomes visible, inert text in a
``<span class="kv-link-missing">`` with the reason as its title. Whatever was written is escaped.

The option ``links`` is an object with a ``link`` method, such as ``targets.PageLinks``. A fence
that nobody closes is closed, so that the page reads as CommonMark has it; lint reports it.
"""

from __future__ import annotations

import html
import re
from typing import Any
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.preprocessors import Preprocessor
from markdown.util import (
    HTML_PLACEHOLDER_RE,
    INLINE_PLACEHOLDER,
    INLINE_PLACEHOLDER_RE,
    AtomicString,
    code_escape,
)

from kvgate.claims.fences import candidates, close_fences
from kvgate.errors import InputError
from kvgate.records import limits
from kvgate.records.targets import Links, Target
from kvgate.records.wikilinks import COMMENT, IN_TAG, LINK, PLAIN, Found, find, tidy

__all__ = ["FenceCloser", "WikiLinkExtension", "WikiLinkProcessor", "makeExtension"]

# After code spans (190) and mathematics (189.9), before backslashes are undone (180).
_PRIORITY = 185
_TAG = re.compile(r"<[^<>]*>")
_HEADING_TAGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})


class WikiLinkExtension(Extension):
    """Wiki-links for Python-Markdown; see the module."""

    def __init__(self, **kwargs: Any) -> None:
        self.config = {
            "links": [_Unknown(), "an object whose link(target, heading) gives a Target"]
        }
        super().__init__(**kwargs)

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - Python-Markdown's name
        """Register the processor of wiki-links and the closer of fences."""
        links: Links = self.getConfig("links")
        md.inlinePatterns.register(WikiLinkProcessor(md, links), "kvgate_wikilinks", _PRIORITY)
        # Between the normaliser of white space (30) and superfences (25).
        md.preprocessors.register(FenceCloser(md), "kvgate_fences", 27)


def makeExtension(**kwargs: Any) -> WikiLinkExtension:  # noqa: N802 - Python-Markdown's name
    """The entry point for Python-Markdown."""
    return WikiLinkExtension(**kwargs)


class _Unknown:
    """Stands in where nobody knows any page."""

    def link(self, target: str, heading: str) -> Target:
        return Target(reason="no records are known here")


class FenceCloser(Preprocessor):
    """Ends each fence that has no closing line where CommonMark ends it.

    A page that would keep the renderer busy for minutes (``limits``; lint reports it) becomes a
    line that says so.
    """

    def run(self, lines: list[str]) -> list[str]:
        """The lines of the page with the closing lines that lack."""
        text = "\n".join(lines)
        closed = close_fences(text)
        at = 0
        try:
            for fence in (*candidates(closed), None):
                limits.check(closed, at, fence.start if fence else len(closed))
                at = fence.end if fence else at
        except InputError as error:
            return ["", f"This page cannot be shown: {error.message}.", ""]
        return lines if closed is text else closed.split("\n")


class WikiLinkProcessor(InlineProcessor):
    """Renders one wiki-link at a time of what ``wikilinks.find`` finds in the whole run of text."""

    def __init__(self, md: Markdown, links: Links) -> None:
        super().__init__(r"\[(?=\[)", md)
        self.links = links
        self._text: str | None = None
        self._found: dict[int, Found] = {}  # by the distance from the end, which rendering keeps
        self._next: tuple[Any, int, str, int] | None = None

    def handleMatch(  # type: ignore[override]  # noqa: N802 - Python-Markdown's name
        self, m: re.Match[str], data: str
    ) -> tuple[Element | None, int | None, int | None]:
        """The element of the wiki-link that begins here, or nothing when none does."""
        if data is not self._text:
            if not self._is_rest(data):
                self._found = {
                    len(data) - found.start: found for found in find(data, self.md.references)
                }
            self._text = data
        found = self._found.get(len(data) - m.start())
        # A tag or a comment is stashed whole later on; an element inside would spoil it.
        if not found or found.kind in (COMMENT, IN_TAG):
            return None, None, None
        end = m.start() + found.end - found.start
        # What is no link becomes an element as well: Python-Markdown looks at some texts twice, and
        # the second time without what came before.
        element = self._link(found) if found.kind == LINK else Element("span")
        if found.kind != LINK:
            self._fill(element, data[m.start() : end])
        if found.kind not in (LINK, PLAIN):
            element.set("class", "kv-link-missing")
        self._expect(data, m.start(), end)
        return element, m.start(), end

    # Python-Markdown calls once for each link, each time with the whole text as it has become. To
    # search it anew every time would be quadratic, so what was found is kept for as long as the
    # text is the former one with the last link replaced by the placeholder it must have got.

    def _expect(self, data: str, start: int, end: int) -> None:
        stash = self._inline.stashed_nodes
        holder = INLINE_PLACEHOLDER % f"{len(stash):04d}"
        self._next = (stash, start, holder, len(data) - (end - start) + len(holder))

    def _is_rest(self, data: str) -> bool:
        if self._next is None:
            return False
        stash, start, holder, length = self._next
        return (
            stash is self._inline.stashed_nodes
            and len(data) == length
            and data.startswith(holder, start)
        )

    @property
    def _inline(self) -> Any:
        return self.md.treeprocessors["inline"]

    def _link(self, found: Found) -> Element:
        heading = tidy(self._plain(found.heading))
        target = self.links.link(tidy(found.target), heading)
        written = tidy(found.target) + (f" § {heading}" if heading and found.target.strip() else "")
        if target.href:
            element = Element("a", {"class": "kv-link", "href": target.href})
            element.set("data-kv-id", target.id)
        else:
            element = Element("span", {"class": "kv-link-missing"})
            element.set("title", code_escape(target.reason))
        if found.label:
            self._fill(element, found.label)
        elif target.text and not self._in_heading():
            element.text = AtomicString(code_escape(target.text))
        else:
            element.text = AtomicString(code_escape(written or heading))
        return element

    def _in_heading(self) -> bool:
        # A heading's id must not depend on another page's title.
        return not _HEADING_TAGS.isdisjoint(self._inline.ancestors)

    def _fill(self, element: Element, text: str) -> None:
        """Put text into an element: code spans as they are, all else as plain text."""
        stash = self._inline.stashed_nodes
        pieces = INLINE_PLACEHOLDER_RE.split(text)
        element.text = AtomicString(_plain_text(pieces[0]))
        last: Element | None = None
        for name, after in zip(pieces[1::2], pieces[2::2], strict=True):
            node = stash.get(name, "")
            if isinstance(node, str):
                _append(element, last, node + _plain_text(after))
            else:
                element.append(node)
                last = node
                last.tail = AtomicString(_plain_text(after))

    def _plain(self, text: str) -> str:
        """Text with its code spans as plain text."""
        stash = self.md.htmlStash.rawHtmlBlocks

        def raw(match: re.Match[str]) -> str:
            piece = stash[int(match[1])]
            return html.unescape(_TAG.sub("", piece)) if isinstance(piece, str) else ""

        return HTML_PLACEHOLDER_RE.sub(raw, self.unescape(text))


def _append(element: Element, last: Element | None, text: str) -> None:
    if last is None:
        element.text = AtomicString(f"{element.text}{text}")
    else:
        last.tail = AtomicString(f"{last.tail}{text}")


def _plain_text(text: str) -> str:
    return re.sub(r"\\([\\`*_{}\[\]()>#+.!|-])", r"\1", text.replace("\n", " "))
