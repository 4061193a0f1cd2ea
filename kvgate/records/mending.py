r"""What can be mended in a record without knowing what its author meant.

Three findings have one answer only: the version of the schema that is missing (KV122), a version
that YAML reads as a number (KV124), and the pipe of a wiki-link in a table (KV220). Everything else
is left to a person.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from kvgate.errors import Diagnostic
from kvgate.records.record import Draft, read_record

__all__ = ["mend"]

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)?")
_END = re.compile(r"[\r\n]*\Z")
_LINK = re.compile(r"\[\[[^\[\]|]*?(?<!\\)(?=\|[^\[\]]*\]\])")
_QUOTE = "put it in quotes: "
# A row may hold several links, and only the first of a row that is torn can be told from the rest.
_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class _Edit:
    """``old`` at a 1-based line and column becomes ``new``; an empty ``old`` is an insertion."""

    line: int
    column: int
    old: str
    new: str


def mend(text: str, path: str) -> str:
    """The text of a record's file with all mended that can be, and every other byte as it was.

    ``text`` is the file as it stands, whatever its line ends; a byte order mark stays too. A text
    in which nothing can be mended is returned as it is.
    """
    for _ in range(_ROUNDS):
        plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        edits = list(_edits(read_record(plain, path), plain.split("\n")))
        if not edits:
            break
        text = _apply(text, edits)
    return text


def _edits(draft: Draft, lines: list[str]) -> Iterator[_Edit]:
    if draft.values and "schema_version" not in draft.values:
        yield _Edit(2, 1, "", "schema_version: 1\n")
    for finding in draft.found:
        if finding.code == "KV124" and finding.hint.startswith(_QUOTE):
            yield from _quoted(finding, lines)
    for finding in draft.page.scan.problems if draft.page else ():
        if finding.code == "KV220":
            line, column = finding.place.line, finding.place.column
            link = _LINK.match(lines[line - 1], column - 1)
            if link:
                yield _Edit(line, link.end() + 1, "", "\\")


def _quoted(finding: Diagnostic, lines: list[str]) -> Iterator[_Edit]:
    """Quotes around a plain scalar of one line."""
    line, column, end = finding.place.line, finding.place.column, finding.end_column
    word = lines[line - 1][column - 1 : end - 1]
    if end and word and not word.startswith(('"', "'")):
        yield _Edit(line, column, word, json.dumps(word, ensure_ascii=False))


def _apply(text: str, edits: list[_Edit]) -> str:
    lines = _LINE.findall(text)
    # From the end on, so that what stands before keeps its line and column.
    for edit in sorted(edits, key=lambda e: (e.line, e.column), reverse=True):
        line = lines[edit.line - 1]
        at = edit.column - 1
        if line[at : at + len(edit.old)] != edit.old:
            continue  # the parser counts lines otherwise here: leave it to a person
        end = _END.search(line)
        new = edit.new.replace("\n", end.group() if end and end.group() else "\n")
        lines[edit.line - 1] = line[:at] + new + line[at + len(edit.old) :]
    return "".join(lines)
