"""Small pages at the addresses of former ids, which lead on to the record of today."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvgate.records.targets import relative
from kvgate.site.addresses import Addresses
from kvgate.site.book import Book
from kvgate.site.fragments import fragment
from kvgate.site.record_page import path_of

__all__ = ["redirects"]

_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")


def redirects(book: Book, addresses: Addresses) -> Iterator[tuple[str, str]]:
    """(file below the site, HTML) for each alias that could have been an id.

    The page leads on without a script, and has a link for those whose browser doesn't.
    """
    for record in book.records:
        for alias in record.front.aliases:
            if not _ID.match(alias) or alias in book.library.records or alias == "index":
                continue
            there = addresses.of(path_of(record.id))
            href = relative(there, addresses.of(path_of(alias)))
            page = fragment(
                "redirect.html.j2", href=href, title=record.title,
                canonical=addresses.base and addresses.base + there,
            )  # fmt: skip
            yield addresses.file(path_of(alias)), page
