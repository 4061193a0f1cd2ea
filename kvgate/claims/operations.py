"""Operators on the values of a claim, each paid for and bounded before it works."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from kvgate.claims.limits import Budget, Stop
from kvgate.claims.values import DICTS, SETS, VIEWS, described, is_number, weigh

__all__ = ["binary", "compare", "item", "unary"]

_BINARY: dict[type[ast.operator], tuple[str, Callable[[Any, Any], object]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", operator.pow),
    ast.LShift: ("<<", operator.lshift),
    ast.RShift: (">>", operator.rshift),
    ast.BitOr: ("|", operator.or_),
    ast.BitAnd: ("&", operator.and_),
    ast.BitXor: ("^", operator.xor),
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], object]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_SET_OPERATORS = frozenset({ast.BitOr, ast.BitAnd, ast.BitXor, ast.Sub})
_SETLIKE = SETS | VIEWS
_SEQUENCES = frozenset({str, list, tuple})


def binary(budget: Budget, kind: type[ast.operator], left: Any, right: Any) -> object:
    """``left <operator> right``. Raises Stop for what is unbounded or not defined for a claim."""
    sign, work = _BINARY[kind]
    if is_number(left) and is_number(right):
        return _number(budget, kind, left, right)
    if kind is ast.Add and type(left) is type(right) and type(left) in _SEQUENCES:
        _pay_for_sequence(budget, left, len(left) + len(right))
    elif kind is ast.Mult and type(left) in _SEQUENCES and isinstance(right, int):
        _pay_for_sequence(budget, left, len(left) * max(right, 0))
    elif kind is ast.Mult and type(right) in _SEQUENCES and isinstance(left, int):
        _pay_for_sequence(budget, right, len(right) * max(left, 0))
    elif kind in _SET_OPERATORS and type(left) in _SETLIKE and type(right) in _SETLIKE:
        budget.charge((weigh(left, budget) + weigh(right, budget)) // 8)
        budget.keys(len(left) + len(right))
    elif kind is ast.BitOr and type(left) in DICTS and type(right) in DICTS:
        budget.keys(len(left) + len(right))
    elif kind is ast.Mod and isinstance(left, str):
        raise Stop("KV331", "% does not format strings in a claim", "write an f-string")
    else:
        raise Stop("KV331", f"{sign} is not defined for {described(left)} and {described(right)}")
    return work(left, right)


def _pay_for_sequence(budget: Budget, value: object, length: int) -> None:
    if isinstance(value, str):
        budget.text(length)
    else:
        budget.items(length)


def _number(budget: Budget, kind: type[ast.operator], left: Any, right: Any) -> object:
    if kind is ast.Mult:
        budget.integer(_bits(left) + _bits(right))
    elif kind is ast.LShift and isinstance(right, int):
        budget.integer(_bits(left) + max(right, 0))
    elif kind is ast.Pow and not isinstance(left, float) and right == int_or_none(right):
        budget.integer(_bits(left) * abs(int(right)))
    result = _BINARY[kind][1](left, right)
    if isinstance(result, (int, Fraction)):
        budget.integer(_bits(result))
    elif isinstance(result, complex):
        raise Stop("KV331", "this power is a complex number, which a claim cannot hold")
    return result


def int_or_none(value: Any) -> int | None:
    """The whole number a finite number is equal to, None where there is none."""
    if isinstance(value, float) and not abs(value) < 2**64:
        return None
    return int(value) if value == int(value) else None


def _bits(value: Any) -> int:
    if isinstance(value, int):
        return value.bit_length()
    if isinstance(value, Fraction):
        return value.numerator.bit_length() + value.denominator.bit_length()
    return 0


def unary(kind: type[ast.unaryop], value: Any) -> object:
    """``<operator> value``. Raises Stop for what is not defined for a claim."""
    if kind is not ast.Not and not is_number(value):
        raise Stop("KV331", f"{described(value)} is not a number")
    return _UNARY[kind](value)


def compare(budget: Budget, kind: type[ast.cmpop], left: Any, right: Any) -> object:
    """``left <operator> right``, ``in`` and ``not in`` among them."""
    if kind is ast.In:
        return _contains(budget, right, left)
    if kind is ast.NotIn:
        return not _contains(budget, right, left)
    if not (is_number(left) and is_number(right)):
        budget.charge((weigh(left, budget) + weigh(right, budget)) // 8)
    return _COMPARE[kind](left, right)


def _contains(budget: Budget, container: Any, value: Any) -> bool:
    if isinstance(container, range):
        # For anything but an int, Python would go through the range one by one.
        whole = int_or_none(value) if is_number(value) else None
        return whole is not None and whole in container
    budget.charge(weigh(value, budget) // 8)
    if type(container) not in DICTS and type(container) not in SETS:
        budget.charge(weigh(container, budget) // 8)
    return value in container


def item(budget: Budget, value: Any, key: Any) -> object:
    """``value[key]``, with a slice as key too."""
    if isinstance(key, slice):
        if isinstance(value, range):
            return value[key]
        _pay_for_sequence(budget, value, len(range(*key.indices(len(value)))))
    else:
        budget.charge(weigh(key, budget) // 8)
    return value[key]
