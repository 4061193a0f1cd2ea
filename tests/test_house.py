"""The house: floors import downwards only, and what is above the line travels alone."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "kvgate"

# Lowest first. A module of one floor may import its own floor and every floor before it.
FLOORS = (
    "errors", "deprecation", "units", "catalog", "architecture", "attention", "kvcache",
    "deployment", "plan", "rules", "claims", "diagnose", "answers", "manifests", "records", "site",
    "cli",
)  # fmt: skip
PURE = FLOORS[: FLOORS.index("answers") + 1]
OUTSIDE_ALLOWED_ABOVE_THE_LINE = {"packaging"}


def imports(source: str, module: str) -> Iterator[tuple[int, str]]:
    """Every module that the source names in an import, wherever it stands, as (line, name)."""
    package = module.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module.split(".")[: -node.level] if module != package else [package]
                base = ".".join([*parents, base]).rstrip(".")
            yield node.lineno, base
            for alias in node.names:
                yield node.lineno, f"{base}.{alias.name}"


def faults(source: str, module: str) -> list[str]:
    """What the import rules object to in one module."""
    floor = module.split(".")[1] if "." in module else ""
    if floor not in FLOORS:
        return [] if module == "kvgate" else [f"{module}: no such floor"]
    allowed = FLOORS[: FLOORS.index(floor) + 1]
    found = []
    for line, name in imports(source, module):
        top, _, rest = name.partition(".")
        if top == "kvgate":
            target = rest.partition(".")[0]
            if target in FLOORS and target not in allowed:
                found.append(f"{module}:{line} imports {name}, a floor above {floor}")
        elif floor in PURE and top not in sys.stdlib_module_names | OUTSIDE_ALLOWED_ABOVE_THE_LINE:
            found.append(f"{module}:{line} imports {name}; {floor} is above the line")
    return found


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def test_each_module_imports_only_its_own_floor_and_those_below_it() -> None:
    found = [f for name, path in modules() for f in faults(path.read_text("utf-8"), name)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("kvgate.units", "from kvgate.catalog import gpu"),
        ("kvgate.architecture.mla", "import kvgate.kvcache.size"),
        ("kvgate.kvcache.size", "from kvgate import cli"),
        ("kvgate.claims.run", "def f():\n    import yaml"),
        ("kvgate.attention.vllm", "from ..rules import sinks"),
        ("kvgate.utils", "x = 1"),
    ],
)
def test_the_import_rules_object_to(module: str, source: str) -> None:
    assert faults(source, module)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("kvgate.rules.sinks", "from kvgate.plan import Plan\nimport packaging.version, json"),
        ("kvgate.records.schema", "import pydantic\nfrom kvgate.claims import find"),
        ("kvgate.attention.vllm", "from ..architecture import layers"),
    ],
)
def test_the_import_rules_allow(module: str, source: str) -> None:
    assert not faults(source, module)


def test_no_module_is_larger_than_four_hundred_lines() -> None:
    large = {n: c for n, p in modules() if (c := len(p.read_text("utf-8").splitlines())) > 400}
    assert not large


def test_every_floor_says_what_it_is() -> None:
    for floor in FLOORS:
        path = PACKAGE / floor / "__init__.py"
        path = path if path.exists() else PACKAGE / f"{floor}.py"
        assert ast.get_docstring(ast.parse(path.read_text("utf-8"))), floor


def test_lines_end_where_engines_and_editors_end_them() -> None:
    # str.splitlines also breaks at form feeds, separators and U+2028: a command would end in the
    # middle, and every place after it would be off. A claim may call it on a text of its own.
    called = [
        f"{name}:{node.lineno}"
        for name, path in modules()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "splitlines"
    ]
    assert not called, "\n".join(called)
