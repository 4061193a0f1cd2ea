"""Evidence footnotes: a statement with a number names the claim or source that bears it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from kvgate.errors import Diagnostic, Place, nearest
from kvgate.records.footnotes import REFERENCE, footnotes
from kvgate.records.quantity import Quantity, bare_number, names_unit, quantities
from kvgate.records.units import Unit, units

__all__ = ["Sources", "check"]

_DEFINITION = re.compile(r"^ {0,3}\[\^([^\]\[\s^]{1,80})\]:", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Sources:
    """The names of a record's sources, and where each stands; that is asked for seldom."""

    names: Collection[str]
    place: Callable[[str], Place]


def check(
    prose: str, path: str, claims: Mapping[str, Place], sources: Sources | None
) -> Iterator[Diagnostic]:
    """What is wrong with a page's evidence.

    ``claims`` (with their places) and ``sources`` are what a footnote may name; without sources,
    because their front matter can't be read, no name is called unknown.
    """
    lines = _Lines(prose, path)
    named = sources.names if sources else ()
    used = set()
    for note in footnotes(prose):
        used.add(note.name)
        if sources and note.name not in claims and note.name not in named:
            known = [*claims, *named]
            hint = (
                nearest(note.name, known) if known
                else f"it has none: give a >>> line the comment '# claim: {note.name}', or write a "
                "source with this id in the front matter"
            )  # fmt: skip
            message = f"the footnote [^{note.name}] names no claim and no source of this record"
            yield lines.diagnostic("KV301", note.start, note.end, message, hint)
    for match in _DEFINITION.finditer(prose):
        message = f"a footnote [^{match[1]}] is written by hand"
        hint = (
            "name a claim (# claim: name) or a source of the front matter; kvgate writes the note"
        )
        yield lines.diagnostic("KV306", match.start(), match.end(), message, hint)
    for name, place in claims.items():
        if name not in used:
            hint = f"cite it where it bears a statement: [^{name}]; a step needs no name"
            yield Diagnostic("KV302", place, f"no footnote uses the claim {name!r}", hint)
        if name in named:
            hint = "rename one: a footnote means one thing"
            yield Diagnostic("KV304", place, f"{name!r} is a claim and a source", hint)
    for name in named:
        if sources and name not in used:
            hint = f"cite it where it bears a statement: [^{name}]"
            message = f"no footnote uses the source {name!r}"
            yield Diagnostic("KV303", sources.place(name), message, hint)
    for unit in units(prose):
        for quantity in naked(unit):
            message = f"the quantity {_shown(quantity)!r} has no footnote in its {unit.kind}"
            hint = "add [^name] of the claim or source that bears it"
            yield lines.diagnostic("KV305", quantity.start, quantity.end, message, hint)


def naked(unit: Unit) -> Iterator[Quantity]:
    """The quantities of a unit of prose that carries no footnote."""
    if unit.vouched or REFERENCE.search(unit.text):
        return
    found = list(quantities(unit.text))
    if not found and unit.head and names_unit(unit.head):
        number = bare_number(unit.text)
        found = [number] if number else []
    for q in found:
        yield Quantity(unit.start + q.start, unit.start + q.end, q.text)


def _shown(quantity: Quantity) -> str:
    return " ".join(re.sub(r"[*_]+", "", quantity.text).split())


class _Lines:
    """Offsets to places, counted forwards: findings come nearly in order."""

    def __init__(self, text: str, path: str) -> None:
        self._text, self._path = text, path
        self._line, self._at = 1, 0

    def diagnostic(self, code: str, start: int, end: int, message: str, hint: str) -> Diagnostic:
        if start < self._at:
            self._line, self._at = 1, 0
        self._line += self._text.count("\n", self._at, start)
        self._at = start
        column = start - self._text.rfind("\n", 0, start)
        end_column = column + end - start if "\n" not in self._text[start:end] else 0
        return Diagnostic(code, Place(self._path, self._line, column), message, hint, end_column)
