"""Which model architectures and quantisation methods each vLLM release has, by name.

Source: ``vllm_names.json``, which ``scripts/read_vllm_names.py`` writes from their registries.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from packaging.version import Version

from kvgate.catalog.resource import read

__all__ = ["Kind", "Span", "named", "span"]

Kind = Literal["architectures", "methods"]


@dataclass(frozen=True, slots=True)
class Span:
    """The first release read that has a name, and the last; ``last`` None where it's still there.

    >>> span("architectures", "KimiK3ForConditionalGeneration").holds(Version("0.13.0"))
    False
    """

    first: Version
    last: Version | None = None

    def holds(self, version: Version) -> bool | None:
        """Whether a release has it. None where that changed between two releases that were read."""
        base = Version(version.base_version)
        read_before = max((v for v in _releases() if v <= base), default=None)
        if base < self.first:
            older = [v for v in _releases() if v < self.first]
            # The oldest release that was read says nothing of those before it.
            return False if older and base <= older[-1] else None
        if self.last is None or base <= self.last:
            return True
        return False if read_before is not None and read_before > self.last else None


def span(kind: Kind, name: str) -> Span | None:
    """The releases that have a name; None for one that no release read has."""
    found = _names()[kind].get(name)
    if found is None:
        return None
    first, _, last = found.partition(" ")
    return Span(Version(first), Version(last) if last else None)


@cache
def named(kind: Kind, version: Version) -> tuple[str, ...]:
    """All names that a release has for certain, in alphabetical order."""
    spans = ((name, span(kind, name)) for name in _names()[kind])
    return tuple(name for name, found in spans if found is not None and found.holds(version))


@cache
def _releases() -> tuple[Version, ...]:
    return tuple(Version(v) for v in _names()["releases"])


@cache
def _names() -> dict[str, Any]:
    names: dict[str, Any] = json.loads(read("vllm_names.json"))
    return names
