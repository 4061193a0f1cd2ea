"""What is wrong with a page around its links: fences, raw HTML, shapes that lead nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kvgate.claims.fences import Fence
from kvgate.records import wikilinks
from kvgate.records.pagetree import PageTree
from kvgate.records.wikilinks import looks_like_link

__all__ = ["CUT", "GARBLED", "LONE_BACKTICK", "SHAPES", "Fault", "Spot", "of_page"]


class Fault(NamedTuple):
    """A code with its message and its hint."""

    code: str
    message: str
    hint: str


class Spot(NamedTuple):
    """A fault and the offset in the text where it stands."""

    start: int
    fault: Fault


_NO_NESTING = "a link cannot hold a link: keep one of the two"
SHAPES = {
    wikilinks.NESTED: Fault(
        "KV221",
        "the wiki-link stands inside another one",
        "close the first with ]] before this one, or take its brackets away",
    ),
    wikilinks.IN_LINK: Fault("KV222", "the wiki-link stands inside an ordinary link", _NO_NESTING),
    wikilinks.IN_HTML_LINK: Fault("KV222", "the wiki-link stands inside an HTML link", _NO_NESTING),
    wikilinks.EMBED: Fault(
        "KV224", "a page cannot be shown inside another", "remove the ! to link to it"
    ),
    wikilinks.GLUED: Fault(
        "KV225",
        "the wiki-link is stuck to what stands before it",
        "put a space before it, or put code in backticks",
    ),
    wikilinks.EMPTY: Fault(
        "KV226",
        "a part of the wiki-link is missing",
        "write [[target]], [[target#heading]] or [[target|label]]",
    ),
    wikilinks.IN_TAG: Fault(
        "KV227",
        "the wiki-link stands inside raw HTML and is not rendered",
        "write it in Markdown, or in backticks if it is code",
    ),
}
CUT = Fault("KV220", "the pipe of this wiki-link ends the table cell", "write \\| instead of |")
LONE_BACKTICK = Fault(
    "KV229",
    "this paragraph has a backtick without a partner",
    "close the code span, or write \\` for a backtick",
)
GARBLED = Fault("KV230", "the renderer garbles this text", "write its HTML in Markdown")
_DECLARATION = Fault(
    "KV231",
    "a markup declaration is not Markdown",
    "put it in backticks if it is meant to be read",
)
_NO_FENCE = Fault(
    "KV228",
    "the site takes this line as text, GitHub as the start of a fence",
    'after the marker write a language and no more, or title="…"',
)
_SWALLOWED = Fault(
    "KV228",
    "the site takes this fence as part of the indented code above it",
    "put a blank line above it",
)

_UNDERLINED = Fault(
    "KV228",
    "the line below this fence makes a heading of it on the site",
    "put a blank line below the fence",
)

_CODE_HTML = re.compile(
    r"\s*(?:<!--|<(?:pre|code|script|style|textarea|template)\b)", re.IGNORECASE
)
_DECLARATION_LINE = re.compile(r"^[> ]{0,3}<(?:\?|!(?!--))", re.MULTILINE)
_FENCE_LINE = re.compile(r"^[> ]{0,3}(?:`{3,}(?!.*`)|~{3,})", re.MULTILINE)
_UNDERLINE = re.compile(r"(?:\r\n?|\n)(?:=+|-+) *(?:\r|\n|\Z)")
_CLOSING_LINE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*$")


def of_page(text: str, offset: int, page: PageTree) -> Iterator[Spot]:
    """The faults of the page ``text`` from ``offset`` on, apart from its runs of text."""
    # Wiki-links in comments and in HTML that holds code are meant as they are.
    for html, starts in page.html:
        if not _CODE_HTML.match(html):
            for start in starts:
                if looks_like_link(text, start):
                    yield Spot(start, SHAPES[wikilinks.IN_TAG])
    for fence in page.swallowed:
        yield Spot(offset + fence.start, _SWALLOWED)
    at = offset
    body = text[offset:]
    for some in (*page.fences, None):
        until = offset + some.start if some else len(text)
        for line in _DECLARATION_LINE.finditer(text, at, until):
            yield Spot(line.start(), _DECLARATION)
        for line in _FENCE_LINE.finditer(text, at, until):
            yield Spot(line.start(), _NO_FENCE)
        if some:
            at = offset + some.end
            yield from _of_fence(body, offset, some)


def _of_fence(body: str, offset: int, fence: Fence) -> Iterator[Spot]:
    for line in fence.lines(body):
        match = _CLOSING_LINE.match(line.text)
        if match and match[1].startswith(fence.marker):
            hint = f"end it with {fence.marker} right below its beginning, or begin it with more"
            fault = Fault("KV228", "GitHub ends the fence here, the site does not", hint)
            yield Spot(offset + line.start, fault)
    if fence.closed and _UNDERLINE.match(body, fence.end):
        yield Spot(offset + fence.start, _UNDERLINED)
    if not fence.closed:
        hint = f"end it with a line {fence.prefix}{fence.marker}"
        fault = Fault("KV223", "this fence is never closed", hint)
        yield Spot(offset + fence.start + fence.indent, fault)
