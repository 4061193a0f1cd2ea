"""Fenced code blocks of a Markdown page: where each stands, in character offsets of the source.

Both kinds of marker (backticks, tildes), any length from three up, in lists and in block quotes.
What counts as a fence is what the site's renderer takes as one (Python-Markdown with
``pymdownx.superfences``), so that a claim which runs is a claim the reader sees:

* a fence is closed by a line of exactly its own marker at exactly its own indentation;
* its header is nothing, a language, ``{attributes}``, or a language with the options ``title``,
  ``title_mode``, ``hl_lines`` and ``linenums``: a line such as three backticks, ``pip install x``
  and three backticks is a code span, not a fence;
* what only looks like a fence inside an indented code block or an HTML comment is none.

A fence that nobody closes runs to the end of its list item, of its quote or of the file, as
CommonMark has it (kvgate's Markdown extension makes the renderer agree), and says ``closed=False``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = [
    "CodeLine",
    "Fence",
    "candidates",
    "close_fences",
    "fences",
    "header_is_fence",
]

_TAB = 4
_LINE = re.compile(r"([^\r\n]*)(\r\n|\n|\r|\Z)")
_OPENING = re.compile(r"([> ]*)(~{3,}|`{3,})(.*)", re.DOTALL)
_LANGUAGE = re.compile(r"[ \t]*\.?[\w#.+-]+(?=[ \t]|$)")
_ATTRIBUTES = re.compile(r"[ \t]*\{(.*)\}[ \t]*$", re.DOTALL)
_OPTION = re.compile(r"[ \t]*([a-zA-Z][a-zA-Z0-9_]*)(?:=(\"[^\"]*\"|'[^']*'))?(?=[ \t]|$)")
_HIGHLIGHTED = re.compile(r"\d+(?:-\d+)?(?:[ \t]+\d+(?:-\d+)?)*$")
_COMMENT = re.compile(r"^ {0,3}<!--", re.MULTILINE)
_LIST_ITEM = re.compile(r" *(?:\d+\.|[*+-])[ ]+")
_CONTAINER = re.compile(r" {0,3}(?:!!!|\?\?\?\+?|===[!+]*|\[\^[^\]]*\]:)")
_DEFINITION = re.compile(r" {0,3}: +\S")
_ENDS_BLOCK = re.compile(r" *#{1,6}|<!--.*-->$| {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$")


@dataclass(frozen=True, slots=True)
class CodeLine:
    """One line of a fence's code: the offset where its code begins, the code, its 1-based line."""

    start: int
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Fence:
    """One fenced code block; all offsets count characters of the text given.

    ``info`` is what follows the marker, stripped. ``start`` and ``end`` are the beginning of the
    opening line and the end of the closing line (line break excluded); ``body_start`` and
    ``body_end`` enclose the lines between them, each with its break. ``line`` is the 1-based line
    of the opening. ``indent`` counts the columns before the marker, quote marks included.
    ``closed`` is False where the closing line is missing; ``end`` equals ``body_end`` then.
    """

    info: str
    start: int
    end: int
    body_start: int
    body_end: int
    line: int
    closed: bool
    indent: int
    marker: str = "```"
    prefix: str = ""

    @property
    def language(self) -> str:
        """The first word of the header, lower case, without a dot or brace: ``pycon``."""
        words = self.info.strip("{}").split()
        return words[0].lstrip(".").lower() if words else ""

    def lines(self, text: str) -> tuple[CodeLine, ...]:
        """The lines of the body without the indentation or quote marks of the fence."""
        found = []
        for number, (start, raw) in enumerate(_lines(text, self.body_start, self.body_end), 1):
            line = raw.expandtabs(_TAB)
            skip = _prefix_length(line, self.indent)
            code = line[skip:] if line.strip() else ""
            found.append(CodeLine(start + _raw_index(raw, skip), code, self.line + number))
        return tuple(found)

    def code(self, text: str) -> str:
        """The body as code: one string, lines joined and ended by ``\\n``."""
        return "".join(f"{line.text}\n" for line in self.lines(text))


