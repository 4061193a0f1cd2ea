"""Digests of what is typed or written into the catalogue, entry by entry.

vLLM's entries have digests of their own, which their script writes; these are of everything else:
the tables typed by hand (GPUs, KV formats, kernels, hand-off, images, flags, engines' rules), the
models, and SGLang's entries.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

__all__ = ["CATALOGUE", "digests_of", "leaves", "read_catalogue"]

CATALOGUE = Path(str(files("kvgate.catalog")))
_NAMES = ("name", "id", "flag", "dest", "image")


def read_catalogue() -> dict[str, Any]:
    """Every file's data by its path below the catalogue, vLLM's own entries left out."""
    found: dict[str, Any] = {}
    for path in sorted([*CATALOGUE.rglob("*.toml"), *CATALOGUE.rglob("*.json")]):
        name = path.relative_to(CATALOGUE).as_posix()
        if name.startswith("engines/vllm/"):
            continue
        text = path.read_text(encoding="utf-8")
        found[name] = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    return found


def digests_of(name: str, data: Any) -> dict[str, str]:
    """A digest for each entry of a file: each table of a list of tables, each key of the rest.

    A model is one entry, and so is an engine's release.
    """
    if name.startswith(("models/", "engines/")):
        return {f"cells {name}": _digest(data)}
    found = {}
    for key, value in data.items():
        rows = value if isinstance(value, list) and value and isinstance(value[0], dict) else None
        for number, row in enumerate(rows if rows is not None else [value]):
            title = ""
            if rows is not None:
                named = next((str(row[n]) for n in _NAMES if n in row), "")
                title = f" {number} {named}".rstrip()
            found[f"cells {name} {key}{title}"] = _digest(row)
    return found


def _digest(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every cell: whatever is no table and no list, and every empty list."""
    inside: Any = ()
    if isinstance(value, dict):
        inside = value.items()
    elif isinstance(value, list):
        inside = enumerate(value)
    if not inside or not value:
        yield path
    for key, inner in inside if value else ():
        yield from leaves(inner, (*path, key))
