"""Pages that strangers wrote, made harmless: no HTML, no script, no request to elsewhere.

A record comes by pull request, so its Markdown is text and links and nothing that acts. Raw HTML is
still found where the linter finds it, because it decides where a paragraph ends; what was found is
then shown as the text it is.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import HTML_RE, HtmlInlineProcessor
from markdown.preprocessors import HtmlBlockPreprocessor, Preprocessor
from markdown.treeprocessors import Treeprocessor
from markupsafe import Markup

__all__ = ["InertExtension"]

_ATTRIBUTES = frozenset({
    "alt", "align", "class", "data-kv-id", "data-tabs", "href", "id", "open", "rel", "src", "start",
    "title",
})  # fmt: skip
_OF_TABS = frozenset({"checked", "for", "name", "type"})
_SCHEMES = frozenset({"", "http", "https", "mailto"})
_CONTROLS = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029]+")
_ALIGNED = re.compile(r"text-align: (?:left|right|center);\Z")
# What the theme's own style sheet and script take as theirs; ours are set by the wiki-links alone.
_THEIRS = re.compile(r"(?:md-|kv-(?!link(?:-missing)?\Z)|mermaid|js\Z|no-js\Z)")
_COMMENT = re.compile(r"<!--.*?(?:--!?>|\Z)", re.DOTALL)
_FENCE_TAG = re.compile(
    r"</?(?:div|pre|span|code|table|tbody|tr|td|th)"
    r'(?: class="(?:(?!md-|kv-|mermaid)[A-Za-z0-9_-]+ ?)*")?>'
)
_ANY_TAG = re.compile(r"<[^<>]*>")


class InertExtension(Extension):
    """Shows raw HTML as text and takes off what could act; ``on`` is asked for each page."""

    def __init__(self, on: Callable[[], bool] = lambda: True) -> None:
        self.on = on
        super().__init__()

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - Python-Markdown's name
        """Put ours in the place of what takes raw HTML, and add the last look at each element."""
        if not self.on():
            return
        md.preprocessors.register(_Blocks(md), "html_block", 20)  # md_in_html's too, if it is there
        md.preprocessors.register(_Fences(md), "kvgate_fence_tags", 24)  # superfences is 25
        md.inlinePatterns.register(_Tags(HTML_RE, md), "html", 90)
        md.treeprocessors.register(_Addresses(md), "kvgate_addresses", 1)
        # After attr_list (8) has set attributes, and MkDocs (0) has made links relative.
        md.treeprocessors.register(_Elements(md), "kvgate_inert", -10)


class _Blocks(HtmlBlockPreprocessor):
    """Raw HTML between paragraphs, found as ever, and kept as text."""

    def run(self, lines: list[str]) -> list[str]:
        pieces = self.md.htmlStash.rawHtmlBlocks
        before = len(pieces)
        lines = super().run(lines)
        for index in range(before, len(pieces)):
            pieces[index] = _shown(str(pieces[index]))
        return lines


class _Tags(HtmlInlineProcessor):
    """Raw HTML within a paragraph, found as ever, and kept as text."""

    def handleMatch(  # type: ignore[override]  # noqa: N802 - Python-Markdown's name
        self, m: re.Match[str], data: str
    ) -> tuple[str, int, int]:
        written = self.backslash_unescape(self.unescape(m[1]))
        return self.md.htmlStash.store(_shown(written)), m.start(0), m.end(0)


def _shown(raw: str) -> str:
    # A comment alone stays one, for the renderer doesn't put a comment into a paragraph.
    return html.escape(_COMMENT.sub("", raw)).strip("\n") or "<!-- -->"


class _Fences(Preprocessor):
    """Code is rendered by now; a fence's header can carry attributes of any name, and mustn't."""

    def run(self, lines: list[str]) -> list[str]:
        pieces: list[Any] = self.md.htmlStash.rawHtmlBlocks
        for index, piece in enumerate(pieces):
            if isinstance(piece, Markup):  # ours, escaped where it was made
                continue
            if isinstance(piece, str) and "<" in _FENCE_TAG.sub("", piece):
                text = html.unescape(_ANY_TAG.sub("", piece))
                pieces[index] = f"<pre><code>{html.escape(text, quote=False)}</code></pre>"
        return lines


class _Addresses(Treeprocessor):
    """Takes off addresses that can't be read: MkDocs, which comes next, would stop at them."""

    def run(self, root: Element) -> None:
        for tag, name in (("a", "href"), ("img", "src")):
            for element in list(root.iter(tag)):
                try:
                    urlsplit(element.get(name, ""))
                except ValueError:
                    del element.attrib[name]
                    element.tag = "span"


class _Elements(Treeprocessor):
    def run(self, root: Element) -> None:
        for parent in root.iter():
            for element in parent:
                _clean(element)


def _clean(element: Element) -> None:
    for name in list(element.attrib):
        value = element.attrib[name]
        if name == "class":
            kept = " ".join(c for c in value.split() if not _THEIRS.match(c))
            if kept != value:
                element.set("class", kept)
        elif not (
            name in _ATTRIBUTES
            or (name == "style" and _ALIGNED.match(value))
            or (name in _OF_TABS and element.tag in ("input", "label"))
        ):
            del element.attrib[name]
    href = element.get("href")
    if href is not None and _scheme(href) not in _SCHEMES:
        del element.attrib["href"]
    if element.tag == "img" or "src" in element.attrib:
        _still(element)


def _still(element: Element) -> None:
    """A picture of elsewhere is a request to elsewhere; its address stays as a link."""
    source = element.get("src", "")
    scheme = _scheme(source)
    if not scheme and not _elsewhere(source):
        return
    linked = scheme in _SCHEMES
    element.tag = "a" if linked else "span"
    element.text = element.get("alt") or source
    for name in ("src", "alt"):
        element.attrib.pop(name, None)
    if linked:
        element.set("href", source)


def _bare(address: str) -> str:
    """An address as a browser reads it: entities resolved, white space and controls dropped."""
    return _CONTROLS.sub("", html.unescape(address))


def _elsewhere(address: str) -> bool:
    return _bare(address).replace("\\", "/").startswith("//")


def _scheme(address: str) -> str:
    bare = _bare(address)
    try:
        found = urlsplit(bare).scheme.casefold()
    except ValueError:
        return "unreadable"
    # What has a colon before any slash is a scheme to a browser, even if it is none to us.
    head = re.split(r"[/?#]", bare, maxsplit=1)[0]
    return found or ("unreadable" if ":" in head else "")
