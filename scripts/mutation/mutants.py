"""The mutants of a module: Cosmic Ray's changes, less those that nothing could notice."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Mutant", "Place", "Spared", "mutant", "places", "spared"]

EQUIVALENT = Path(__file__).with_name("equivalent.toml")


@dataclass(frozen=True, slots=True)
class Place:
    """Where an operator changes something: the file, the operator, its how-manieth place, line."""

    path: str
    operator: str
    occurrence: int
    line: int


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed module, with the first line that differs, before and after."""

    place: Place
    line: int
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        name = self.place.operator.rpartition("/")[2]
        where = f"{self.place.path}:{self.line}"
        return f"{where} {name}\n    - {self.before}\n    + {self.after}"


@dataclass(frozen=True, slots=True)
class Spared:
    """A mutant that no test can kill, or that none should have to, and why.

    ``path`` and ``operator`` are whole names, or ``*`` for every one; ``line`` is the line of the
    source, or a regular expression between slashes.
    """

    path: str
    operator: str
    line: str
    reason: str
    after: str = ""

    def covers(self, mutant: Mutant) -> bool:
        """Whether the mutant is one of these."""
        return (
            self.path in ("*", mutant.place.path)
            and self.operator in ("*", mutant.place.operator.rpartition("/")[2])
            and _like(self.line, mutant.before)
            and (not self.after or _like(self.after, mutant.after))
        )


def _like(pattern: str, line: str) -> bool:
    if pattern.startswith("/") and pattern.endswith("/"):
        return re.search(pattern[1:-1], line) is not None
    return pattern == line


def spared(path: Path = EQUIVALENT) -> tuple[Spared, ...]:
    """The table of equivalent mutants."""
    return tuple(Spared(**row) for row in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"])


def places(root: Path, paths: Iterable[Path]) -> dict[tuple[str, int, int], list[Place]]:
    """Every place that Cosmic Ray's operators can change, with the ways in which they can.

    By (file, line, column), so that a sample weighs every place alike: an operator that is
    replaced in eleven ways counts no more than a condition that is negated in one.
    """
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    operators = [
        (name, operator()) for name in operator_names()
        if not (operator := get_operator(name)).arguments() and not _idle(name)
    ]  # fmt: skip
    found: dict[tuple[str, int, int], list[Place]] = {}
    for path in paths:
        source = path.read_text(encoding="utf-8")
        nodes = list(ast_nodes(get_ast(source)))
        texts = _texts_compared(source)
        where = path.relative_to(root).as_posix()
        for name, operator in operators:
            starts = [start for node in nodes for start, _ in operator.mutation_positions(node)]
            for n, (line, column) in enumerate(starts):
                if not (line in texts and re.search(r"(Comparison.*_(Lt|Gt)E?)$", name)):
                    found.setdefault((where, line, column), []).append(Place(where, name, n, line))
    return found


def _idle(name: str) -> bool:
    """Identity for equality: the same answer for names and small numbers, or a warning."""
    kind = name.rpartition("/")[2].split("_")
    return kind[0] == "ReplaceComparisonOperator" and (
        kind[-1] in ("Is", "IsNot") and not kind[1].startswith("Is")
    )


def _texts_compared(source: str) -> set[int]:
    """Lines on which a text is compared: which of two texts sorts first decides nothing here."""
    return {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Compare)
        and any(isinstance(n, ast.Constant) and isinstance(n.value, str) for n in ast.walk(node))
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def mutant(root: Path, place: Place) -> Mutant | None:
    """The mutant of a place; None where nothing that is read or called changes.

    Annotations and docstrings are such: nothing evaluates them.
    """
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    source = (root / place.path).read_text(encoding="utf-8")
    changed = mutate_code(source, get_operator(place.operator)(), place.occurrence)
    if changed is None or _meaning(changed) in (None, _meaning(source)):
        return None
    before, after = source.splitlines(), changed.splitlines()
    pairs = zip(before, after, strict=False)
    at = next((n for n, (a, b) in enumerate(pairs) if a != b), place.line - 1)
    return Mutant(place, at + 1, before[at].strip(), "".join(after[at : at + 1]).strip(), changed)


def _meaning(source: str) -> str | None:
    """The syntax tree as text, without annotations and docstrings; None where it is no Python."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    return ast.dump(tree)
