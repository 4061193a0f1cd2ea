"""Pages that strangers wrote, made harmless: no HTML, no script, no request to elsewhere.

A record comes by pull request, so its Markdown is text and links and nothing that acts.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor

__all__ = ["InertExtension"]

_ATTRIBUTES = {"href", "src", "alt", "title", "class", "id", "start", "align", "data-kv-id", "rel"}
_SCHEMES = {"", "http", "https", "mailto"}
_CONTROLS = re.compile(r"[\x00-\x20\x7f]+")


class InertExtension(Extension):
    """Turns raw HTML into text and takes off what could act. ``on`` is asked for each page."""

    def __init__(self, on: object = None) -> None:
        self.on = on
        super().__init__()

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - Python-Markdown's name
        """Take out raw HTML and add the last look at every element."""
        if callable(self.on) and not self.on():
            return
        md.preprocessors.deregister("html_block", strict=False)
        md.inlinePatterns.deregister("html", strict=False)
        md.inlinePatterns.deregister("entity", strict=False)
        # After attr_list (8) has set attributes and MkDocs (0) has made links relative.
        md.treeprocessors.register(_Inert(md), "kvgate_inert", -10)


class _Inert(Treeprocessor):
    def run(self, root: Element) -> None:
        for parent in root.iter():
            for element in parent:
                _clean(element)


def _clean(element: Element) -> None:
    for name in list(element.attrib):
        if name not in _ATTRIBUTES:
            del element.attrib[name]
    href = element.get("href")
    if href is not None and _scheme(href) not in _SCHEMES:
        del element.attrib["href"]
    if element.tag == "img":
        # A picture of elsewhere is a request to elsewhere; its address stays as a link.
        source = element.get("src", "")
        if _scheme(source) or source.startswith("//"):
            element.tag = "a" if _scheme(source) in _SCHEMES else "span"
            element.text = element.get("alt") or source
            for name in ("src", "alt"):
                element.attrib.pop(name, None)
            if element.tag == "a":
                element.set("href", source)


def _scheme(address: str) -> str:
    try:
        return urlsplit(_CONTROLS.sub("", address)).scheme.casefold()
    except ValueError:
        return "unreadable"
