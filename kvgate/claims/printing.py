"""How a value is printed: what Python's prompt would show, made the same on every run and version.

Sets are printed in order (Python's order of strings differs from run to run), and nothing that
would show an address is printed at all.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from packaging.version import Version

from kvgate.claims.limits import Budget, Stop
from kvgate.claims.values import (
    VIEWS,
    admit,
    described,
    fields_of,
    ours,
    owner,
    public_names,
    weigh,
)

__all__ = ["show"]

_PRINTED = (enum.Enum, tuple, str, int, float)


def show(value: object, budget: Budget | None = None) -> str:
    """The text that a claim is compared with, on one line.

    Raises Stop where the value has no text of its own or the text would be too long.

    >>> show({"b", "a"})
    "{'a', 'b'}"
    """
    budget = budget or Budget()
    kind = type(value)
    if kind is int or kind is float or kind is bool or value is None:
        return repr(value)
    budget.charge(weigh(value, budget) // 4)
    text = _show(value, budget)
    budget.text(len(text))
    return text


def _show(value: Any, budget: Budget) -> str:
    kind = type(value)
    if kind is list:
        return f"[{_each(value, budget)}]"
    if kind is tuple:
        return f"({_each(value, budget)}{',' if len(value) == 1 else ''})"
    if kind is dict:
        return "{" + _pairs(value, budget) + "}"
    if kind is set:
        return "{" + _each(_sorted(value, budget), budget) + "}" if value else "set()"
    if kind is frozenset:
        inner = "{" + _each(_sorted(value, budget), budget) + "}" if value else ""
        return f"frozenset({inner})"
    if kind is MappingProxyType:
        return "mappingproxy({" + _pairs(value, budget) + "})"
    if kind in VIEWS:
        return f"{kind.__name__}([{_each(value, budget)}])"
    if kind is Version:
        return f"<Version('{value}')>"
    if ours(kind):
        return _show_own(value, kind, budget)
    return repr(admit(value, budget))


def _show_own(value: object, kind: type, budget: Budget) -> str:
    fields = fields_of(kind)
    if fields is not None:
        shown = _joined((f"{f}={_show(getattr(value, f), budget)}" for f in fields), budget)
        return f"{kind.__qualname__}({shown})"
    if owner(kind, "__repr__") is None and not issubclass(kind, _PRINTED):
        names = ", ".join(public_names(kind)[:8])
        raise Stop(
            "KV331",
            f"{described(value)} has no printed form",
            f"ask it for one of: {names}" if names else "",
        )
    return repr(value)


def _each(values: Iterable[object], budget: Budget) -> str:
    return _joined((_show(value, budget) for value in values), budget)


def _pairs(mapping: Mapping[object, object], budget: Budget) -> str:
    pairs = (f"{_show(k, budget)}: {_show(v, budget)}" for k, v in mapping.items())
    return _joined(pairs, budget)


def _joined(texts: Iterable[str], budget: Budget) -> str:
    """The texts with commas between them; stops on the way where that gets too long."""
    shown, length = [], 0
    for text in texts:
        length += len(text) + 2
        if length > budget.limits.text:
            budget.text(length)
        shown.append(text)
    return ", ".join(shown)


def _sorted(values: Iterable[object], budget: Budget) -> list[object]:
    return sorted(values, key=lambda value: _order(value, budget))


def _order(value: object, budget: Budget) -> tuple[Any, ...]:
    """A key that puts any values in one order: numbers, strings, tuples, then the rest by text."""
    if isinstance(value, (int, float, Fraction)) and value == value:
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    if isinstance(value, tuple):
        return (2, *(_order(part, budget) for part in value))
    return (3, _show(value, budget))
