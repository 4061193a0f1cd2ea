"""The link graph around one record as an inline SVG: no script, and its boxes are links.

Made of strings rather than from a template: it is the largest piece that each page gets.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from functools import lru_cache

from markupsafe import Markup, escape

from kvgate.records.graph import WIKILINK
from kvgate.site.book import Book

__all__ = ["drawing"]

_MOST = 7  # boxes on a side; the lists below the picture hold them all
_ROW, _HEIGHT, _WIDTH = 52, 40, 206
_CENTRE, _RIGHT = 244, 488
_LETTERS = 33
_TO = {
    "prerequisite": "read first",
    "caused-by": "caused by",
    "see-also": "see also",
    "superseded-by": "superseded by",
    WIKILINK: "links to",
}
_FROM = {
    "prerequisite": "builds on this",
    "caused-by": "follows from this",
    "see-also": "sees also",
    "superseded-by": "is superseded by this",
    WIKILINK: "links here",
}
_RANK = {kind: i for i, kind in enumerate(_TO)}


def drawing(book: Book, record_id: str, to: Callable[[str], str]) -> Markup:
    """The record, what it leads to on its right, what alone leads to it on its left.

    ``to`` gives the address of another record's page. Empty where the record stands alone.
    """
    outgoing = {e.target: e.type for e in reversed(book.graph.outgoing.get(record_id, ()))}
    incoming = {
        e.source: e.type
        for e in reversed(book.graph.incoming.get(record_id, ()))
        if e.source not in outgoing
    }
    if not outgoing and not incoming:
        return Markup("")
    right, left = _ordered(book, outgoing), _ordered(book, incoming)
    height = max(len(left[:_MOST]), len(right[:_MOST]), 1) * _ROW + 26
    start = 0 if left else _CENTRE
    width = (_RIGHT if right else _CENTRE) + _WIDTH - start
    own = book.library.records[record_id]
    parts = [
        '<figure class="kv-graph" tabindex="0">\n'
        f'<svg viewBox="{start} 0 {width} {height}" width="{width}" height="{height}" '
        'role="group" aria-label="Records around this one">\n',
        *_column(book, [(i, _FROM[incoming[i]], incoming[i]) for i in left], 0, height, to),
        *_column(book, [(i, _TO[outgoing[i]], outgoing[i]) for i in right], _RIGHT, height, to),
        f'<g class="kv-node kv-own kv-{own.front.severity}">'
        f"{_box(own.title, _CENTRE, (height - _HEIGHT) // 2)}</g>\n",
        *(_more(len(found) - _MOST, x, height) for found, x in ((left, 0), (right, _RIGHT))),
        "</svg>\n</figure>",
    ]
    return Markup("".join(parts))  # noqa: S704 - titles and addresses are escaped


def _ordered(book: Book, edges: dict[str, str]) -> list[str]:
    """Typed relations before wiki-links, then by title."""
    return sorted(edges, key=lambda i: (_RANK[edges[i]], book.title(i).casefold()))


def _column(
    book: Book, others: list[tuple[str, str, str]], x: int, height: int, to: Callable[[str], str]
) -> Iterator[str]:
    """The boxes of one side, with the curves that lead to the middle."""
    shown = others[:_MOST]
    middle = height // 2
    top = middle - (len(shown) * _ROW - _ROW + _HEIGHT) // 2
    near, far = (_CENTRE, x + _WIDTH) if x < _CENTRE else (_CENTRE + _WIDTH, x)
    bend = (near + far) // 2
    for number, (other, label, kind) in enumerate(shown):
        y = top + number * _ROW
        level = y + _HEIGHT // 2
        record = book.library.records[other]
        # xlink:href, because the script of the theme takes every a[href] for an HTML link, and ends
        # with an error when it isn't.
        yield (
            f'<path class="kv-edge kv-edge-{kind}" '
            f'd="M{near} {middle}C{bend} {middle} {bend} {level} {far} {level}"/>'
            f'<a class="kv-node kv-{record.front.severity}" data-kv-id="{other}" '
            f'xlink:href="{escape(to(other))}">{_box(record.title, x, y)}'
            f'<rect class="kv-bar" x="{x}" y="{y}" width="4" height="{_HEIGHT}"/>'
            f'<text class="kv-label" x="{x + 4}" y="{y - 3}">{label}</text></a>\n'
        )


def _box(title: str, x: int, y: int) -> str:
    whole, lines = _words(title)
    first = y + (25 if len(lines) == 1 else 17)
    text = "".join(
        f'<text x="{x + 11}" y="{first + 14 * number}">{line}</text>'
        for number, line in enumerate(lines)
    )
    rect = f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="3"/>'
    return f"<title>{whole}</title>{rect}{text}"


@lru_cache(maxsize=4096)
def _words(title: str) -> tuple[str, tuple[str, ...]]:
    """A title whole and in two lines, escaped."""
    lines = textwrap.wrap(title, _LETTERS, max_lines=2, placeholder=" …")
    return str(escape(title)), tuple(str(escape(line)) for line in lines)


def _more(count: int, x: int, height: int) -> str:
    if count <= 0:
        return ""
    return f'<text class="kv-label" x="{x + 4}" y="{height - 4}">and {count} more below</text>\n'
