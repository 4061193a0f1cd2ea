"""Reading an SGLang release's Python files as syntax trees: texts, constant lists, model hooks.

Nothing of the release is imported or run; no GPU, torch or network is needed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["MAJORS", "Text", "Tree", "boolean", "constant", "name_of", "texts"]

# The compute capability majors behind each platform predicate, under both of its spellings
# (a property of the platform object, or a function of utils). Hopper's and Blackwell's also ask
# for CUDA 12.3 and 12.8, which every release in the catalogue ships with.
MAJORS = {
    "is_sm90": {9},
    "is_sm90_supported": {9},
    "is_hopper_with_cuda_12_3": {9},
    "is_sm100": {10},
    "is_sm100_supported": {10},
    "is_sm110": {11},
    "is_sm110_supported": {11},
    "is_sm100_or_sm110": {10, 11},
    "is_sm120": {12},
    "is_sm120_supported": {12},
    "is_blackwell": {10, 11, 12},
    "is_blackwell_supported": {10, 11, 12},
}


@dataclass(frozen=True)
class Tree:
    """The syntax tree of one file, with its module-level and class-level constants."""

    path: str
    module: ast.Module
    constants: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Text:
    """A message the release can print, and what stands around it.

    ``members``: the values its condition tests membership in. ``majors``: the SM majors its
    condition names. ``sets``: constants assigned beside it.
    """

    kind: str
    text: str
    function: str
    lists: dict[str, Any]
    members: list[Any] | None
    majors: list[int] | None
    sets: dict[str, Any]


def load(root: Path, path: str, shared: dict[str, Any]) -> Tree:
    """Parse one file; ``shared`` collects the constants seen so far, for names across files."""
    module = ast.parse((root / path).read_text(encoding="utf-8"))
    constants: dict[str, Any] = {}
    for node in module.body:
        for name, value in _assigned(node):
            found = constant(value, shared | constants)
            if found is not None:
                constants[name] = found
    shared.update(constants)
    return Tree(path, module, constants)


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id, node.value
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
        yield node.target.id, node.value


def constant(node: ast.AST, names: dict[str, Any]) -> Any:
    """A literal's value, known constants and ``*spread`` followed; None where it is none."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Call) and name_of(node.func) in ("frozenset", "set", "list", "tuple"):
        return constant(node.args[0], names) if node.args else None
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        values: list[Any] = []
        for item in node.elts:
            if isinstance(item, ast.Starred):
                spread = constant(item.value, names)
                if not isinstance(spread, (list, tuple)):
                    return None
                values += spread
                continue
            value = constant(item, names)
            if value is None and not (isinstance(item, ast.Constant) and item.value is None):
                return None
            values.append(value)
        return tuple(values) if isinstance(node, ast.Tuple) else values
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = constant(node.left, names), constant(node.right, names)
        if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
            return [*left, *right]
    return None


def name_of(node: ast.AST) -> str:
    """The last identifier of an expression: ``page_size`` of ``view.page_size``, and so on."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return name_of(value)
        case ast.Call(func=ast.Attribute(value=value, attr="get" | "upper" | "lower" | "replace")):
            return name_of(value)
        case ast.Call(func=func):
            return name_of(func)
        case _:
            return "value"


def template(node: ast.AST, names: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """A message as a format string, and the constant lists it prints by name."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.replace("{", "{{").replace("}", "}}"), {}
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = template(node.left, names), template(node.right, names)
        return (left[0] + right[0], left[1] | right[1]) if left and right else None
    if not isinstance(node, ast.JoinedStr):
        return None
    parts: list[str] = []
    lists: dict[str, Any] = {}
    for value in node.values:
        if isinstance(value, ast.FormattedValue):
            name = name_of(value.value)
            listed = constant(value.value, names)
            if isinstance(listed, (list, tuple)):
                lists[name] = listed
            parts.append("{" + name + ("!r" if value.conversion == ord("r") else "") + "}")
        else:
            literal = template(value, names)
            parts.append(literal[0] if literal else "")
    return "".join(parts), lists


def texts(tree: Tree, shared: dict[str, Any]) -> Iterator[Text]:
    """Every message that a ``raise``, an ``assert`` or a logger's warning of the file can print."""
    for function in ast.walk(tree.module):
        if isinstance(function, ast.FunctionDef):
            yield from _in_block(function.body, [], function.name, shared | tree.constants)


