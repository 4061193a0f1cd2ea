"""What programs may rely on: every public name is there and says what it is."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import kvgate
from kvgate.errors import InputError

PACKAGE = Path(__file__).resolve().parents[2] / "kvgate"
MODULES = sorted(PACKAGE.rglob("*.py"))

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def public(tree: ast.Module) -> tuple[str, ...] | None:
    """The names in ``__all__`` of a module; None where it has none, or makes it by computing."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == ["__all__"]:
            try:
                return tuple(ast.literal_eval(node.value))
            except ValueError:
                return None
    return None


def defined(tree: ast.Module) -> Iterator[tuple[str, Definition]]:
    for node in tree.body:
        if isinstance(node, Definition):
            yield node.name, node


def members(cls: ast.ClassDef) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The methods and properties of a class that callers use."""
    for node in cls.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name[0] != "_":
            yield node


@pytest.mark.parametrize("name", kvgate.__all__)
def test_a_public_name_is_there_and_documented(name: str) -> None:
    found = getattr(kvgate, name)
    if isinstance(found, int):
        return  # KiB, MiB, GiB: numbers have no docstring of their own
    text = inspect.getdoc(found)
    assert text
    assert len(text.split()) > 5


def test_the_package_lists_what_it_gives() -> None:
    assert list(kvgate.__all__) == sorted(kvgate.__all__)
    assert set(kvgate.__all__) <= set(dir(kvgate))
    with pytest.raises(AttributeError, match="no_such_name"):
        kvgate.no_such_name  # noqa: B018


# A call of each public function with something that it can't know. `weights` takes what `model`
# gave, and any number of bytes is one that `formats_of` may look for.
UNKNOWN: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "backends": ((kvgate.model("Qwen/Qwen3-8B"),), {"gpu": "no such GPU", "engine": "vllm"}),
    "gpu": (("no such GPU",), {}),
    "head_sizes": (("NO_SUCH_BACKEND",), {"engine": "vllm"}),
    "kernel": (("no-such-kernel",), {}),
    "kernels_on": (("no such GPU",), {}),
    "kv_format": (("no_such_format",), {}),
    "matrix": (("no-such-engine",), {}),
    "model": (("no/such-model",), {}),
    "releases": (("no-such-engine",), {}),
    "size": (("no/such-model",), {}),
}


def test_every_public_function_is_tried() -> None:
    functions = {name for name in kvgate.__all__ if callable(getattr(kvgate, name))}
    assert functions == set(UNKNOWN) | {"weights", "formats_of"}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_public_function_refuses_what_it_does_not_know_and_says_so(name: str) -> None:
    function = getattr(kvgate, name)
    positional, named = UNKNOWN[name]
    with pytest.raises(InputError) as error:
        function(*positional, **named)
    assert error.value.hint
    assert "InputError" in (inspect.getdoc(function) or "")


@pytest.mark.parametrize("name", [n for n in kvgate.__all__ if callable(getattr(kvgate, n))])
def test_a_public_function_says_what_it_gives_when_it_refuses_and_by_what_source(name: str) -> None:
    text = inspect.getdoc(getattr(kvgate, name)) or ""
    assert "Gives " in text
    assert "Raises " in text
    assert "Source: " in text
    gives = text.partition("Gives ")[2].partition("Source: ")[0]
    units = (
        "bytes",
        "tokens",
        "MiB",
        "elements",
        "capabilit",
        "names",
        "name",
        "versions",
        "entry",
    )
    assert any(unit in gives for unit in units), gives


def given(kind: Any, seen: dict[type, None]) -> None:
    """Every data class that a public function's answer holds, at any depth."""
    for part in get_args(kind):
        given(part, seen)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type) and kind not in seen:
        seen[kind] = None
        for hint in get_type_hints(kind).values():
            given(hint, seen)


def answers() -> list[type]:
    from kvgate.architecture.model import Architecture
    from kvgate.architecture.weights import Weights
    from kvgate.attention.report import Report
    from kvgate.catalog.formats import KvFormat
    from kvgate.catalog.gpus import Gpu
    from kvgate.catalog.kernels import Kernel
    from kvgate.kvcache.size import Sizing

    seen: dict[type, None] = {}
    for kind in (Architecture, Weights, Report, KvFormat, Gpu, Kernel, Sizing):
        given(kind, seen)
    return list(seen)


@pytest.mark.parametrize("kind", answers(), ids=lambda k: f"{k.__module__}.{k.__name__}")
def test_each_number_of_an_answer_is_named_where_its_unit_is_said(kind: type) -> None:
    text = inspect.getdoc(kind) or ""
    hints = get_type_hints(kind)
    silent = [
        field.name
        for field in dataclasses.fields(kind)
        if re.search(r"\b(?:int|float)\b", str(hints[field.name]))
        and "Literal" not in str(hints[field.name])
        and f"``{field.name}``" not in text
    ]
    assert not silent, f"the docstring says nothing of {', '.join(silent)}"


def test_every_module_says_what_it_is() -> None:
    silent = [
        path.relative_to(PACKAGE).as_posix()
        for path in MODULES
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not silent


def test_every_public_function_and_class_says_what_it_is() -> None:
    silent = []
    for path in MODULES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = public(tree)
        for name, node in defined(tree):
            shown = f"{path.relative_to(PACKAGE).as_posix()}:{node.lineno} {name}"
            if name.startswith("_") or (names is not None and name not in names):
                continue
            if not ast.get_docstring(node):
                silent.append(shown)
            if isinstance(node, ast.ClassDef) and not node.bases:
                silent += [
                    f"{shown}.{member.name}"
                    for member in members(node)
                    if not ast.get_docstring(member)
                ]
    assert not silent, "\n".join(silent)


def test_every_name_in_all_is_defined() -> None:
    lost = []
    for path in MODULES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        bound = {name for name, _ in defined(tree)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                bound |= {(a.asname or a.name).partition(".")[0] for a in node.names}
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                bound.add(node.id)
        lost += [
            f"{path.relative_to(PACKAGE).as_posix()}: {name}"
            for name in public(tree) or ()
            if name not in bound and not (path.parent / f"{name}.py").exists()
        ]
    assert not lost


def test_every_module_says_what_it_gives() -> None:
    lacking = []
    for path in MODULES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        has = any(
            "__all__" in (ast.unparse(t) for t in getattr(node, "targets", ()))
            for node in tree.body
        )
        gives = any(not name.startswith("_") for name, _ in defined(tree))
        if gives and not has:
            lacking.append(path.relative_to(PACKAGE).as_posix())
    assert not lacking
