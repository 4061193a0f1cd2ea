"""The records as the judge needs them, read once from the front matter of each file."""

from __future__ import annotations

from kvgate.records.loader import load
from kvgate.rules import Case

__all__ = ["cases"]


def cases() -> tuple[Case, ...]:
    """kvgate's own records that have a rule and still hold."""
    return tuple(
        Case(r.id, r.front.severity, r.title, r.front.rule)
        for r in load().records.values()
        if r.front.rule and r.front.status in ("active", "draft")
    )
