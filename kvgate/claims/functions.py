"""Python's own functions that a claim may call, each paid for and bounded.

Each function's docstring is how a reader is told to call it.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from packaging.version import Version

from kvgate.claims.limits import Budget, Stop
from kvgate.claims.operations import binary
from kvgate.claims.printing import show
from kvgate.claims.values import DICTS, Stream, described, is_number, owner, weigh

__all__ = ["FUNCTIONS", "formatted", "iterate", "text_of"]

_DIGITS = 100
_MISSING = object()


def iterate(budget: Budget, values: Any) -> Iterator[object]:
    """The items of a container, a stream, a string or a range, one step each."""
    if isinstance(values, Stream):
        values = values.items
    elif is_number(values):
        raise Stop("KV331", f"{described(values)} has no items to go through")
    for value in values:
        budget.charge(1)
        yield value


def _gathered(budget: Budget, values: Any) -> list[object]:
    if isinstance(values, (list, tuple)):
        budget.items(len(values))
        return list(values)
    found: list[object] = []
    for value in iterate(budget, values):
        if len(found) >= budget.limits.items:
            budget.items(len(found) + 1)
        found.append(value)
    return found


def _len(budget: Budget, values: Any) -> object:
    """len(values)"""
    if isinstance(values, Stream):
        raise Stop("KV331", "a generator has no length", "write len([... for ...])")
    return len(values)


def _sum(budget: Budget, values: Any, start: Any = 0) -> object:
    """sum(numbers) or sum(numbers, start)"""
    # Added one after the other: Python 3.12 and later sum floats differently from 3.11.
    total = _number(start, "sum() adds numbers")
    for value in iterate(budget, values):
        total = binary(budget, ast.Add, total, _number(value, "sum() adds numbers"))
    return total


def _number(value: object, message: str) -> object:
    if not is_number(value):
        raise Stop("KV331", f"{message}, and this is {described(value)}")
    return value


def _extreme(
    work: Callable[..., object], budget: Budget, values: tuple[Any, ...], default: object
) -> object:
    found = _gathered(budget, values[0] if len(values) == 1 else values)
    budget.charge(sum(weigh(value, budget) for value in found) // 8)
    return work(found) if default is _MISSING else work(found, default=default)


def _min(budget: Budget, first: Any, /, *rest: Any, default: object = _MISSING) -> object:
    """min(values) or min(a, b, ...), with default=... for no values"""
    return _extreme(min, budget, (first, *rest), default)


def _max(budget: Budget, first: Any, /, *rest: Any, default: object = _MISSING) -> object:
    """max(values) or max(a, b, ...), with default=... for no values"""
    return _extreme(max, budget, (first, *rest), default)


def _sorted(budget: Budget, values: Any, /, *, reverse: bool = False) -> object:
    """sorted(values) or sorted(values, reverse=True)"""
    found = _gathered(budget, values)
    weight = sum(weigh(value, budget) for value in found)
    budget.charge(weight * max(len(found), 1).bit_length() // 8)
    return sorted(found, reverse=bool(reverse))  # type: ignore[type-var]


def _round(budget: Budget, number: Any, digits: Any = None) -> object:
    """round(number) or round(number, digits)"""
    number = _number(number, "round() takes a number")
    if isinstance(digits, int) and abs(digits) > _DIGITS:
        raise Stop("KV332", f"round() takes at most {_DIGITS} digits")
    return round(number) if digits is None else round(number, digits)


def _abs(budget: Budget, number: Any) -> object:
    """abs(number)"""
    return abs(number)


def _range(budget: Budget, *bounds: Any) -> object:
    """range(stop), range(start, stop) or range(start, stop, step)"""
    return range(*bounds)


def _list(budget: Budget, values: Any = ()) -> object:
    """list() or list(values)"""
    return _gathered(budget, values)


def _tuple(budget: Budget, values: Any = ()) -> object:
    """tuple() or tuple(values)"""
    return tuple(_gathered(budget, values))


def _keyed(budget: Budget, values: Any) -> list[object]:
    found = _gathered(budget, values)
    budget.charge(sum(weigh(value, budget) for value in found) // 8)
    budget.keys(len(found))
    return found


def _set(budget: Budget, values: Any = ()) -> object:
    """set() or set(values)"""
    return set(_keyed(budget, values))


def _frozenset(budget: Budget, values: Any = ()) -> object:
    """frozenset() or frozenset(values)"""
    return frozenset(_keyed(budget, values))


def _dict(budget: Budget, values: Any = (), /, **named: object) -> object:
    """dict(), dict(pairs), dict(mapping) or dict(name=value, ...)"""
    if type(values) in DICTS:
        budget.keys(len(values) + len(named))
        return dict(values, **named)
    pairs = [_pair(budget, pair) for pair in iterate(budget, values)]
    _keyed(budget, [key for key, _ in pairs])
    return dict(pairs, **named)


def _pair(budget: Budget, values: Any) -> tuple[object, object]:
    key, value = _gathered(budget, values)
    return key, value


def _str(budget: Budget, value: Any = "") -> object:
    """str(value)"""
    return text_of(value, budget)


def text_of(value: Any, budget: Budget) -> str:
    """What ``str()`` and an f-string make of a value."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (Fraction, Version, enum.Enum)) or owner(type(value), "__str__"):
        return str(value)
    return show(value, budget)


