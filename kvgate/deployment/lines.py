"""The lines of a file that an engine's starter reads: Dockerfiles, units, scripts."""

from __future__ import annotations

__all__ = ["lines"]


def lines(text: str) -> list[str]:
    """The lines of a text, without their ends: a line feed, or carriage return and line feed.

    Docker, systemd and shells know no others, while ``str.splitlines`` also breaks at form feeds,
    at separators of files and paragraphs, and at a carriage return alone.

    >>> lines("a\\x0cb\\r\\nc")
    ['a\\x0cb', 'c']
    """
    return [line.removesuffix("\r") for line in text.split("\n")]