def fences(text: str) -> tuple[Fence, ...]:
    """The fenced code blocks of ``text`` that the page shows as such, in order.

    >>> [f.info for f in fences("~~~pycon\\n>>> 1\\n1\\n~~~\\n")]
    ['pycon']
    >>> fences("```pip install x```, then text")
    ()
    """
    found = candidates(text)
    if not found:
        return ()
    hidden = _hidden(text, found)
    return tuple(fence for fence in found if fence not in hidden)


def candidates(text: str) -> tuple[Fence, ...]:
    """Every fence by its own two lines alone, before anybody asks what block it stands in."""
    if "```" not in text and "~~~" not in text:
        return ()
    found: list[Fence] = []
    opened: _Open | None = None
    for number, (start, raw) in enumerate(_lines(text, 0, len(text)), 1):
        line = raw.expandtabs(_TAB) if "\t" in raw else raw
        if opened:
            state = opened.judge(line)
            if state == _CLOSES:
                found.append(opened.fence(start, start + len(raw), closed=True))
                opened = None
                continue
            if state == _INSIDE:
                continue
            found.append(opened.fence(start, start, closed=False))
            opened = None
        opened = _opening(line, start, _after(text, start + len(raw)), number)
    if opened:
        found.append(opened.fence(len(text), len(text), closed=False))
    return tuple(found)


def close_fences(text: str) -> str:
    """``text`` with a closing line for each fence that lacks one, and a blank line after it.

    The same object when none lacks one.
    """
    found = [fence for fence in candidates(text) if not fence.closed]
    if not found:
        return text
    pieces, at = [], 0
    for fence in found:
        before = text[at : fence.end]
        ended = (before or text[: fence.end]).endswith(("\n", "\r"))
        pieces += [before, "" if ended else "\n", fence.prefix, fence.marker, "\n\n"]
        at = fence.end
    return "".join([*pieces, text[at:]])


def header_is_fence(header: str) -> bool:
    """Whether the renderer takes the text after a marker as the header of a fence."""
    language = _LANGUAGE.match(header)
    rest = header[language.end() :] if language else header
    if not rest.strip(" \t"):
        return True
    if attributes := _ATTRIBUTES.match(rest):
        # A bare `hl_lines` makes the renderer's own check stumble, and it lets go of the fence.
        return not re.search(r"(?:^|[ ])(?:hl_lines|linenums)(?=[ ]|$)", attributes[1])
    return _options_are_known(rest)


def _options_are_known(rest: str) -> bool:
    at = 0
    while at < len(rest):
        option = _OPTION.match(rest, at)
        if not option:
            return not rest[at:].strip(" \t")
        name, value = option[1], (option[2] or f"'{option[1]}'")[1:-1]
        if name == "hl_lines":
            known = bool(_HIGHLIGHTED.match(value))
        elif name == "linenums":
            known = value[:1].isdigit()
        else:
            known = name in ("title", "title_mode")
        if not known:
            return False
        at = option.end()
    return True


_INSIDE, _CLOSES, _BREAKS = "inside", "closes", "breaks"


@dataclass(slots=True)
class _Open:
    """A fence whose closing line has not come yet."""

    prefix: str
    marker: str
    info: str
    start: int
    body_start: int
    line: int
    blanks: int = 0

    def judge(self, line: str) -> str:
        """Whether ``line`` (tabs expanded) lies inside, closes the fence, or cannot be its own."""
        width = _prefix_length(line, len(self.prefix))
        prefix, content = line[:width], line[width:]
        level, own = prefix.count(">"), self.prefix.count(">")
        if level > own:
            return _BREAKS
        if not line.strip() or (own and not content):
            self.blanks += 1
            return _INSIDE
        if width < len(self.prefix) or (own and self.blanks and level < own):
            return _BREAKS
        if content.startswith(self.marker) and not content[len(self.marker) :].strip(" \t"):
            return _CLOSES
        self.blanks = 0
        return _INSIDE

    def fence(self, body_end: int, end: int, *, closed: bool) -> Fence:
        return Fence(
            self.info,
            self.start,
            end,
            self.body_start,
            body_end,
            self.line,
            closed,
            len(self.prefix),
            self.marker,
            self.prefix,
        )