def formatted(value: Any, conversion: int, spec: str, budget: Budget) -> str:
    """What an f-string makes of ``{value!conversion:spec}``; the grammar bounds the spec."""
    if conversion == ord("r"):
        value = show(value, budget)
    elif conversion == ord("a"):
        value = ascii(value if isinstance(value, str) else show(value, budget))
    elif conversion == ord("s") or not spec:
        value = text_of(value, budget)
    if not spec:
        return str(value)
    if type(value) not in (str, int, float, bool):
        hint = "write float(...) around it" if is_number(value) else ""
        raise Stop("KV331", f"{described(value)} has no format {spec!r}", hint)
    return format(value, spec)


def _repr(budget: Budget, value: Any) -> object:
    """repr(value)"""
    return show(value, budget)


def _int(budget: Budget, value: Any = 0) -> object:
    """int(number) or int("text")"""
    if isinstance(value, str) and len(value) * 3 > budget.limits.bits:
        budget.integer(len(value) * 3)
    whole = int(value)
    budget.integer(whole.bit_length())
    return whole


def _float(budget: Budget, value: Any = 0.0) -> object:
    """float(number) or float("text")"""
    return float(value)


def _bool(budget: Budget, value: Any = False) -> object:
    """bool(value)"""
    return bool(value)


def _any(budget: Budget, values: Any) -> object:
    """any(values)"""
    return any(iterate(budget, values))


def _all(budget: Budget, values: Any) -> object:
    """all(values)"""
    return all(iterate(budget, values))


def _zip(budget: Budget, *several: Any, strict: bool = False) -> object:
    """zip(values, others, ...), with strict=True for equal lengths"""
    return Stream(zip(*(iterate(budget, values) for values in several), strict=bool(strict)))


def _enumerate(budget: Budget, values: Any, start: int = 0) -> object:
    """enumerate(values) or enumerate(values, start)"""
    return Stream(enumerate(iterate(budget, values), start))


def _reversed(budget: Budget, values: Any) -> object:
    """reversed(values)"""
    if isinstance(values, Stream):
        raise Stop("KV331", "a generator cannot be reversed", "write reversed([... for ...])")
    return Stream(iterate(budget, reversed(values)))


def _divmod(budget: Budget, left: Any, right: Any) -> object:
    """divmod(number, by)"""
    whole = binary(budget, ast.FloorDiv, left, right)
    return whole, binary(budget, ast.Mod, left, right)


FUNCTIONS: dict[str, Callable[..., object]] = {
    "abs": _abs, "all": _all, "any": _any, "bool": _bool, "dict": _dict, "divmod": _divmod,
    "enumerate": _enumerate, "float": _float, "frozenset": _frozenset, "int": _int, "len": _len,
    "list": _list, "max": _max, "min": _min, "range": _range, "repr": _repr,
    "reversed": _reversed, "round": _round, "set": _set, "sorted": _sorted, "str": _str,
    "sum": _sum, "tuple": _tuple, "zip": _zip,
}  # fmt: skip
