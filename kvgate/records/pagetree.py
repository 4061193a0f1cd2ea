"""A page as the renderer divides it: its runs of text in order, each place known in the source.

The block structure (what is a paragraph, a list item, a table cell, code) is read by
Python-Markdown's own block parser, so that it is the page's and not our idea of it. Fences are cut
out before, and a mark is put before every ``[[``: it comes along into whatever run of text the
parser makes, and says where that run came from. Marks are noncharacters, which no text holds.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.blockparser import BlockParser
from markdown.blockprocessors import CodeBlockProcessor
from markdown.extensions.footnotes import FN_BACKLINK_TEXT, NBSP_PLACEHOLDER
from markdown.util import HTML_PLACEHOLDER_RE, AtomicString

from kvgate.claims.fences import Fence, candidates
from kvgate.errors import InputError, Place
from kvgate.records import dialect, limits

__all__ = ["PageTree", "Run", "front_matter_end", "parse"]

_MARK = "\ufdd0{}\ufdd1"
_MARKED = re.compile("\ufdd0([0-9]+)\ufdd1")
_FENCE = "\ufdd2"
_RESERVED = re.compile("[\ufdd0-\ufdd2]")
_OPENING = re.compile(r"\[\[(?!\[)")
_LINE_END = r"[ \t]*(?:\r\n?|\n|\Z)"
_FRONT_MATTER = re.compile(
    rf"\ufeff?---{_LINE_END}(?:.*?(?:\r\n?|\n))??(?:---|\.\.\.){_LINE_END}", re.DOTALL
)
_BLANK = re.compile(r"(?<=\n) +\n")
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_LOCAL = threading.local()


@dataclass(frozen=True, slots=True)
class Run:
    """A run of text that the renderer looks at as one, marks removed.

    ``marks`` gives, for the index in ``text`` of each ``[[``, its offset in the page's source.
    ``tag`` is the element that holds it, ``footnote`` whether it lies in a footnote, ``number`` its
    place among the page's runs, ``headings`` how many headings have begun at or before it.
    """

    text: str
    marks: dict[int, int]
    tag: str
    footnote: bool
    number: int
    headings: int


@dataclass(frozen=True, slots=True)
class PageTree:
    """A page before its inline markup is looked at.

    ``root`` is the tree of elements (marks still in it), ``references`` the names of its link
    references, ``html`` its raw HTML with the offsets of the ``[[`` in each piece.
    ``swallowed`` are the fences right below indented code, which the page shows as part of it.
    """

    root: Element
    references: frozenset[str]
    fences: tuple[Fence, ...]
    swallowed: tuple[Fence, ...]
    html: tuple[tuple[str, tuple[int, ...]], ...]
    marks: list[int]
    markdown: Markdown

    def runs(self) -> Iterator[Run]:
        """The runs of text in the order they are rendered in."""
        headings = 0
        footnote: Element | None = None
        stack: list[tuple[Element, bool]] = [(self.root, False)]
        number = 0
        while stack:
            element, tail = stack.pop()
            text = element.tail if tail else element.text
            if not tail:
                if element.tag in _HEADINGS:
                    headings += 1
                if element.tag == "div" and element.get("class") == "footnote":
                    footnote = element
                stack.append((element, True))
                stack.extend((child, False) for child in reversed(element))
            elif element is footnote:
                footnote = None
            if text and text != FN_BACKLINK_TEXT and not isinstance(text, AtomicString):
                plain, marks = _unmark(text.removesuffix(NBSP_PLACEHOLDER))
                marks = {at: self.marks[name] for at, name in marks.items()}
                yield Run(plain, marks, element.tag, footnote is not None, number, headings)
                number += 1


def front_matter_end(text: str) -> int:
    """The offset where the page's body begins, after the front matter if there is any."""
    match = _FRONT_MATTER.match(text)
    return match.end() if match else int(text.startswith("\ufeff"))


def parse(
    text: str, offset: int = 0, *, path: str = "", markdown_in_html: bool = False
) -> PageTree:
    """The page ``text`` from ``offset`` on; InputError where the renderer itself cannot take it.

    ``markdown_in_html`` reads on inside raw HTML that says ``markdown``, as ``md_in_html`` does.
    """
    text = _RESERVED.sub("\ufffd", text)
    fences = candidates(text[offset:])
    source, marks = _marked(text, offset, fences, path)
    source = source.replace("\x02", "").replace("\x03", "")
    source = source.replace("\r\n", "\n").replace("\r", "\n") + "\n\n"
    md = _markdown(markdown_in_html)
    source = _BLANK.sub("\n", source.expandtabs(md.tab_length))
    code = _CodeBlocks(md.parser)
    md.parser.blockprocessors.register(code, "code", 80)
    pieces = source.split(_FENCE)
    source = "".join(piece + md.htmlStash.store("") for piece in pieces[:-1]) + pieces[-1]
    root = Element("div")
    try:
        lines = md.preprocessors["html_block"].run(source.split("\n"))
        md.parser.parseChunk(root, "\n".join(lines))
        md.treeprocessors["footnote"].run(root)
    except Exception as error:
        # The parser is other people's and meets text of strangers; whatever it stumbles over is the
        # page's fault to report, not a reason to stop. Its own state may be in pieces.
        _LOCAL.__dict__.clear()
        why = "lists or quotes are nested too deep" if isinstance(error, RecursionError) else error
        place = Place(path, _line(text, offset))
        hint = "simplify its lists, quotes and tables"
        raise InputError(f"the page cannot be read: {why}", hint=hint, place=place) from None
    html = tuple(
        (piece, tuple(marks[int(name)] for name in _MARKED.findall(piece)))
        for piece in md.htmlStash.rawHtmlBlocks
        if isinstance(piece, str) and "\ufdd0" in piece
    )
    swallowed = tuple(
        fences[n] for n in sorted(code.swallowed) if n < len(fences) and fences[n].indent < 4
    )
    return PageTree(root, frozenset(md.references), fences, swallowed, html, marks, md)


class _CodeBlocks(CodeBlockProcessor):
    """Indented code; notes the fences in its block, which superfences gives back as text."""

    def __init__(self, parser: BlockParser) -> None:
        super().__init__(parser)
        self.swallowed: set[int] = set()

    def run(self, parent: Element, blocks: list[str]) -> bool | None:
        self.swallowed.update(map(int, HTML_PLACEHOLDER_RE.findall(blocks[0])))
        return super().run(parent, blocks)


def _marked(text: str, offset: int, fences: tuple[Fence, ...], path: str) -> tuple[str, list[int]]:
    """The page with a mark before each ``[[``, one character for each fence; the marks' offsets."""
    parts: list[str] = []
    marks: list[int] = []
    at = offset
    for fence in (*fences, None):
        end = offset + fence.start if fence else len(text)
        limits.check(text, at, end, path)
        for match in _OPENING.finditer(text, at, end):
            parts += [text[at : match.start()], _MARK.format(len(marks))]
            marks.append(match.start())
            at = match.start()
        parts.append(text[at:end])
        if fence:
            parts += [fence.prefix, _FENCE]
            at = offset + fence.end
            if not fence.closed and at < len(text):
                parts.append("\n\n")
    return "".join(parts), marks


def _unmark(text: str) -> tuple[str, dict[int, int]]:
    """``text`` without marks, and where in it each stood: index to the mark's number."""
    if "\ufdd0" not in text:
        return text, {}
    pieces = _MARKED.split(text)
    marks, at = {}, len(pieces[0])
    for name, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        marks[at] = int(name)
        at += len(piece)
    return "".join(pieces[::2]), marks


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def _markdown(markdown_in_html: bool) -> Markdown:
    known: dict[bool, Markdown] = _LOCAL.__dict__.setdefault("markdown", {})
    if markdown_in_html not in known:
        extensions = [*dialect.BLOCKS, *(["md_in_html"] if markdown_in_html else [])]
        known[markdown_in_html] = Markdown(extensions=extensions, extension_configs=dialect.CONFIGS)
    return known[markdown_in_html].reset()
