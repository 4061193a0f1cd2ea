"""The Markdown dialect of the pages: which extensions render them, and with which settings.

The site's configuration lists the same; the scanner reads pages by the block rules of this list.
"""

from __future__ import annotations

from typing import Any

from kvgate.records.slugs import slug

__all__ = ["BLOCKS", "CONFIGS", "EXTENSIONS"]

BLOCKS = ("tables", "footnotes", "attr_list", "def_list", "admonition", "pymdownx.details", "toc")
"""What decides where a paragraph, a list, a table or a note begins and ends."""

EXTENSIONS = (
    *BLOCKS,
    "md_in_html",
    "pymdownx.highlight",
    "pymdownx.inlinehilite",
    "pymdownx.superfences",
)
"""Everything a page is rendered with, kvgate's own extension aside."""

CONFIGS: dict[str, dict[str, Any]] = {"toc": {"slugify": slug}}
"""The settings of the extensions above that differ from their defaults."""
