"""Picks without chance, and what was said: the same on every machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any, TypeVar

from kvgate.errors import InputError

__all__ = ["Dice", "said"]

T = TypeVar("T")


class Dice:
    """Picks by the digest of a name and of a count."""

    def __init__(self, name: str) -> None:
        self._name, self._count = name, 0

    def pick(self, values: Sequence[T]) -> T:
        """One of the values."""
        self._count += 1
        found = sha256(f"{self._name}/{self._count}".encode()).digest()
        return values[int.from_bytes(found[:8], "big") % len(values)]

    def some(self, **values: Sequence[Any]) -> dict[str, Any]:
        """Some of the settings, each with one of its values; None leaves a setting out."""
        picked = {name: self.pick(of) for name, of in values.items()}
        return {name: value for name, value in picked.items() if value is not None}


def said(ask: Callable[..., object], *values: Any, **asked: Any) -> str:
    """The answer as text, or the message of a refusal."""
    try:
        return repr(ask(*values, **asked))
    except InputError as error:
        return str(error)
