"""A page's claims as found: examples in order, and what is wrong with them before any runs."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from kvgate.errors import Diagnostic, Place

__all__ = ["Document", "Example"]

# A page with one of these runs nothing: its text cannot be trusted to mean what it shows.
_BLOCKING = frozenset({"KV310", "KV319", "KV320", "KV321", "KV322"})
_NAME_COMMENT = re.compile(r"[ \t]*#\s*claims?\s*:.*$", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Example:
    """One prompt of a page with its continuation lines and the output written below it.

    ``name`` is the claim's, empty where it has none. ``source`` is the code without prompts,
    ``want`` the expected output without indentation; both have ``\\n`` between lines and none at
    the end. ``place`` is the prompt's. ``want_start`` and ``want_end`` enclose the output in the
    text given to `find` (they are equal, and after the source, where it has none); ``prefix`` is
    what precedes the prompt on its line.
    """

    name: str
    source: str
    want: str
    place: Place
    statement: ast.Expr | ast.Assign = field(repr=False, compare=False)
    margins: tuple[int, ...] = field(repr=False)
    want_start: int = field(repr=False)
    want_end: int = field(repr=False)
    prefix: str = field(repr=False)

    @property
    def line(self) -> int:
        """The 1-based page line of the prompt."""
        return self.place.line

    @property
    def want_line(self) -> int:
        """The 1-based page line of the first line of output, where there is one."""
        return self.place.line + len(self.margins)

    @property
    def code(self) -> str:
        """The source without the comment that names it: what a reader is shown and may re-run."""
        return _NAME_COMMENT.sub("", self.source) if self.name else self.source

    def place_of(self, node: ast.AST) -> Place:
        """Where a node of this example's statement stands on the page."""
        line = getattr(node, "lineno", 1)
        column = character(self.source, line, getattr(node, "col_offset", 0))
        return located(self.place, self.margins, line, column)


@dataclass(frozen=True, slots=True)
class Document:
    """The examples of a page in order, and every problem found before anything ran."""

    path: str
    examples: tuple[Example, ...]
    problems: tuple[Diagnostic, ...]

    @property
    def runnable(self) -> bool:
        """False where an example is no Python or uses what claims don't have: nothing runs then."""
        return not any(problem.code in _BLOCKING for problem in self.problems)

    @property
    def claims(self) -> dict[str, Example]:
        """The named examples: claim name -> the first example of that name."""
        named: dict[str, Example] = {}
        for example in self.examples:
            if example.name:
                named.setdefault(example.name, example)
        return named


def located(prompt: Place, margins: tuple[int, ...], line: int, column: int) -> Place:
    """The page's place of a 1-based line and 0-based character of an example's source."""
    index = min(max(line, 1), len(margins)) - 1
    return Place(prompt.path, prompt.line + index, margins[index] + max(column, 0))


def character(source: str, line: int, offset: int) -> int:
    """The 0-based character of a UTF-8 offset (the unit of syntax trees) in a 1-based line."""
    if source.isascii():
        return offset
    lines = source.split("\n")
    if not 1 <= line <= len(lines):
        return offset
    return len(lines[line - 1].encode()[:offset].decode(errors="ignore"))
