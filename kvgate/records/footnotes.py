"""Footnote references in prose: ``[^name]``, where the name is a claim's or a source's."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["REFERENCE", "Footnote", "footnotes"]

REFERENCE = re.compile(r"(?<!\\)\[\^([^\]\[\s^]{1,80})\](?!:)")
"""A reference, its name in the first group; ``[^name]:`` would begin a footnote."""


@dataclass(frozen=True, slots=True)
class Footnote:
    """A reference ``[^name]`` in prose, ``start`` and ``end`` being its offsets in the file."""

    name: str
    start: int
    end: int


def footnotes(prose: str) -> tuple[Footnote, ...]:
    """The footnote references of a page's prose (see `kvgate.records.prose.blank`), in order."""
    return tuple(Footnote(m[1], m.start(), m.end()) for m in REFERENCE.finditer(prose))
