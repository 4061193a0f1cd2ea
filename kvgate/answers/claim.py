"""A claim whose inputs a reader changed: statements in, each one's value out."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from kvgate.claims import default_namespace, find, run
from kvgate.claims.report import Report
from kvgate.errors import InputError, Place

__all__ = ["Line", "evaluated"]

_WHERE = "<claim>"
_FENCE = "```"
_LONGEST = 20_000


@dataclass(frozen=True, slots=True)
class Line:
    """One statement: its 1-based first line, its value as text or "", and why there is none."""

    line: int
    source: str
    value: str = ""
    refusal: str = ""


def evaluated(source: str) -> tuple[Line, ...]:
    """What each statement of ``source`` gives, by the evaluator that runs a record's claims.

    Statements are expressions and assignments, without prompts; assignments have no value. What the
    evaluator refuses is told with the statement. Raises InputError, at its place in ``<claim>``,
    where the text is no Python, too long, or uses what claims don't have.
    """
    text = source.strip("\n").replace("\r\n", "\n").expandtabs()
    if not text.strip():
        raise InputError("there is nothing to evaluate", place=Place(_WHERE))
    if len(text) > _LONGEST:
        raise InputError("this is too long for a claim", place=Place(_WHERE))
    report = _run(text)
    lines = []
    for result in report.results:
        problem = result.problem if result.outcome == "error" else None
        refusal, hint = (problem.message, problem.hint) if problem else ("", "")
        lines.append(
            Line(
                result.example.line - 1, result.example.source, result.got,
                f"{refusal} ({hint})" if hint else refusal,
            )
        )  # fmt: skip
    return tuple(lines)


def _run(text: str) -> Report:
    """The statements as the prompts of a page, run."""
    try:
        starts = {node.lineno for node in ast.parse(text).body}
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        line, column = getattr(error, "lineno", 1) or 1, getattr(error, "offset", 1) or 1
        said = getattr(error, "msg", str(error))
        raise InputError(f"this is no Python: {said}", place=Place(_WHERE, line, column)) from None
    prompts = (
        f"{'>>>' if number in starts else '...'} {line}"
        for number, line in enumerate(text.split("\n"), 1)
    )
    page = "\n".join([f"{_FENCE}pycon", *prompts, _FENCE, ""])
    document = find(page, path=_WHERE)
    if not document.runnable:
        first = document.problems[0]
        place = Place(_WHERE, first.place.line - 1, max(first.place.column - 4, 1))
        raise InputError(first.message, hint=first.hint, place=place)
    return run(document, default_namespace())
