"""What will go: every form that a later kvgate no longer takes or gives, and how its users hear.

One table, in which nothing stands most of the time. A form is written as in what is promised:
``check --old`` (an option) or ``check`` (a command) of "commands", ``size`` or ``size(old)`` of
"python", ``affects.old`` of "record" and ``size.old`` of "json". The command line and the reader of
records look their forms up here; a function of the Python API calls `told` where it is given one.
A key of JSON can't know its reader: its schema and its reference say it, by ``deprecated: true``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["DEPRECATED", "Deprecated", "DeprecatedWarning", "names_in", "told"]


class DeprecatedWarning(FutureWarning):
    """Somebody used a form that will go. Python shows it by default, unlike its own kinds."""


@dataclass(frozen=True, slots=True)
class Deprecated:
    """A form that will go, what takes its place, and when.

    ``kind`` and ``name`` as in the module's text; ``instead`` is a form of the same kind, there
    since kvgate ``since``; ``until`` is the first release that may be without the old one.
    """

    kind: str
    name: str
    instead: str
    since: str
    until: str

    def __str__(self) -> str:
        return f"{self.name} goes with kvgate {self.until}; use {self.instead}"


DEPRECATED: tuple[Deprecated, ...] = ()
"""What is deprecated today."""


def told(kind: str, name: str, where: str = "") -> None:
    """Warn of a form that somebody used, once for each text; nothing for one that stays.

    ``where`` is a place, ``path:line:col``, of a file that uses it.
    """
    for one in DEPRECATED:
        if (one.kind, one.name) == (kind, name):
            text = f"{where}: {one}" if where else str(one)
            warnings.warn(text, DeprecatedWarning, stacklevel=3)


def names_in(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The dotted names of the keys in a mapping and in what it holds, each with its path.

    >>> list(names_in({"affects": [{"engine": "vllm"}]}))
    [('affects', ('affects',)), ('affects.engine', ('affects', 0, 'engine'))]
    """
    for key, value in values.items():
        name = f"{above}{key}"
        yield name, (key,)
        listed = isinstance(value, Sequence) and not isinstance(value, str)
        for index, inside in enumerate(value if listed else (value,)):
            if isinstance(inside, Mapping):
                for found, path in names_in(inside, f"{name}."):
                    yield found, (key, *((index,) if listed else ()), *path)