def _opening(line: str, start: int, body_start: int, number: int) -> _Open | None:
    opening = _OPENING.match(line)
    if not opening or not header_is_fence(opening[3]):
        return None
    return _Open(opening[1], opening[2], opening[3].strip(), start, body_start, number)


def _hidden(text: str, found: tuple[Fence, ...]) -> set[Fence]:
    """The candidates that stand in an HTML comment or in an indented code block."""
    hidden = _in_indented_code(text, found)
    comments = list(_comments(text, found))
    at = 0
    for fence in found:
        while at < len(comments) and comments[at][1] <= fence.start:
            at += 1
        if at < len(comments) and comments[at][0] < fence.start:
            hidden.add(fence)
    return hidden


def _comments(text: str, found: tuple[Fence, ...]) -> Iterator[tuple[int, int]]:
    """The HTML comments that begin a line outside the fences; a fence's body closes none."""
    at, inside = 0, 0
    while opening := _COMMENT.search(text, at):
        start = opening.start()
        while inside < len(found) and found[inside].end <= start:
            inside += 1
        if inside < len(found) and found[inside].start <= start:
            at = found[inside].end
            continue
        closing, later = opening.end(), inside
        while (closing := text.find("-->", closing)) != -1:
            while later < len(found) and found[later].end <= closing:
                later += 1
            if later == len(found) or closing < found[later].start:
                break
            closing = found[later].end
        if closing == -1:
            return
        yield start, closing + 3
        at = closing + 3


def _in_indented_code(text: str, found: tuple[Fence, ...]) -> set[Fence]:
    """The candidates no list item (footnote, admonition, definition) above holds so far in.

    Python-Markdown nests by steps of four columns and looks at whole blocks, each by its first
    line: a block further in than the blocks above it hold is code.
    """
    hidden: set[Fence] = set()
    if not found:
        return hidden
    depth = 0  # how far in the next block may stand and still be text
    for block in _blocks(text, found):
        level = _level(block[0][0])
        if level > depth:
            hidden.update(fence for _, fence in block if fence)
        else:
            first = block[0][0]
            starts = (
                _LIST_ITEM.match(first)
                or _CONTAINER.match(first[level * _TAB :])
                or any(_DEFINITION.match(line[level * _TAB :]) for line, _ in block)
            )
            items = [_level(line) for line, _ in block[1:] if _LIST_ITEM.match(line)]
            depth = max([level, *items]) + 1 if starts else level
    return hidden


def _blocks(text: str, found: tuple[Fence, ...]) -> Iterator[list[tuple[str, Fence | None]]]:
    """The runs of lines between blank lines, each candidate as one line."""
    ends = iter([*found, None])
    fence = next(ends)
    block: list[tuple[str, Fence | None]] = []
    for start, raw in _lines(text, 0, len(text)):
        if fence and start > fence.end - (not fence.closed):
            fence = next(ends)
        line = raw.expandtabs(_TAB)
        if fence and start == fence.start:
            block.append((line, fence))
        elif fence and start > fence.start:
            continue
        elif line.strip(" "):
            block.append((line, None))
            if _ENDS_BLOCK.match(line):
                yield block
                block = []
        elif block:
            yield block
            block = []
    if block:
        yield block


def _level(line: str) -> int:
    return (len(line) - len(line.lstrip(" "))) // _TAB


def _prefix_length(line: str, most: int) -> int:
    length = 0
    while length < most and length < len(line) and line[length] in " >":
        length += 1
    return length


def _raw_index(raw: str, column: int) -> int:
    """The index in ``raw`` of the character that covers ``column`` once tabs are expanded."""
    if "\t" not in raw:
        return column
    index = at = 0
    while index < len(raw) and at < column:
        at += _TAB - at % _TAB if raw[index] == "\t" else 1
        index += 1
    return index


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """Each line's offset and text; a text that ends in a line break has no empty line after it."""
    at = start
    while at < end:
        line = _LINE.match(text, at, end)
        if not line:
            return
        yield at, line[1]
        at = line.end()


def _after(text: str, end: int) -> int:
    """The offset of the line after the one that ends at ``end``."""
    if text.startswith("\r\n", end):
        return end + 2
    return min(end + 1, len(text))
