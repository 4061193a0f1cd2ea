"""The values a claim can hold: plain immutable-looking data, and objects of kvgate's own types.

Functions, classes, modules, iterators and everything else of Python are no values here: they can be
called where kvgate offers them, never stored, printed or asked for an attribute.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Iterator
from fractions import Fraction
from types import FunctionType, MappingProxyType

from packaging.version import Version

from kvgate.claims.limits import Budget, Stop

__all__ = [
    "DICTS",
    "LISTS",
    "SETS",
    "VIEWS",
    "Stream",
    "admit",
    "described",
    "fields_of",
    "is_number",
    "ours",
    "owner",
    "public_names",
    "weigh",
]  # fmt: skip

_EMPTY: dict[object, object] = {}
VIEWS = frozenset[type]({type(_EMPTY.keys()), type(_EMPTY.values()), type(_EMPTY.items())})
DICTS = frozenset({dict, MappingProxyType})
SETS = frozenset({set, frozenset})
LISTS = frozenset({list, tuple})
_ATOMS = frozenset({type(None), bool, int, float, range, Fraction, Version})
_PLAIN = frozenset({str}) | _ATOMS | LISTS | SETS | DICTS | VIEWS


_OURS: dict[type, bool] = {}


class Stream:
    """Items that come one by one: a generator expression, zip, enumerate, reversed.

    A stream is consumed where it is made; it can be neither stored nor printed, as Python would
    print its address.
    """

    __slots__ = ("items",)

    def __init__(self, items: Iterator[object]) -> None:
        self.items = items


def ours(kind: type) -> bool:
    """Whether a type is one of kvgate's own values."""
    known = _OURS.get(kind)
    if known is None:
        of_kvgate = kind.__module__.partition(".")[0] == "kvgate"
        known = _OURS[kind] = of_kvgate and not issubclass(kind, (BaseException, type))
    return known


def admit(value: object, budget: Budget) -> object:
    """The value, when a claim can hold it. Raises Stop otherwise."""
    kind = type(value)
    if kind is int:
        budget.integer(value.bit_length())  # type: ignore[attr-defined]
    if kind in _PLAIN or ours(kind):
        return value
    what = "a function" if callable(value) else described(value)
    raise Stop("KV331", f"a claim cannot hold {what}", "use a number, a string or a list of such")


def is_number(value: object) -> bool:
    """Whether arithmetic is defined for it: bool, int, float or Fraction."""
    return isinstance(value, (int, float, Fraction))


def described(value: object) -> str:
    """A value by its type, as a sentence says it: ``an int``, ``a str``, ``None``."""
    if value is None:
        return "None"
    name = "generator" if isinstance(value, Stream) else type(value).__name__
    return f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"


def owner(kind: type, name: str) -> type | None:
    """The class of kvgate among a type's bases that defines an attribute, None where none does."""
    for base in kind.__mro__:
        if name in base.__dict__:
            return base if ours(base) else None
    return None


def public_names(kind: type) -> list[str]:
    """The attributes of one of kvgate's types that a claim may use."""
    names = {n for base in kind.__mro__ if ours(base) for n in base.__dict__}
    if dataclasses.is_dataclass(kind):
        names |= {f.name for f in dataclasses.fields(kind)}
    if issubclass(kind, enum.Enum):
        names = (names - set(kind.__members__)) | {"name", "value"}
    return sorted(n for n in names if not n.startswith("_"))


def fields_of(kind: type) -> tuple[str, ...] | None:
    """The fields that one of kvgate's types shows when it is printed, None where it prints itself.

    A dataclass whose ``__repr__`` was generated (it carries the ``__wrapped__`` that dataclasses
    give it) and a named tuple are printed field by field.
    """
    written: Callable[..., str] = kind.__repr__
    if dataclasses.is_dataclass(kind) and hasattr(written, "__wrapped__"):
        return tuple(f.name for f in dataclasses.fields(kind) if f.repr)
    if issubclass(kind, tuple) and hasattr(kind, "_fields") and isinstance(written, FunctionType):
        return tuple(getattr(kind, "_fields", ()))
    return None


def weigh(value: object, budget: Budget) -> int:
    """How much there is in a value when all of it is unfolded: what comparing or hashing it costs.

    Lists may share their elements, so a few lines make a value that unfolds without end; this walks
    each container once. Raises Stop where values are nested too deep.
    """
    return _measure(value, budget, 0)[0]


def _measure(value: object, budget: Budget, depth: int) -> tuple[int, int]:
    kind = type(value)
    if kind is str:
        return 1 + len(value) // 32, 0  # type: ignore[arg-type]
    if kind in _ATOMS:
        return 1, 0
    known = budget.weights.get(id(value))
    if known:
        weight, height = known[1:]
    else:
        if depth > budget.limits.nesting:
            raise _too_deep(budget)
        weight, height = 1, 0
        for part in _parts(value):
            budget.charge(1)
            part_weight, part_height = _measure(part, budget, depth + 1)
            weight += part_weight
            height = max(height, part_height + 1)
        # Views are made anew on each call: remembering them would fill the memory with husks.
        if kind not in VIEWS:
            budget.weights[id(value)] = (value, weight, height)
    if depth + height > budget.limits.nesting:
        raise _too_deep(budget)
    return weight, height


def _parts(value: object) -> Iterator[object]:
    kind = type(value)
    if kind in DICTS:
        for pair in value.items():  # type: ignore[attr-defined]
            yield from pair
    elif kind in LISTS or kind in SETS or kind in VIEWS or isinstance(value, tuple):
        yield from value  # type: ignore[misc]
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield getattr(value, field.name, None)


def _too_deep(budget: Budget) -> Stop:
    return Stop("KV332", f"values may hold each other {budget.limits.nesting} deep, no deeper")
