"""The interpreter: walks the syntax tree of an example that the grammar let through.

It knows the allowed nodes and nothing else, so a node that got past the grammar still does nothing.
Values are looked up in the page's own names, then in the namespace given, then among the few of
Python's functions on offer; attributes and calls go through `kvgate.claims.methods`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kvgate.claims.calls import call_own, call_python
from kvgate.claims.functions import formatted, iterate
from kvgate.claims.limits import Budget, Stop
from kvgate.claims.methods import attribute, method
from kvgate.claims.operations import binary, compare, item, unary
from kvgate.claims.reason import reason
from kvgate.claims.scope import Scope
from kvgate.claims.values import DICTS, Stream, admit, described, weigh
from kvgate.errors import InputError

__all__ = ["NOTHING", "Interpreter"]

NOTHING = object()
"""What an assignment yields."""


class Interpreter:
    """Runs the examples of one page, which share their names.

    ``namespace`` holds what examples may use besides their own names: values, and functions, which
    may be called. It is asked for a name only when that is used.
    """

    def __init__(self, namespace: Mapping[str, object], budget: Budget) -> None:
        self.budget = budget
        self._page = Scope(namespace, budget)

    @property
    def names(self) -> dict[str, object]:
        """What the page has assigned so far."""
        return self._page.names

    def execute(self, statement: ast.Expr | ast.Assign) -> object:
        """The value of an expression, NOTHING for an assignment.

        Raises Stop, and nothing else, where the statement cannot be carried out.
        """
        value = self._value(statement.value, self._page)
        if isinstance(statement, ast.Expr):
            return value
        try:
            self._page.bind(statement.targets[0], value)
        except Stop as stop:
            stop.node = stop.node or statement.targets[0]
            raise
        return NOTHING

    def _value(self, node: ast.expr, scope: Scope) -> object:
        """The value of an expression that must be one to keep: no generator."""
        value = self._any(node, scope)
        if type(value) is Stream:
            raise Stop(
                "KV331",
                "this gives its items one by one and cannot be kept or printed",
                "wrap it in list(...)",
                node=node,
            )
        return value

    def _any(self, node: ast.expr, scope: Scope) -> object:
        try:
            self.budget.charge(1)
            return _VISIT[type(node)](self, node, scope)
        except Stop as stop:
            stop.node = stop.node or node
            raise
        except InputError as error:
            raise Stop("KV331", error.message, error.hint, node=node, error=error) from None
        except RecursionError:
            raise Stop("KV332", "this nests too deep", node=node) from None
        except MemoryError:
            raise Stop("KV332", "this takes too much memory", node=node) from None
        except Exception as error:  # whatever kvgate or an operator raises is the example's failure
            raise Stop("KV331", reason(error), node=node) from error

    # -- literals and displays -----------------------------------------------------------------

    def _constant(self, node: ast.Constant, scope: Scope) -> object:
        return node.value

    def _list(self, node: ast.List | ast.Tuple | ast.Set, scope: Scope) -> list[object]:
        values: list[object] = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                values += self._spread(element, scope, len(values))
            else:
                values.append(self._value(element, scope))
        return values

    def _spread(self, node: ast.Starred, scope: Scope, held: int) -> Iterator[object]:
        for count, value in enumerate(iterate(self.budget, self._any(node.value, scope)), held + 1):
            if count > self.budget.limits.items:
                self.budget.items(count)
            yield value

    def _tuple(self, node: ast.Tuple, scope: Scope) -> object:
        return tuple(self._list(node, scope))

    def _set(self, node: ast.Set, scope: Scope) -> object:
        made: set[object] = set()
        for value in self._list(node, scope):
            self._pay_for_key(value, len(made))
            made.add(value)
        return made

    def _dict(self, node: ast.Dict, scope: Scope) -> object:
        made: dict[object, object] = {}
        for key_node, value_node in zip(node.keys, node.values, strict=True):
            if key_node is None:
                for key, value in self._mapping(value_node, scope).items():
                    self._pay_for_key(key, len(made))
                    made[key] = value
            else:
                key = self._value(key_node, scope)
                self._pay_for_key(key, len(made))
                made[key] = self._value(value_node, scope)
        return made

    def _mapping(self, node: ast.expr, scope: Scope) -> Mapping[Any, object]:
        value = self._value(node, scope)
        if type(value) not in DICTS:
            raise Stop("KV331", f"** takes a dict, not {described(value)}", node=node)
        return value  # type: ignore[return-value]

    def _pay_for_key(self, key: object, held: int) -> None:
        self.budget.charge(weigh(key, self.budget) // 8)
        self.budget.key(held)

    def _joined(self, node: ast.JoinedStr, scope: Scope) -> object:
        parts: list[str] = []
        length = 0
        for part in node.values:
            if isinstance(part, ast.Constant):
                text = str(part.value)
            else:
                text = self._formatted(part, scope)  # type: ignore[arg-type]
            length += len(text)
            self.budget.text(length)
            parts.append(text)
        return "".join(parts)

    def _formatted(self, node: ast.FormattedValue, scope: Scope) -> str:
        value = self._value(node.value, scope)
        spec = node.format_spec.values if isinstance(node.format_spec, ast.JoinedStr) else []
        # The grammar lets only written-out formats through.
        written = "".join(str(part.value) for part in spec if isinstance(part, ast.Constant))
        return formatted(value, max(node.conversion, 0), written, self.budget)

    # -- operators -----------------------------------------------------------------------------

    def _binary(self, node: ast.BinOp, scope: Scope) -> object:
        left = self._value(node.left, scope)
        return binary(self.budget, type(node.op), left, self._value(node.right, scope))

    def _unary(self, node: ast.UnaryOp, scope: Scope) -> object:
        return unary(type(node.op), self._value(node.operand, scope))

    def _boolean(self, node: ast.BoolOp, scope: Scope) -> object:
        stops_at = isinstance(node.op, ast.Or)
        value: object = None
        for operand in node.values:
            value = self._value(operand, scope)
            if bool(value) is stops_at:
                return value
        return value

    def _compare(self, node: ast.Compare, scope: Scope) -> object:
        left = self._value(node.left, scope)
        result: object = True
        for sign, right_node in zip(node.ops, node.comparators, strict=True):
            right = self._value(right_node, scope)
            result = compare(self.budget, type(sign), left, right)
            if not result:
                return result
            left = right
        return result

    def _choice(self, node: ast.IfExp, scope: Scope) -> object:
        chosen = node.body if self._value(node.test, scope) else node.orelse
        return self._value(chosen, scope)

    def _subscript(self, node: ast.Subscript, scope: Scope) -> object:
        value = self._value(node.value, scope)
        key = self._slice(node.slice, scope)
        return admit(item(self.budget, value, key), self.budget)

    def _slice(self, node: ast.expr, scope: Scope) -> object:
        if not isinstance(node, ast.Slice):
            return self._value(node, scope)
        bounds = (node.lower, node.upper, node.step)
        return slice(*(None if b is None else self._value(b, scope) for b in bounds))

    # -- comprehensions ------------------------------------------------------------------------

    def _rows(
        self, generators: list[ast.comprehension], scope: Scope, outer: Scope
    ) -> Iterator[None]:
        """Binds a comprehension's names in ``scope``, once for each row that passes its ifs."""
        first, rest = generators[0], generators[1:]
        for value in iterate(self.budget, self._any(first.iter, outer)):
            scope.bind(first.target, value)
            if all(self._value(test, scope) for test in first.ifs):
                if rest:
                    yield from self._rows(rest, scope, scope)
                else:
                    yield

    def _elements(self, node: Any, scope: Scope) -> Iterator[object]:
        inner = scope.inner()
        for _ in self._rows(node.generators, inner, scope):
            yield self._value(node.elt, inner)

    def _list_comprehension(self, node: ast.ListComp, scope: Scope) -> object:
        values: list[object] = []
        for value in self._elements(node, scope):
            if len(values) >= self.budget.limits.items:
                self.budget.items(len(values) + 1)
            values.append(value)
        return values

    def _set_comprehension(self, node: ast.SetComp, scope: Scope) -> object:
        made: set[object] = set()
        for value in self._elements(node, scope):
            self._pay_for_key(value, len(made))
            made.add(value)
        return made

    def _dict_comprehension(self, node: ast.DictComp, scope: Scope) -> object:
        made: dict[object, object] = {}
        inner = scope.inner()
        for _ in self._rows(node.generators, inner, scope):
            key = self._value(node.key, inner)
            self._pay_for_key(key, len(made))
            made[key] = self._value(node.value, inner)
        return made

    def _generator(self, node: ast.GeneratorExp, scope: Scope) -> object:
        return Stream(self._elements(node, scope))

    # -- names, attributes, calls --------------------------------------------------------------

    def _name(self, node: ast.Name, scope: Scope) -> object:
        return scope.value(node.id)

    def _attribute(self, node: ast.Attribute, scope: Scope) -> object:
        _refuse_private(node.attr)
        return attribute(self._value(node.value, scope), node.attr, self.budget)

    def _call(self, node: ast.Call, scope: Scope) -> object:
        function = node.func
        if isinstance(function, ast.Attribute):
            name = function.attr
            _refuse_private(name)
            called, own = method(self._value(function.value, scope), name, self.budget)
        else:
            name = function.id  # type: ignore[attr-defined]  # the grammar allows no other
            called, own = scope.function(name)
        arguments, named = self._arguments(node, scope)
        return (call_own if own else call_python)(self.budget, name, called, arguments, named)

    def _arguments(self, node: ast.Call, scope: Scope) -> tuple[list[object], dict[str, object]]:
        arguments: list[object] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                arguments += self._spread(argument, scope, len(arguments))
            else:
                arguments.append(self._any(argument, scope))
        named: dict[str, object] = {}
        for keyword in node.keywords:
            if keyword.arg is not None:
                named[keyword.arg] = self._value(keyword.value, scope)
                continue
            for key, value in self._mapping(keyword.value, scope).items():
                if not isinstance(key, str) or not key.isidentifier():
                    raise Stop(
                        "KV333", f"{key!r:.80} is no name of an argument", node=keyword.value
                    )
                _refuse_private(key)
                if key in named:
                    raise Stop("KV333", f"the argument {key} is given twice", node=keyword.value)
                named[key] = value
        return arguments, named


def _refuse_private(name: str) -> None:
    # The grammar has refused these; said again here, where it matters.
    if name.startswith("_"):
        raise Stop("KV321", f"{name}: a name that begins with _ is not available in a claim")


_VISIT: dict[type[ast.AST], Callable[..., object]] = {
    ast.Attribute: Interpreter._attribute,
    ast.BinOp: Interpreter._binary,
    ast.BoolOp: Interpreter._boolean,
    ast.Call: Interpreter._call,
    ast.Compare: Interpreter._compare,
    ast.Constant: Interpreter._constant,
    ast.Dict: Interpreter._dict,
    ast.DictComp: Interpreter._dict_comprehension,
    ast.GeneratorExp: Interpreter._generator,
    ast.IfExp: Interpreter._choice,
    ast.JoinedStr: Interpreter._joined,
    ast.List: Interpreter._list,
    ast.ListComp: Interpreter._list_comprehension,
    ast.Name: Interpreter._name,
    ast.Set: Interpreter._set,
    ast.SetComp: Interpreter._set_comprehension,
    ast.Subscript: Interpreter._subscript,
    ast.Tuple: Interpreter._tuple,
    ast.UnaryOp: Interpreter._unary,
}
