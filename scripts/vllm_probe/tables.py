"""Write what a function answers over a grid as the smallest nested table that says the same.

A table is ``{"by": [names], "at": nested}``: one level of keys per name, ``"*"`` for every key that
is not there. A function that depends on nothing is its value, without a table.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

__all__ = ["progressions", "spread", "table"]

Cell = tuple[str, ...]


def table(names: Sequence[str], answers: Mapping[Cell, Any]) -> Any:
    """The smallest table for ``answers``, which has a cell for every combination of keys.

    Values must not be dicts. Names that change nothing are left out.
    """
    codes = {cell: json.dumps(value, sort_keys=True) for cell, value in answers.items()}
    names = list(names)
    keys = [sorted({cell[i] for cell in codes}) for i in range(len(names))]
    if len(codes) != len(list(product(*keys))):
        raise ValueError("the grid has holes")
    for name in list(names):
        position = names.index(name)
        without: dict[Cell, str] = {}
        for cell, code in codes.items():
            rest = cell[:position] + cell[position + 1 :]
            if without.setdefault(rest, code) != code:
                break
        else:
            codes = without
            names.pop(position)
    if not names:
        return json.loads(codes[()])
    return {"by": names, "at": _nested(codes, len(names))}


def _nested(codes: Mapping[Cell, str], depth: int) -> Any:
    if depth == 0:
        return json.loads(codes[()])
    parts: dict[str, dict[Cell, str]] = {}
    for cell, code in codes.items():
        parts.setdefault(cell[0], {})[cell[1:]] = code
    shapes = {key: _nested(part, depth - 1) for key, part in parts.items()}
    written = {key: json.dumps(shape, sort_keys=True) for key, shape in shapes.items()}
    (common, count), *_ = Counter(written.values()).most_common(1)
    if count == len(written):
        return {"*": json.loads(common)}
    at: dict[str, Any] = {"*": json.loads(common)}
    for key in sorted(written):
        if written[key] != common:
            at[key] = shapes[key]
    return at


def spread(value: Any, name: str, groups: Mapping[str, Sequence[str]]) -> Any:
    """The table with each key of ``name`` repeated for every member of the group it stands for."""
    if not isinstance(value, dict) or name not in value["by"]:
        return value
    depth = value["by"].index(name)

    def down(at: Any, level: int) -> Any:
        if level:
            return {key: down(part, level - 1) for key, part in at.items()}
        out = {"*": at["*"]}
        for key, part in at.items():
            if key != "*":
                out.update(dict.fromkeys(groups[key], part))
        for key, members in groups.items():  # a group whose own key was left out is "*"
            if key not in at:
                out.update({m: at["*"] for m in members if m in out})
        return dict(sorted(out.items()))

    return {"by": value["by"], "at": down(value["at"], depth)}


def progressions(accepted: Sequence[int], last: int) -> list[list[int | None]]:
    """Whole numbers as ``[first, last, step]`` runs; ``last`` is None at the end of the probe.

    >>> progressions([8, 16, 24, 64], 1024)
    [[8, 24, 8], [64, 64, 1]]
    """
    runs: list[list[int | None]] = []
    i = 0
    while i < len(accepted):
        j = i + 1
        step = accepted[j] - accepted[i] if j < len(accepted) else 1
        while j < len(accepted) and accepted[j] - accepted[j - 1] == step:
            j += 1
        if j - i == 2:  # two numbers are no progression
            j, step = i + 1, 1
        end: int | None = accepted[j - 1]
        if end is not None and j - i > 2 and end + step > last:
            end = None
        runs.append([accepted[i], end, step])
        i = j
    return runs
