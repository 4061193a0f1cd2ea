"""Every code that a finding may carry: what it means, why it matters, what to do.

The texts stand in ``codes.toml``. The titles of codes that other floors give stand with those
floors and are merged in, so that one list answers whoever asks what a code means.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files

from kvgate.errors import InputError, nearest
from kvgate.records.address import SITE

__all__ = ["Code", "code", "codes"]

# Modules with a CODES table of their own: code -> title.
_FLOORS = ("kvgate.deployment.problems", "kvgate.claims.codes", "kvgate.records.linkcodes")


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of finding: its title, why it is one, and what to do. All are whole phrases."""

    code: str
    title: str
    why: str
    do: str

    @property
    def page(self) -> str:
        """The address of its page."""
        return f"{SITE}reference/codes/{self.code.lower()}/"


@cache
def codes() -> dict[str, Code]:
    """All codes in their order."""
    texts = tomllib.loads((files("kvgate.records") / "codes.toml").read_text(encoding="utf-8"))
    titles = {name: text["title"] for name, text in texts.items() if "title" in text}
    for module in _FLOORS:
        titles.update(import_module(module).CODES)
    return {
        name: Code(
            code=name,
            title=titles[name].rstrip("."),
            why=texts.get(name, {}).get("why", ""),
            do=texts.get(name, {}).get("do", ""),
        )
        for name in sorted(titles)
    }


def code(name: str) -> Code:
    """The code of that name, whatever its letter case.

    Raises InputError with the nearest for others.

    >>> code("kv305").title
    'a quantity without a footnote'
    """
    known = codes()
    found = known.get(name.strip().upper())
    if found is None:
        raise InputError(f"there is no code {name!r}", hint=nearest(name.upper(), known))
    return found
