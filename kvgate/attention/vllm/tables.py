"""Read the catalogue's tables: a value, or what it is under each setting it depends on.

A table is ``{"by": [names], "at": nested}``, one level of keys per name and ``"*"`` for every key
not named (`scripts/vllm_probe/tables.py` writes them).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["depends_on", "has", "resolve"]


def resolve(value: Any, keys: Mapping[str, str]) -> Any:
    """The value under these keys. Raises KeyError for a table that asks for a key not given."""
    while isinstance(value, dict):
        at = value["at"]
        for name in value["by"]:
            key = keys[name]
            at = at[key] if key in at else at["*"]
        value = at
    return value


def depends_on(value: Any) -> frozenset[str]:
    """Every name any level of the table asks for."""
    if not isinstance(value, dict):
        return frozenset()
    names = frozenset(value["by"])
    for leaf in _leaves(value["at"], len(value["by"])):
        names |= depends_on(leaf)
    return names


def _leaves(at: Any, depth: int) -> list[Any]:
    if depth == 0:
        return [at]
    return [leaf for part in at.values() for leaf in _leaves(part, depth - 1)]


def has(runs: Sequence[Sequence[int | None]], number: int) -> bool:
    """Whether a number is in ``[first, last, step]`` runs; a last of None has no end.

    >>> has([[8, 256, 8], [512, None, 64]], 576)
    True
    """
    for first, last, step in runs:
        assert first is not None
        assert step is not None
        if number >= first and (last is None or number <= last) and (number - first) % step == 0:
            return True
    return False
