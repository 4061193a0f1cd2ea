"""Pages written by hand: what is wrong with their wiki-links, and the blocks they ask for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from kvgate.errors import Diagnostic, Place, nearest
from kvgate.records.resolver import Resolver
from kvgate.records.scanner import scan

__all__ = ["Block", "faults", "filled"]

Block = Callable[[str], str]
"""Makes the HTML of a block from the words after its name."""

_MARKER = re.compile(r"<!--[ ]*kvgate:[ ]*([a-z-]+)[ ]*(.*?)[ ]*-->")


def faults(
    text: str, path: str, resolver: Resolver, blocks: Mapping[str, Block]
) -> list[Diagnostic]:
    """What is wrong with a page's wiki-links and block markers; ``text`` is the whole file."""
    found: list[Diagnostic] = []
    if "[[" in text:
        page = scan(text, path=path, markdown_in_html=True)
        found += page.problems
        for link in page.links:
            to = resolver.resolve(link.target, link.heading)
            # `[[#heading]]` is the page's own, which the renderer knows and we don't.
            if to.code and link.target:
                found.append(Diagnostic(to.code, link.place, to.message, to.hint))
    found += _unknown(text, path, blocks)
    return sorted(found, key=lambda d: (d.place, d.code))


def _unknown(text: str, path: str, blocks: Mapping[str, Block]) -> Iterator[Diagnostic]:
    for marker in _MARKER.finditer(text):
        if marker[1] not in blocks:
            line = text.count("\n", 0, marker.start()) + 1
            column = marker.start() - text.rfind("\n", 0, marker.start())
            message = f"no block is called {marker[1]!r}"
            yield Diagnostic(
                "KV001", Place(path, line, column), message, nearest(marker[1], blocks)
            )


def filled(html: str, blocks: Mapping[str, Block]) -> str:
    """HTML with each ``<!-- kvgate: name words -->`` replaced by the block of that name."""
    return _MARKER.sub(lambda m: blocks[m[1]](m[2]) if m[1] in blocks else m[0], html)
