"""Released models: which the catalogue holds, and each one's entry.

An entry is a file ``models/<org>--<name>.json``, written by ``scripts/add_model.py`` from the
model's ``config.json``; ``models/index.json`` lists them all with their other names.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from kvgate.catalog.resource import read
from kvgate.errors import InputError, nearest

__all__ = ["entry", "find", "models"]


@cache
def models() -> tuple[str, ...]:
    """The ids of all models, in alphabetical order."""
    return tuple(_index())


def find(name: str) -> str:
    """The id that a name stands for. Raises InputError where there is none, or more than one."""
    asked = name.strip().casefold().strip("/")
    if "://" in asked:
        asked = "/".join(asked.split("/")[-2:])
    by_name = _names()
    found = by_name.get(asked)
    if found is None:
        raise InputError(
            f"{name!r} is not in the catalogue of models",
            hint=f"{nearest(name, models())} Or pass the path of a config.json or of its folder",
        )
    if len(found) > 1:
        raise InputError(f"{name!r} names several models", hint=f"say which: {', '.join(found)}")
    return found[0]


@cache
def entry(model: str) -> dict[str, Any]:
    """The entry of one id (as `models` spells it), as the script wrote it."""
    found: dict[str, Any] = json.loads(read("models", f"{model.replace('/', '--')}.json"))
    return found


@cache
def _index() -> dict[str, list[str]]:
    index: dict[str, list[str]] = json.loads(read("models", "index.json"))["models"]
    return index


@cache
def _names() -> dict[str, list[str]]:
    """Folded names: the full id, the id without its organisation, and the listed aliases."""
    names: dict[str, list[str]] = {}
    for model, aliases in _index().items():
        for name in {model, model.rpartition("/")[2], *aliases}:
            names.setdefault(name.casefold(), []).append(model)
    return names
