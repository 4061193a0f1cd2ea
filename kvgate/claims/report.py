"""What running a page's claims gave: a result per example, counts, findings at page lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from kvgate.claims.document import Document, Example
from kvgate.errors import Diagnostic, Place

__all__ = ["Outcome", "Report", "Result", "nothing_ran"]

Outcome = Literal["passed", "failed", "error", "not-run"]


@dataclass(frozen=True, slots=True)
class Result:
    """What one example gave.

    ``outcome`` is ``passed`` (the value is the one on the page, or there was nothing to compare),
    ``failed`` (it is another one), ``error`` (there is no value) or ``not-run`` (the page may not
    run). ``got`` is the printed value, ``InputError: message`` where a function refused its input,
    empty where there is none. ``checked`` says whether an output was compared. ``problem`` is the
    finding at its page line, None where it passed or did not run.
    """

    example: Example
    outcome: Outcome
    got: str
    checked: bool
    problem: Diagnostic | None = None

    @property
    def expected(self) -> str:
        """The output on the page."""
        return self.example.want

    @property
    def refused(self) -> bool:
        """Whether a function of kvgate refused its input with an InputError."""
        return self.got.startswith("InputError: ")


@dataclass(frozen=True, slots=True)
class Report:
    """What a page gave: a result per example, in order.

    ``steps`` is what the page used of its bound, the same on every machine.
    """

    document: Document
    results: tuple[Result, ...]
    steps: int

    @property
    def count(self) -> int:
        """How many outputs were compared. An assignment alone proves nothing and does not count."""
        return sum(result.checked for result in self.results)

    @property
    def passed(self) -> int:
        """How many of the compared outputs are the ones on the page."""
        return sum(result.checked and result.outcome == "passed" for result in self.results)

    @property
    def failed(self) -> int:
        """How many examples gave another value than the page's, or none."""
        return sum(result.outcome in ("failed", "error") for result in self.results)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Every finding about the page's claims, in the order of its lines."""
        found = [*self.document.problems, *(r.problem for r in self.results if r.problem)]
        return tuple(sorted(found, key=lambda one: (one.place.line, one.place.column)))

    @property
    def ok(self) -> bool:
        """Whether the page proves what it says: no finding, and something was compared."""
        return not self.diagnostics and self.count > 0

    @property
    def by_name(self) -> dict[str, Result]:
        """The result of each named claim."""
        named: dict[str, Result] = {}
        for result in self.results:
            if result.example.name:
                named.setdefault(result.example.name, result)
        return named


def nothing_ran(
    reports: Iterable[Report], *, path: str, allow_none: bool = False
) -> Diagnostic | None:
    """The finding that pages together compared nothing at all; ``path`` is what was asked for.

    ``allow_none`` takes pages that claim nothing: a record needs no claim. Where something else was
    found, that says why nothing ran.
    """
    reports = list(reports)
    if any(report.count or report.diagnostics for report in reports):
        return None
    if allow_none and reports and not any(report.document.examples for report in reports):
        return None
    return Diagnostic(
        "KV335",
        Place(path),
        "no claim ran here, so nothing was proved",
        "a claim is a >>> line in a pycon fence with its value below",
    )
