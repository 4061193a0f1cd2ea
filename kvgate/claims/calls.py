"""Calls: arguments are weighed before they reach a function, results are looked at after."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence

from kvgate.claims.functions import iterate
from kvgate.claims.limits import Budget, Stop
from kvgate.claims.values import Stream, admit, weigh
from kvgate.errors import nearest

__all__ = ["call_own", "call_python"]

_LONGEST_REASON = 400


def call_python(
    budget: Budget,
    name: str,
    called: Callable[..., object],
    arguments: Sequence[object],
    named: Mapping[str, object],
) -> object:
    """Call one of the functions or methods of `functions` and `methods`, which bound themselves."""
    try:
        made = called(*arguments, **named)
    except TypeError as error:
        if _fits(called, arguments, named):
            raise Stop("KV331", f"{name}(): {error}"[:_LONGEST_REASON]) from None
        usage = getattr(getattr(called, "func", None), "__doc__", None)
        hint = f"write {usage}" if usage else ""
        raise Stop("KV333", f"{name}() does not take these arguments", hint) from None
    return made if isinstance(made, Stream) else admit(made, budget)


def call_own(
    budget: Budget,
    name: str,
    called: Callable[..., object],
    arguments: Sequence[object],
    named: Mapping[str, object],
) -> object:
    """Call a function or method of kvgate. Its InputError passes; it is the example's to expect."""
    limits = budget.limits
    budget.charge(limits.call_steps)
    given = [tuple(iterate(budget, a)) if isinstance(a, Stream) else a for a in arguments]
    weight = 0
    for argument in (*given, *named.values()):
        weight += weigh(argument, budget)
        if isinstance(argument, str) and len(argument) > limits.argument_text:
            most = f"{limits.argument_text:,}"
            raise Stop("KV332", f"a text given to {name}() may not exceed {most} characters")
    if weight > limits.argument_weight:
        raise Stop("KV332", f"the arguments of {name}() are too large")
    try:
        return admit(called(*given, **named), budget)
    except TypeError as error:
        if _fits(called, given, named):
            raise Stop("KV331", f"{name}(): TypeError: {error}"[:_LONGEST_REASON]) from None
        raise _misfit(name, called, named, error) from None


def _fits(
    called: Callable[..., object], arguments: Sequence[object], named: Mapping[str, object]
) -> bool:
    """Whether the arguments fit the function, so that a TypeError came from within it."""
    try:
        inspect.signature(called).bind(*arguments, **named)
    except TypeError:
        return False
    except ValueError:  # some of Python's own functions don't tell their signature
        return True
    return True


def _misfit(
    name: str, called: Callable[..., object], named: Mapping[str, object], error: TypeError
) -> Stop:
    signature = inspect.signature(called).replace(return_annotation=inspect.Signature.empty)
    hint = f"{name}{signature}"
    unknown = [key for key in named if key not in signature.parameters]
    if unknown:
        return Stop(
            "KV333",
            f"{name}() has no argument {unknown[0]!r}",
            f"{nearest(unknown[0], signature.parameters)} of {hint}",
        )
    return Stop("KV333", str(error)[:_LONGEST_REASON], hint)
