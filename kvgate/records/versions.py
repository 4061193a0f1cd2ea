"""Versions of engines and the ranges in which a gotcha bites, judged by OSV's algorithm.

A range is `introduced` (none: from the first version on) and at most one end: `fixed` is the first
version without the gotcha, `last_affected` the last one with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from packaging.version import Version

from kvgate.errors import InputError

__all__ = ["Range", "affects", "parse_version", "ranges_text"]

# llama.cpp numbers its builds; b7539 is newer than b7000.
_BUILD = re.compile(r"b(\d+)\Z")


@lru_cache(maxsize=4096)
def parse_version(text: str) -> Version:
    """The version in ``text``: PEP 440, with a leading ``v`` or not, or a llama.cpp build (b7539).

    The local part (``+cu130``) is dropped: it names a build, and a build's name moves no gate.
    Raises InputError for anything else.

    >>> parse_version("0.22.0+cu130") == parse_version("v0.22.0")
    True
    """
    build = _BUILD.match(text)
    try:
        version = Version(build.group(1) if build else text)
    except ValueError:  # no version, or a number of more digits than Python reads
        raise InputError(
            f"{text!r} is not a version",
            hint='write "0.22.0", "0.22.0rc1" or, for llama.cpp, b7539',
        ) from None
    return Version(version.public)


@dataclass(frozen=True, slots=True)
class Range:
    """The versions of one engine from ``introduced`` on, up to one end where there is one."""

    engine: str
    introduced: str | None = None
    fixed: str | None = None
    last_affected: str | None = None

    def __contains__(self, version: str) -> bool:
        """Whether the version lies in the range, by the event order of OSV's evaluation."""
        asked = parse_version(version)
        if self.introduced is not None and asked < parse_version(self.introduced):
            return False
        if self.fixed is not None:
            return asked < parse_version(self.fixed)
        return self.last_affected is None or asked <= parse_version(self.last_affected)

    @property
    def all_versions(self) -> bool:
        """True when neither a beginning nor an end is known."""
        return not (self.introduced or self.fixed or self.last_affected)

    def __str__(self) -> str:
        if self.all_versions:
            return f"{self.engine}, all versions"
        words = [f"from {self.introduced}"] if self.introduced else []
        if self.fixed:
            words.append(f"fixed in {self.fixed}")
        elif self.last_affected:
            words.append(f"up to {self.last_affected}")
        else:
            words.append("not fixed yet")
        return f"{self.engine} {', '.join(words)}"


def affects(ranges: Iterable[Range], engine: str, version: str) -> bool:
    """Whether a version of an engine lies in any of the ranges.

    As in OSV, ranges are judged one by one and any of them suffices; no range means that the record
    is tied to no engine, and then this is False. Raises InputError for an unreadable version.

    >>> affects([Range("vllm", "0.13.0", fixed="0.22.0")], "vllm", "0.19.1")
    True
    """
    return any(version in r for r in ranges if r.engine == engine)


def ranges_text(ranges: Iterable[Range]) -> str:
    """The ranges in words, for a page's header.

    >>> ranges_text([Range("vllm", "0.13.0", fixed="0.22.0")])
    'vllm from 0.13.0, fixed in 0.22.0'
    """
    return "; ".join(str(r) for r in ranges) or "not tied to an engine"
