"""What a rule says of a plan: a finding, nothing, or that it couldn't decide and why."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Finding", "Undecided", "Verdict"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The record applies.

    ``message`` says in plain words what will happen, with the values that made the rule fire;
    ``because`` lists the facts behind it; ``fix`` is a changed command line or setting, or "".
    """

    message: str
    because: tuple[str, ...] = ()
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Undecided:
    """The rule can't tell: ``lacks`` is the fact that would settle it."""

    lacks: str


Verdict = Finding | Undecided | None