def _in_block(
    body: list[ast.stmt], tests: list[ast.expr], function: str, names: dict[str, Any]
) -> Iterator[Text]:
    names = dict(names)
    for node in body:
        for name, value in _assigned(node):
            found = constant(value, names)
            if found is not None:
                names[name] = found
        message: tuple[str, dict[str, Any]] | None = None
        kind, asked = "", tests
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            kind, message = name_of(node.exc.func), template(node.exc.args[0], names)
        elif isinstance(node, ast.Assert):
            kind, asked = "AssertionError", [*tests, node.test]
            message = template(node.msg, names) if node.msg is not None else None
        elif (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Call)
            and isinstance(node.value.func, ast.Attribute)
            and node.value.func.attr in ("warning", "info_once", "warning_once")
            and node.value.args
        ):
            kind, message = "warning", _logged(node.value, names)
        if message is not None:
            yield _text(kind, message, function, asked, body, names)
        for inner, extra in _blocks(node):
            yield from _in_block(inner, [*tests, *extra], function, names)


def _blocks(node: ast.stmt) -> Iterator[tuple[list[ast.stmt], list[ast.expr]]]:
    if isinstance(node, ast.If):
        yield node.body, [node.test]
        yield node.orelse, []
    elif isinstance(node, (ast.For, ast.With, ast.While)):
        yield node.body, []
    elif isinstance(node, ast.Try):
        yield node.body, []
        for handler in node.handlers:
            yield handler.body, []
        yield node.orelse, []


def _logged(call: ast.Call, names: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    message = template(call.args[0], names)
    if message is None:
        return None
    text, lists = message
    for argument in call.args[1:]:
        cut = min((text.find(m) for m in ("%s", "%d", "%r") if m in text), default=-1)
        if cut < 0:
            break
        mark = "!r" if text[cut : cut + 2] == "%r" else ""
        text = text[:cut] + "{" + name_of(argument) + mark + "}" + text[cut + 2 :]
    return text, lists


def _text(
    kind: str,
    message: tuple[str, dict[str, Any]],
    function: str,
    asked: list[ast.expr],
    body: list[ast.stmt],
    names: dict[str, Any],
) -> Text:
    members: list[Any] | None = None
    unlike = False
    for test in reversed(asked):
        for node in ast.walk(test):
            if isinstance(node, ast.Compare) and len(node.ops) == 1:
                value = constant(node.comparators[0], names)
                if isinstance(node.ops[0], (ast.In, ast.NotIn)) and members is None:
                    members = list(value) if isinstance(value, (list, tuple)) else None
                # A comparison with one value is the message's own condition: no list is its.
                unlike |= isinstance(node.ops[0], ast.NotEq) and isinstance(value, str)
        if members is not None or unlike:
            break
    majors: set[int] = set()
    for node in ast.walk(asked[-1]) if asked else ():
        majors |= (
            MAJORS.get(name_of(node), set())
            if isinstance(node, (ast.Attribute, ast.Name))
            else set()
        )
    return Text(
        kind, message[0], function, message[1], members, sorted(majors) or None,
        _constants_beside(body, names),
    )  # fmt: skip


def _constants_beside(body: list[ast.stmt], names: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for node in body:
        pairs: list[tuple[str, ast.expr]] = []
        if isinstance(node, ast.Assign):
            pairs = [(_bound(target), node.value) for target in node.targets]
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.Dict):
            written = zip(node.value.keys, node.value.values, strict=True)
            named = ((k.value, v) for k, v in written if isinstance(k, ast.Constant))
            pairs = [(k, v) for k, v in named if isinstance(k, str)]
        for name, value in pairs:
            literal = constant(value, names)
            if isinstance(literal, (int, str)):
                found[name] = literal
    return found


def _bound(target: ast.expr) -> str:
    if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
        return str(target.slice.value)
    return name_of(target)


def boolean(node: ast.AST, known: dict[str, bool]) -> bool | None:
    """A condition's truth, ``known`` mapping source text to truth; None where it can't be told."""
    source = ast.unparse(node)
    if source in known:
        return known[source]
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            value = boolean(operand, known)
            return None if value is None else not value
        case ast.BoolOp(op=op, values=values):
            told = [boolean(value, known) for value in values]
            stop = isinstance(op, ast.Or)
            if stop in told:
                return stop
            return None if None in told else not stop
        case _:
            return None
