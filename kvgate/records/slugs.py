"""The one function that makes a heading's id, for the table of contents and for links alike."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

__all__ = ["slug"]


# Records share most of their headings, and links name them again.
@lru_cache(maxsize=4096)
def slug(text: str, separator: str = "-") -> str:
    """The id of a heading: NFC, lower case, letters of every script, digits and ``_`` kept.

    A run of spaces and hyphens becomes one separator, everything else is dropped. The second
    argument makes it a ``slugify`` for Python-Markdown's ``toc``, which numbers what comes twice.

    >>> slug("Überblick & Co"), slug("`x_y` --flag?"), slug("価値")
    ('überblick-co', 'x_y-flag', '価値')
    """
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).lower())
    kept = [
        letter
        if letter.isalnum() or letter == "_" or unicodedata.category(letter)[0] == "M"
        else " "
        if letter.isspace() or letter == "-"
        else ""
        for letter in text
    ]
    return separator.join("".join(kept).split())
