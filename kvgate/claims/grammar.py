"""What a claim may be written with: an allow-list of syntax, checked before anything runs.

Expressions and assignments to names, over literals, operators, comprehensions, f-strings, names,
attributes and calls. Whatever is not listed here does not exist for a claim, and no name may begin
with an underscore. (The parser has put identifiers into their normal form NFKC by then, so no
look-alike of an underscore or of a name gets past.)
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from typing import Any

from kvgate.claims.functions import FUNCTIONS
from kvgate.claims.limits import Limits

__all__ = ["DEPTH", "Refusal", "bound_names", "refusals"]

DEPTH = 100
"""How deep syntax may nest: every level costs the interpreter two frames of Python's own stack."""

_ALLOWED: frozenset[type[ast.AST]] = frozenset({
    ast.Attribute, ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.Constant, ast.Dict,
    ast.DictComp, ast.FormattedValue, ast.GeneratorExp, ast.IfExp, ast.JoinedStr, ast.List,
    ast.ListComp, ast.Name, ast.Set, ast.SetComp, ast.Slice, ast.Starred, ast.Subscript, ast.Tuple,
    ast.UnaryOp, ast.comprehension, ast.keyword, ast.Load, ast.Store,
    ast.And, ast.Or, ast.Not, ast.Invert, ast.UAdd, ast.USub,
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift,
    ast.BitOr, ast.BitAnd, ast.BitXor,
    ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is, ast.IsNot, ast.In, ast.NotIn,
})  # fmt: skip
_WORDS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Import: ("an import", "kvgate's public names are there already"),
    ast.ImportFrom: ("an import", "kvgate's public names are there already"),
    ast.Lambda: ("a lambda", "write a comprehension"),
    ast.NamedExpr: ("a := assignment", "assign on a line of its own"),
    ast.AugAssign: ("an assignment that changes a value", "write total = total + ..."),
    ast.AnnAssign: ("an annotated assignment", "leave the annotation out"),
    ast.FunctionDef: ("a function definition", "the function belongs into kvgate, with its test"),
    ast.ClassDef: ("a class definition", "a claim only computes"),
    ast.For: ("a for loop", "write a comprehension"),
    ast.While: ("a while loop", "write a comprehension over a range"),
    ast.If: ("an if statement", "write `a if test else b`"),
    ast.Delete: ("del", "a name may be assigned anew"),
    ast.Assert: ("an assert", "write the expression and the value it gives below it"),
    ast.Await: ("await", "a claim only computes"),
    ast.Yield: ("yield", "write a comprehension"),
    ast.MatMult: ("the operator @", ""),
}
_FORMAT = re.compile(r"[<>^]?\d{0,2}[,_]?(?:\.\d{1,2})?[bdeEfFgGnosxX%]?")
_NOT_OFFERED = frozenset(dir(builtins)) - set(FUNCTIONS) - {"True", "False", "None"}


@dataclass(frozen=True, slots=True)
class Refusal:
    """One thing that a claim may not be written with, at its node."""

    node: ast.AST
    code: str
    message: str
    hint: str = ""


def bound_names(target: ast.AST) -> Iterator[str]:
    """The names that an assignment or a comprehension binds."""
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from bound_names(element)


def refusals(statement: ast.stmt, assigned: Set[str], limits: Limits) -> list[Refusal]:
    """Everything in a statement that a claim may not have.

    ``assigned`` are the names which the page has given values by then: those may be called what
    Python calls a function that claims don't have. Positions inside an f-string become the
    f-string's own (Python 3.11 gives wrong ones).
    """
    check = _Check(limits)
    if isinstance(statement, ast.Assign):
        if len(statement.targets) > 1:
            check.refuse(statement.targets[1], "KV320", "a claim assigns once a line")
        for target in statement.targets:
            check.target(target)
        check.expression(statement.value)
    elif isinstance(statement, ast.Expr):
        if isinstance(statement.value, ast.Starred):
            check.refuse(statement.value, "KV320", "a starred value stands alone in no claim")
        check.expression(statement.value)
    else:
        check.not_allowed(statement, "statement")
    check.names(assigned)
    return check.found


