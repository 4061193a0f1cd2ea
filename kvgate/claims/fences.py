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
from dataclasses import dataclass
from functools import lru_cache

from kvgate.claims.fence import TAB, CodeLine, Fence, prefix_length, source_lines
from kvgate.claims.fencehiding import hidden

__all__ = [
    "CodeLine",
    "Fence",
    "candidates",
    "close_fences",
    "fences",
    "header_is_fence",
]

_OPENING = re.compile(r"([> ]*)(~{3,}|`{3,})(.*)", re.DOTALL)
_LANGUAGE = re.compile(r"[ \t]*\.?[\w#.+-]+(?=[ \t]|$)")
_ATTRIBUTES = re.compile(r"[ \t]*\{(.*)\}[ \t]*$", re.DOTALL)
_OPTION = re.compile(r"[ \t]*([a-zA-Z][a-zA-Z0-9_]*)(?:=(\"[^\"]*\"|'[^']*'))?(?=[ \t]|$)")
_HIGHLIGHTED = re.compile(r"\d+(?:-\d+)?(?:[ \t]+\d+(?:-\d+)?)*$")


# Claims, evidence and links read the same body one after the other; they need not search it anew.
_REMEMBERED = 4


@lru_cache(maxsize=_REMEMBERED)
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
    not_shown = hidden(text, found)
    return tuple(fence for fence in found if fence not in not_shown)


@lru_cache(maxsize=_REMEMBERED)
def candidates(text: str) -> tuple[Fence, ...]:
    """Every fence by its own two lines alone, before anybody asks what block it stands in."""
    if "```" not in text and "~~~" not in text:
        return ()
    found: list[Fence] = []
    opened: _Open | None = None
    for number, (start, raw) in enumerate(source_lines(text, 0, len(text)), 1):
        line = raw.expandtabs(TAB) if "\t" in raw else raw
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
        width = prefix_length(line, len(self.prefix))
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


def _after(text: str, end: int) -> int:
    """The offset of the line after the one that ends at ``end``."""
    if text.startswith("\r\n", end):
        return end + 2
    return min(end + 1, len(text))
