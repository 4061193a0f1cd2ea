"""Rewriting outputs that moved: the text of a page with the computed values in place of the old."""

from __future__ import annotations

from kvgate.claims.finder import find
from kvgate.claims.report import Report, Result
from kvgate.errors import InputError, Place

__all__ = ["fix", "fixable"]


def fixable(result: Result) -> bool:
    """Whether a result is an output that moved, which `fix` may rewrite.

    An example that raised, or that refused its input where it did not before (or the other way
    round), changed its meaning: a person looks at it.
    """
    if result.outcome != "failed" or not result.got:
        return False
    lines = result.got.split("\n")
    readable = all(line.strip() and not line.lstrip().startswith((">>>", "...")) for line in lines)
    return readable and not result.refused and not result.expected.startswith("InputError: ")


def fix(text: str, report: Report) -> str:
    """The text with each output that moved rewritten, and everything else as it was.

    ``text`` is the one given to `find`. Indentation, quote marks and line breaks stay as they are.
    Results that are not `fixable` are left alone. Pure: showing the difference and writing the file
    is the caller's. Raises InputError where the text is not the one that the report is about, or a
    value cannot be written where it would have to stand.
    """
    moved = [result for result in report.results if fixable(result)]
    if not moved:
        return text
    place = moved[0].example.place
    if _wants(text, place) != [r.expected for r in report.results]:
        raise InputError(
            "the page has changed since its claims ran", hint="run the claims again", place=place
        )
    pieces, at = [], 0
    for result in moved:
        example = result.example
        pieces += [text[at : example.want_start], _written(text, result)]
        at = example.want_end
    fixed = "".join([*pieces, text[at:]])
    expected = [r.got if fixable(r) else r.expected for r in report.results]
    if _wants(fixed, place) != expected:
        raise InputError(
            "the new output cannot be written into this page", hint="write it by hand", place=place
        )
    return fixed


def _written(text: str, result: Result) -> str:
    example = result.example
    newline = _line_break(text, example.want_end)
    lines = newline.join(example.prefix + line for line in result.got.split("\n"))
    return lines if example.want else newline + lines


def _line_break(text: str, at: int) -> str:
    """The break that stands at ``at``, or at the end of the text the one that stands before."""
    for newline in ("\r\n", "\n", "\r"):
        if text.startswith(newline, at):
            return newline
    before = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at))
    return "\r\n" if text[before - 1 : before + 1] == "\r\n" else text[before]


def _wants(text: str, place: Place) -> list[str]:
    return [example.want for example in find(text, path=place.path).examples]
