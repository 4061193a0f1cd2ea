"""What a new release moved: how old a check has become, and rules that answer otherwise now."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from packaging.version import Version

from kvgate.catalog.engines import ENGINES, releases
from kvgate.plan.model import Plan
from kvgate.rules.registry import rule
from kvgate.rules.verdict import Finding, Undecided

__all__ = ["Age", "Move", "ages", "answer", "last_two", "move"]

# "vllm 0.33.0", "vLLM==0.33.0", "sglang 0.5.9 to 0.5.23": an engine and the versions right behind.
_VERSION = r"[vb]?\d[\w.+!]*"
_NAMED = re.compile(
    rf"(?<![\w.-])({'|'.join(map(re.escape, ENGINES))})(?:\s*==\s*|\s+)"
    rf"({_VERSION}(?:\s*(?:,|-|–|to|and)\s*{_VERSION})*)",
    re.IGNORECASE,
)
_ONE = re.compile(_VERSION)


@dataclass(frozen=True, slots=True)
class Age:
    """How old a check of one engine is: the version it ran on, and the releases read since."""

    engine: str
    checked: Version
    since: tuple[Version, ...]


@dataclass(frozen=True, slots=True)
class Move:
    """A rule that answers otherwise for the newest release than for the one before it.

    ``before`` and ``now`` are "found", "undecided" or "nothing".
    """

    engine: str
    older: Version
    newer: Version
    before: str
    now: str


def ages(texts: Iterable[str]) -> tuple[Age, ...]:
    """The age of the newest check of each engine that the texts name, such as "vllm 0.33.0".

    Ages count in releases of the catalogue, oldest first in ``since``. An engine that the
    catalogue holds no release of has no age, and neither has a text without a version.
    """
    checked: dict[str, Version] = {}
    for name, numbers in (pair for text in texts for pair in _NAMED.findall(text)):
        engine = name.casefold()
        for version in filter(None, map(_version, _ONE.findall(numbers))):
            checked[engine] = max(version, checked.get(engine, version))
    return tuple(
        Age(engine, version, tuple(v for v in releases(engine) if v > version))
        for engine, version in sorted(checked.items())
        if releases(engine)
    )


def last_two(engine: str) -> tuple[Version, Version] | None:
    """The last two releases of an engine in the catalogue, older first; None where it has fewer."""
    held = releases(engine)
    return (held[-2], held[-1]) if len(held) > 1 else None


def move(
    name: str,
    plans: Callable[[str], Iterable[Plan]],
    engine: str,
    *,
    affected: Callable[[str], bool] | None = None,
) -> Move | None:
    """Whether a rule answers otherwise between the last two releases of an engine.

    ``plans`` makes the deployment's plans for a release such as ``vllm==0.33.0``. ``affected`` says
    whether the record's own version ranges hold a version: a change that they tell already is no
    news, and neither is an answer where there was none for want of facts. None too where the
    catalogue holds fewer than two releases. Raises InputError for an unknown rule, and whatever
    ``plans`` raises.
    """
    two = last_two(engine)
    if two is None:
        return None
    before, now = (answer(name, plans(f"{engine}=={version}")) for version in two)
    if before in (now, "undecided"):
        return None
    if affected is not None and affected(str(two[0])) != affected(str(two[1])):
        told = "found" if affected(str(two[1])) else "nothing"
        if now == told:
            return None
    return Move(engine, *two, before, now)


def answer(name: str, plans: Iterable[Plan]) -> str:
    """A rule's answer for a deployment: "found" where any plan of it is, else "undecided" where
    any is, else "nothing". Raises InputError for an unknown rule."""
    verdicts = [rule(name)(plan) for plan in plans]
    if any(isinstance(verdict, Finding) for verdict in verdicts):
        return "found"
    return "undecided" if any(isinstance(v, Undecided) for v in verdicts) else "nothing"


def _version(text: str) -> Version | None:
    try:
        return Version(text.removeprefix("b").rstrip(".+!"))
    except ValueError:  # no version, or a number of more digits than Python reads
        return None
