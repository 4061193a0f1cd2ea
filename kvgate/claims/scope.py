"""Names and what they stand for: the page's, a comprehension's own, those given, Python's few."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from kvgate.claims.functions import FUNCTIONS, iterate
from kvgate.claims.limits import Budget, Stop
from kvgate.claims.values import admit, described, ours
from kvgate.errors import nearest

__all__ = ["Scope"]


class Scope:
    """Assigned names with their values, and the scope around: a comprehension's names are its own.

    ``given`` holds what examples may use besides: values, and functions, which may be called only.
    """

    __slots__ = ("_budget", "_given", "_outer", "names")

    def __init__(
        self, given: Mapping[str, object], budget: Budget, outer: Scope | None = None
    ) -> None:
        self.names: dict[str, object] = {}
        self._given = given
        self._budget = budget
        self._outer = outer

    def inner(self) -> Scope:
        """A scope within this one."""
        return Scope(self._given, self._budget, self)

    def bind(self, target: ast.expr, value: object) -> None:
        """Assign to a name, or one value each to names. Raises Stop where the counts differ."""
        if isinstance(target, ast.Name):
            self.names[target.id] = admit(value, self._budget)
            return
        elements: list[ast.expr] = getattr(target, "elts", [])  # the grammar lets no other through
        values = list(self._some(value, len(elements)))
        if len(values) != len(elements):
            few = "more" if len(values) > len(elements) else "fewer"
            message = f"there are {few} values than the {len(elements)} names for them"
            raise Stop("KV331", message, node=target)
        for element, one in zip(elements, values, strict=True):
            self.bind(element, one)

    def _some(self, value: object, count: int) -> Iterator[object]:
        """The first ``count`` values and, to see that there are more, one more."""
        for index, one in enumerate(iterate(self._budget, value)):
            yield one
            if index >= count:
                return

    def value(self, name: str) -> object:
        """What a name stands for. Raises Stop for an unknown name and for that of a function."""
        found, given = self._find(name)
        if given and _is_function(found):
            raise Stop("KV333", f"{name} is a function", f"call it: {name}(...)")
        return admit(found, self._budget)

    def function(self, name: str) -> tuple[Callable[..., object], bool]:
        """The function of that name, and whether it was given (Python's few bound themselves).

        Raises Stop for an unknown name and for that of a value.
        """
        found, given = self._find(name)
        if not given or not _is_function(found) or not callable(found):
            hint = "" if given or name not in self._given else "this page gave the name to a value"
            raise Stop("KV333", f"{name} is {described(found)}, not a function", hint)
        python = FUNCTIONS.get(name)
        if python is not None and python is found:
            return partial(python, self._budget), False
        return found, True

    def _find(self, name: str) -> tuple[object, bool]:
        """What a name stands for, and whether it was given to the page, not assigned by it."""
        here: Scope | None = self
        while here is not None:
            if name in here.names:
                return here.names[name], False
            here = here._outer
        if name in self._given:
            return self._given[name], True
        if name in FUNCTIONS:
            return FUNCTIONS[name], True
        raise Stop("KV333", f"unknown name {name!r}", nearest(name, self._known()))

    def _known(self) -> list[str]:
        outer = self._outer._known() if self._outer else [*self._given, *FUNCTIONS]
        return [*self.names, *outer]


def _is_function(found: object) -> bool:
    return callable(found) and not ours(type(found))
