"""Pages made from the catalogue: models, GPUs, KV formats, kernels, and backends by version."""

from __future__ import annotations

from collections.abc import Iterator

from kvgate.site.book import Book
from kvgate.site.reference.backends import backend_pages, backend_tables
from kvgate.site.reference.changes import changes_page
from kvgate.site.reference.formats import formats_page
from kvgate.site.reference.gpus import gpus_page
from kvgate.site.reference.kernels import kernels_page
from kvgate.site.reference.models import models_page
from kvgate.site.virtual import ToFrom, Virtual

__all__ = ["reference_pages"]


def reference_pages(book: Book, to_from: ToFrom) -> Iterator[Virtual]:
    """Every reference page; ``to_from`` gives the addresses that a page links to."""
    yield models_page()
    yield gpus_page(book, to_from)
    yield kernels_page(to_from)
    yield formats_page()
    made = backend_tables()
    yield from backend_pages(made, to_from)
    yield changes_page(made, to_from)
