"""A page that no file of the docs folder holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kvgate.records.record import Record

__all__ = ["WIDE", "To", "ToFrom", "Virtual"]

WIDE = ("navigation", "toc")

To = Callable[[str], str]
"""Gives the address of a page, by its path among the sources, as one page links to it."""

ToFrom = Callable[[str], To]
"""Gives the `To` of a page."""


@dataclass(frozen=True, slots=True)
class Virtual:
    """A page made from data.

    ``path`` is where it would stand among the sources; ``body`` is HTML that follows what its
    Markdown gives. ``record`` is the record that it shows, None for other pages. ``searched`` says
    whether the theme's search is to read it.
    """

    path: str
    title: str
    markdown: str
    description: str = ""
    body: str = field(default="", repr=False)
    record: Record | None = None
    searched: bool = False
    hide: tuple[str, ...] = ()
    """What the theme leaves out to make room: ``navigation``, ``toc``."""
