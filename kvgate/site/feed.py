"""The Atom feed of the records, those last verified first."""

from __future__ import annotations

from xml.etree import ElementTree

from kvgate import __version__
from kvgate.site.addresses import Addresses
from kvgate.site.api import updated
from kvgate.site.book import Book
from kvgate.site.record_page import path_of

__all__ = ["FEED", "atom"]

FEED = "feed.xml"
_ATOM = "http://www.w3.org/2005/Atom"
_MOST = 50
_LONG_AGO = "1970-01-01"


def atom(book: Book, addresses: Addresses, *, title: str) -> str:
    """The feed as text. A site that doesn't know its address gets one without links."""
    base = addresses.base or "urn:kvgate:"
    days = {record.id: updated(record) or _LONG_AGO for record in book.records}
    records = sorted(book.records, key=lambda r: r.id)
    records.sort(key=lambda r: days[r.id], reverse=True)
    ElementTree.register_namespace("", _ATOM)
    root = ElementTree.Element(f"{{{_ATOM}}}feed")
    _child(root, "id", f"{base}{FEED}")
    _child(root, "title", f"{title}: gotchas")
    _child(root, "updated", f"{max(days.values(), default=_LONG_AGO)}T00:00:00Z")
    _child(root, "generator", "kvgate", version=__version__)
    _child(_child(root, "author"), "name", title)
    if addresses.base:
        _child(root, "link", rel="self", type="application/atom+xml", href=f"{base}{FEED}")
        _child(root, "link", rel="alternate", type="text/html", href=base)
    for record in records[:_MOST]:
        address = f"{base}{addresses.of(path_of(record.id))}"
        entry = _child(root, "entry")
        _child(entry, "id", address)
        _child(entry, "title", record.title)
        _child(entry, "updated", f"{days[record.id]}T00:00:00Z")
        if addresses.base:
            _child(entry, "link", rel="alternate", type="text/html", href=address)
        for concept in record.front.concepts:
            _child(entry, "category", term=concept)
        _child(entry, "summary", book.summaries[record.id], type="text")
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _child(
    parent: ElementTree.Element, name: str, text: str | None = None, **attributes: str
) -> ElementTree.Element:
    child = ElementTree.SubElement(parent, f"{{{_ATOM}}}{name}", attributes)
    child.text = text
    return child
