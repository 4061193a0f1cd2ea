"""What only looks like a fence: in an HTML comment, or as a part of indented code."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvgate.claims.fence import TAB, Fence, source_lines

__all__ = ["hidden"]

_COMMENT = re.compile(r"^ {0,3}<!--", re.MULTILINE)
_LIST_ITEM = re.compile(r" *(?:\d+\.|(?!(?:\* *){3,}$|(?:- *){3,}$)[*+-])[ ]+")
_CONTAINER = re.compile(r" {0,3}(?:!!!|\?\?\?\+?|===[!+]*|\[\^[^\]]*\]:)")
_DEFINITION = re.compile(r" {0,3}: +\S")
_RULE = r" {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$"
_ENDS_BLOCK = re.compile(rf" *(?:#{{1,6}}|!!!|\?\?\?|===)|<!--.*-->$|{_RULE}")


def hidden(text: str, found: tuple[Fence, ...]) -> set[Fence]:
    """The candidates that stand in an HTML comment or in an indented code block."""
    found_hidden = _in_indented_code(text, found)
    comments = list(_comments(text, found))
    at = 0
    for fence in found:
        while at < len(comments) and comments[at][1] <= fence.start:
            at += 1
        if at < len(comments) and comments[at][0] < fence.start:
            found_hidden.add(fence)
    return found_hidden


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
                or _CONTAINER.match(first[level * TAB :])
                or any(_DEFINITION.match(line[level * TAB :]) for line, _ in block)
            )
            items = [_level(line) for line, _ in block[1:] if _LIST_ITEM.match(line)]
            depth = max([level, *items]) + 1 if starts else level
    return hidden


def _blocks(text: str, found: tuple[Fence, ...]) -> Iterator[list[tuple[str, Fence | None]]]:
    """The runs of lines between blank lines, each candidate as one line."""
    ends = iter([*found, None])
    fence = next(ends)
    block: list[tuple[str, Fence | None]] = []
    for start, raw in source_lines(text, 0, len(text)):
        if fence and start > fence.end - (not fence.closed):
            fence = next(ends)
        line = raw.expandtabs(TAB)
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
    return (len(line) - len(line.lstrip(" "))) // TAB
