"""Attributes and methods: for Python's own types an allow-list, for kvgate's what is public there.

No method on the list changes its object. What a type of kvgate inherits from elsewhere is not
offered: a string-like type would bring ``format`` along, a dict-like one ``update``.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from packaging.version import Version

from kvgate.claims.functions import iterate
from kvgate.claims.limits import Budget, Stop
from kvgate.claims.values import (
    DICTS,
    SETS,
    admit,
    described,
    fields_of,
    ours,
    owner,
    public_names,
    weigh,
)
from kvgate.errors import nearest

__all__ = ["attribute", "method"]

_Method = Callable[..., object]


def _join(budget: Budget, separator: str, values: Any, /) -> object:
    parts = list(iterate(budget, values))
    length = sum(len(part) for part in parts if isinstance(part, str))
    budget.text(length + len(separator) * max(len(parts) - 1, 0))
    return separator.join(parts)  # type: ignore[arg-type]


def _replace(budget: Budget, text: str, old: str, new: str, count: int = -1, /) -> object:
    times = text.count(old) if count < 0 else min(count, text.count(old))
    budget.text(len(text) + times * max(len(new) - len(old), 0))
    return text.replace(old, new, count)


def _of_text(work: _Method) -> _Method:
    """A method of str that makes no text much longer than its own, and no more parts than that."""

    def run(budget: Budget, text: str, /, *arguments: Any, **named: Any) -> object:
        budget.charge(len(text) // 8)
        made = work(text, *arguments, **named)
        if isinstance(made, str):
            budget.text(len(made))
        return made

    return run


def _of_values(work: _Method) -> _Method:
    """A method of a container that compares: pays for all that is in it and its arguments."""

    def run(budget: Budget, values: object, /, *arguments: Any) -> object:
        budget.charge(sum(weigh(value, budget) for value in (values, *arguments)) // 8)
        return work(values, *arguments)

    return run


def _of_key(work: _Method) -> _Method:
    """A method of a dict that looks one key up."""

    def run(budget: Budget, values: object, /, *arguments: Any) -> object:
        budget.charge(sum(weigh(value, budget) for value in arguments) // 8)
        return work(values, *arguments)

    return run


def _plain(work: _Method) -> _Method:
    """A method whose work is small whatever it is given."""

    def run(budget: Budget, value: object, /, *arguments: Any) -> object:
        return work(value, *arguments)

    return run


def _of_sets(work: _Method) -> _Method:
    """A method of a set that takes sets only, so that nothing is hashed which was not paid for."""

    def run(budget: Budget, values: Any, other: Any, /) -> object:
        if type(other) not in SETS:
            raise Stop("KV331", f"this takes a set, not {described(other)}", "write set(...)")
        budget.charge((weigh(values, budget) + weigh(other, budget)) // 8)
        budget.keys(len(values) + len(other))
        return work(values, other)

    return run


_TEXT_NAMES = (
    "capitalize", "casefold", "count", "endswith", "find", "index", "isalnum", "isalpha",
    "isdigit", "islower", "isspace", "isupper", "lower", "lstrip", "partition", "removeprefix",
    "removesuffix", "rfind", "rindex", "rpartition", "rsplit", "rstrip", "split", "splitlines",
    "startswith", "strip", "title", "upper",
)  # fmt: skip
_SET_NAMES = (
    "difference", "intersection", "isdisjoint", "issubset", "issuperset", "symmetric_difference",
    "union",
)  # fmt: skip

_METHODS: dict[type, dict[str, _Method]] = {
    str: {name: _of_text(getattr(str, name)) for name in _TEXT_NAMES}
    | {"join": _join, "replace": _replace},
    list: {name: _of_values(getattr(list, name)) for name in ("count", "index")},
    tuple: {name: _of_values(getattr(tuple, name)) for name in ("count", "index")},
    float: {"is_integer": _plain(float.is_integer)},
    int: {"bit_length": _plain(int.bit_length)},
    Fraction: {"limit_denominator": _plain(Fraction.limit_denominator)},
}
for _kind in DICTS:
    _METHODS[_kind] = {"get": _of_key(_kind.get)} | {  # type: ignore[attr-defined]
        name: _plain(getattr(_kind, name)) for name in ("items", "keys", "values")
    }
for _kind in SETS:
    _METHODS[_kind] = {name: _of_sets(getattr(_kind, name)) for name in _SET_NAMES}

_ATTRIBUTES: dict[type, frozenset[str]] = {
    Fraction: frozenset({"denominator", "numerator"}),
    Version: frozenset({
        "base_version", "dev", "epoch", "is_devrelease", "is_postrelease", "is_prerelease",
        "local", "major", "micro", "minor", "post", "pre", "public", "release",
    }),
    range: frozenset({"start", "stop", "step"}),
}  # fmt: skip
_CHANGING = frozenset({
    "add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "reverse",
    "setdefault", "sort", "update",
})  # fmt: skip


def attribute(value: object, name: str, budget: Budget) -> object:
    """``value.name``, which must be data. Raises Stop where there is none or it is a method."""
    kind = type(value)
    if ours(kind):
        if _defined(value, name) is _METHOD:
            raise Stop("KV333", f"{name} is a method", f"call it: .{name}()")
        budget.charge(budget.limits.call_steps // 10)
        return admit(getattr(value, name), budget)
    if name in _ATTRIBUTES.get(kind, ()):
        return admit(getattr(value, name), budget)
    if name in _METHODS.get(kind, {}):
        raise Stop("KV333", f"{name} is a method", f"call it: .{name}()")
    raise _unknown(value, name)


def method(value: object, name: str, budget: Budget) -> tuple[_Method, bool]:
    """The callable of ``value.name(...)``, and whether it is kvgate's own (which bounds nothing).

    Raises Stop where there is none or it is data.
    """
    kind = type(value)
    if ours(kind):
        if _defined(value, name) is not _METHOD:
            raise Stop("KV333", f"{name} is a value, not a method", "leave the brackets out")
        return getattr(value, name), True
    own = _METHODS.get(kind, {}).get(name)
    if own is None:
        if name in _ATTRIBUTES.get(kind, ()):
            raise Stop("KV333", f"{name} is a value, not a method", "leave the brackets out")
        raise _unknown(value, name)
    return partial(own, budget, value), False


_METHOD, _DATA = "method", "data"


def _defined(value: object, name: str) -> str:
    """Whether one of kvgate's own classes gives the value this attribute, as method or as data."""
    kind = type(value)
    if isinstance(value, enum.Enum) and name in ("name", "value"):
        return _DATA
    # A field of a dataclass without slots stands in the object alone.
    if name in getattr(value, "__dict__", ()) or name in (fields_of(kind) or ()):
        return _DATA
    where = owner(kind, name)
    if where is None:
        raise _unknown(value, name)
    found = where.__dict__[name]
    bound = isinstance(found, (staticmethod, classmethod)) or (
        callable(found) and hasattr(found, "__get__")
    )
    return _METHOD if bound else _DATA


def _unknown(value: object, name: str) -> Stop:
    kind = type(value)
    if name in _CHANGING and not ours(kind):
        hint = "values never change in a claim; build a new one, such as a + [b]"
    elif ours(kind):
        hint = nearest(name, public_names(kind))
    else:
        known = [*_METHODS.get(kind, {}), *_ATTRIBUTES.get(kind, ())]
        hint = nearest(name, sorted(known)) if known else ""
    return Stop("KV333", f"{described(value)} has no {name!r} that a claim may use", hint)