class _Check:
    """The walk over one statement, and what it found."""

    def __init__(self, limits: Limits) -> None:
        self.found: list[Refusal] = []
        self._limits = limits
        self._local: set[str] = set()
        self._not_offered: list[ast.Name] = []
        self._streams: set[ast.AST] = set()

    def refuse(self, node: ast.AST, code: str, message: str, hint: str = "") -> None:
        self.found.append(Refusal(node, code, message, hint))

    def not_allowed(self, node: ast.AST, what: str) -> None:
        words, hint = _WORDS.get(type(node), (f"this {what} ({type(node).__name__})", ""))
        message = f"{words} is not allowed in a claim, which computes and assigns only"
        self.refuse(node, "KV320", message, hint)

    def expression(self, start: ast.expr) -> None:
        """Walk everything below, without recursion: how deep it goes is still to be seen."""
        stack: list[tuple[ast.AST, int]] = [(start, 1)]
        while stack:
            node, depth = stack.pop()
            kind = type(node)
            if depth > DEPTH:
                self.refuse(node, "KV322", f"this is nested more than {DEPTH} deep")
                return
            if kind not in _ALLOWED:
                self.not_allowed(node, "expression")
                self._privates_below(node)
                continue
            judge = _JUDGES.get(kind)
            if judge:
                judge(self, node)
            for name in node._fields:
                value = getattr(node, name, None)
                if isinstance(value, list):
                    stack += [(child, depth + 1) for child in value if isinstance(child, ast.AST)]
                elif isinstance(value, ast.AST) and name != "ctx":
                    stack.append((value, depth + 1))

    def names(self, assigned: Set[str]) -> None:
        """Refuse Python's own functions that claims don't have, where nothing else has the name."""
        for node in self._not_offered:
            if node.id not in assigned and node.id not in self._local:
                hint = f"of Python's own functions there are {', '.join(sorted(FUNCTIONS))}"
                self.refuse(node, "KV321", f"{node.id} is not available in a claim", hint)

    def target(self, target: ast.AST) -> None:
        """A name, or names with commas between them, that something is assigned to."""
        if isinstance(target, ast.Name):
            self._public(target, target.id)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                self.target(element)
        else:
            message = "a value is given to a name, or to names with commas between them"
            self.refuse(target, "KV320", message, "nothing is ever changed in a claim")

    def _public(self, node: ast.AST, name: str | None) -> None:
        if name and name.startswith("_"):
            message = f"{name}: a name that begins with _ is not available in a claim"
            self.refuse(node, "KV321", message)

    def _privates_below(self, refused: ast.AST) -> None:
        for node in ast.walk(refused):
            if isinstance(node, ast.Attribute):
                self._public(node, node.attr)
            elif isinstance(node, ast.Name):
                self._public(node, node.id)

    # -- one judge for each kind of node that can be wrong ------------------------------------

    def _name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            return  # judged as a target
        self._public(node, node.id)
        if node.id in _NOT_OFFERED and not node.id.startswith("_"):
            self._not_offered.append(node)

    def _attribute(self, node: ast.Attribute) -> None:
        self._public(node, node.attr)

    def _constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, int):
            if value.bit_length() > self._limits.bits:
                most = f"{self._limits.bits:,}"
                self.refuse(node, "KV322", f"an integer may not exceed {most} bits")
        elif value is not None and not isinstance(value, (str, float)):
            self.refuse(node, "KV320", f"a claim has no {type(value).__name__} literals")

    def _call(self, node: ast.Call) -> None:
        if not isinstance(node.func, (ast.Name, ast.Attribute)):
            message = "only a named function or a method can be called here"
            self.refuse(node.func, "KV320", message)
        self._streams.update(node.args)
        seen: set[str | None] = set()
        for keyword in node.keywords:
            self._public(keyword, keyword.arg)
            if keyword.arg and keyword.arg in seen:
                self.refuse(keyword, "KV320", f"the argument {keyword.arg} is given twice")
            seen.add(keyword.arg)

    def _generator(self, node: ast.GeneratorExp) -> None:
        if node not in self._streams:
            message = "a generator stands only where its items are used up at once"
            self.refuse(node, "KV320", message, "write a list: [... for ...]")

    def _comprehension(self, node: ast.comprehension) -> None:
        if node.is_async:
            self.refuse(node.target, "KV320", "a claim has no async")
        self._streams.add(node.iter)
        self.target(node.target)
        self._local.update(bound_names(node.target))

    def _tuple(self, node: ast.Tuple) -> None:
        for element in node.elts:
            if isinstance(element, ast.Slice):
                self.refuse(element, "KV320", "a claim slices in one dimension only")

    def _compare(self, node: ast.Compare) -> None:
        for sign, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(sign, (ast.Is, ast.IsNot)) and not (
                isinstance(right, ast.Constant) and isinstance(right.value, (bool, type(None)))
            ):
                message = "`is` compares with None, True or False only"
                self.refuse(right, "KV320", message, "write ==")

    def _joined(self, node: ast.JoinedStr) -> None:
        for inner in ast.walk(node):
            ast.copy_location(inner, node)

    def _formatted(self, node: ast.FormattedValue) -> None:
        if not isinstance(node.format_spec, ast.JoinedStr):
            return
        parts = node.format_spec.values
        spec = "".join(str(part.value) for part in parts if isinstance(part, ast.Constant))
        if not all(isinstance(part, ast.Constant) for part in parts) or not _FORMAT.fullmatch(spec):
            message = "this format of an f-string is not one that claims have"
            hint = "such as {x:.2f}, {x:,} or {x:.1%}; widths and digits up to 99"
            self.refuse(node, "KV320", message, hint)


_JUDGES: dict[type[ast.AST], Callable[[_Check, Any], None]] = {
    ast.Attribute: _Check._attribute,
    ast.Call: _Check._call,
    ast.Compare: _Check._compare,
    ast.Constant: _Check._constant,
    ast.FormattedValue: _Check._formatted,
    ast.GeneratorExp: _Check._generator,
    ast.JoinedStr: _Check._joined,
    ast.Name: _Check._name,
    ast.Tuple: _Check._tuple,
    ast.comprehension: _Check._comprehension,
}
