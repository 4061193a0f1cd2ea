"""What the site writes beside its pages: data for programs, and signs at former addresses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kvgate.site.api import gotcha, graph, summary
from kvgate.site.feed import atom
from kvgate.site.llms import llms
from kvgate.site.pages import Pages
from kvgate.site.record_page import path_of
from kvgate.site.redirects import redirects
from kvgate.site.signed import signed

__all__ = ["documents"]


def documents(pages: Pages, *, title: str, description: str) -> Iterator[tuple[str, str]]:
    """(file below the site, text) of everything that is no page."""
    book, addresses = pages.book, pages.addresses
    rows = [summary(book, record, addresses) for record in book.records]
    yield "api/v1/gotchas.json", _json({"records": rows})
    for record, row in zip(book.records, rows, strict=True):
        yield f"api/v1/gotchas/{record.id}.json", _json(gotcha(book, record, row))
        yield path_of(record.id), pages.written(record)
    yield "api/v1/graph.json", _json(graph(book, addresses))
    yield "api/v1/signatures.json", _json(signed(book, addresses))
    yield "feed.xml", atom(book, addresses, title=title)
    yield "llms.txt", llms(book, addresses, title=title, description=description)
    yield from redirects(book, addresses)


def _json(document: dict[str, Any]) -> str:
    # Compact: the encoder that indents is written in Python and takes six times as long.
    text = json.dumps({"schema_version": 1, **document}, ensure_ascii=False, separators=(",", ":"))
    return f"{text}\n"
