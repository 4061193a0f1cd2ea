"""The lock files pin, with hashes, what pyproject.toml asks for, and the code imports no more."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
DEV = ROOT / "requirements" / "dev.lock"
ACTION = ROOT / ".github" / "requirements" / "action.txt"
_PINNED = re.compile(r"^([\w.-]+)==([^\s;\\]+)", re.MULTILINE)
# What a package that is asked for documents as its own and always brings along.
PART_OF = {"pydantic-core": "pydantic", "markupsafe": "jinja2"}
MUTATION = ROOT / "requirements" / "mutation.txt"
LOCKS = (DEV, MUTATION, *sorted(ACTION.parent.glob("*.txt")))


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def requirements(texts: list[str]) -> dict[str, Requirement]:
    parsed = map(Requirement, texts)
    return {canonicalize_name(r.name): r for r in parsed}


def pinned(path: Path) -> dict[str, set[str]]:
    """Each package of a lock file with the versions that its markers choose from."""
    found: dict[str, set[str]] = {}
    for name, version in _PINNED.findall(path.read_text("utf-8")):
        found.setdefault(canonicalize_name(name), set()).add(version)
    return found


def needed_by_the_package() -> dict[str, Requirement]:
    return requirements(project()["project"]["dependencies"])


@pytest.mark.parametrize("path", LOCKS, ids=lambda p: p.name)
def test_each_package_is_pinned_with_its_hashes(path: Path) -> None:
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    assert lines
    for line in lines:
        assert re.match(r"[\w.-]+==\S+", line), line
        assert "--hash=sha256:" in line, line


@pytest.mark.parametrize("path", LOCKS, ids=lambda p: p.name)
def test_a_lock_names_no_index_of_packages(path: Path) -> None:
    assert "://" not in path.read_text(encoding="utf-8")


def test_the_lock_holds_a_fitting_version_of_all_that_pyproject_asks_for() -> None:
    whole = project()
    extras = whole["project"]["optional-dependencies"]["site"]
    wanted = needed_by_the_package() | requirements([*extras, *whole["dependency-groups"]["dev"]])
    held = pinned(DEV)
    missing = [
        str(requirement)
        for name, requirement in wanted.items()
        if not any(requirement.specifier.contains(v) for v in held.get(name, ()))
    ]
    assert not missing, f"run make lock: {', '.join(missing)}"


def test_the_action_runs_the_versions_that_are_tested() -> None:
    held, tested = pinned(ACTION), pinned(DEV)
    assert set(needed_by_the_package()) <= set(held)
    assert {name: v for name, v in held.items() if not v <= tested.get(name, set())} == {}


def test_the_mutation_test_runs_beside_the_versions_that_are_tested() -> None:
    held, tested = pinned(MUTATION), pinned(DEV)
    assert {"cosmic-ray", "coverage"} <= set(held)
    assert {name: v for name, v in held.items() if not v <= tested.get(name, v)} == {}
    assert MUTATION.relative_to(ROOT).as_posix() in (ROOT / "scripts/mutate.py").read_text("utf-8")


def test_the_package_imports_nothing_that_it_does_not_ask_for() -> None:
    whole = project()["project"]
    declared = set(needed_by_the_package())
    for extra in whole["optional-dependencies"].values():
        declared |= set(requirements(extra))
    declared |= {part for part, whole_ in PART_OF.items() if whole_ in declared}
    homes = packages_distributions()
    foreign: dict[str, str] = {}
    for path in (ROOT / "kvgate").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            for name in names:
                top = name.partition(".")[0]
                if top == "kvgate" or top in sys.stdlib_module_names:
                    continue
                if not declared.intersection(map(canonicalize_name, homes.get(top, []))):
                    foreign[top] = path.relative_to(ROOT).as_posix()
    assert not foreign, f"add to pyproject.toml what these come from: {foreign}"
