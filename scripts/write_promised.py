"""Add to tests/golden/promised.json what is public today; what stands there already stays.

The tests fail where something promised has gone: a name or parameter of Python, a command or
option, a code, a key of JSON. Run this before a release, so that what it brings is promised from
then on. What may go at last (docs/explanation/promises.md says when) is taken out by hand.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

import kvgate
from kvgate.cli.commands import cli
from kvgate.records.codes import codes

__all__ = ["promised"]

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "tests" / "golden" / "promised.json"


def promised() -> dict[str, list[str]]:
    """Everything public, as words by kind, each kind in alphabetical order."""
    schemas = ("cli", "api", "record")
    return {
        "python": sorted(_python()),
        "commands": sorted(_commands()),
        "codes": sorted(codes()),
        **{f"{name}.schema.json": sorted(set(_keys(name))) for name in schemas},
    }


def _python() -> Iterator[str]:
    for name in kvgate.__all__:
        yield name
        found = getattr(kvgate, name)
        if callable(found):
            yield from (f"{name}({p})" for p in inspect.signature(found).parameters)


def _commands() -> Iterator[str]:
    context = click.Context(cli, **cli.context_settings)
    for name in cli.list_commands(context):
        yield name
        command = cli.get_command(context, name)
        assert command is not None
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                yield from (f"{name} {word}" for word in parameter.opts)


def _keys(name: str) -> Iterable[str]:
    path = ROOT / "docs" / "schema" / f"{name}.schema.json"
    schema = json.loads(path.read_text(encoding="utf-8"))
    yield from _within(schema, "")
    for definition, shape in schema["$defs"].items():
        yield from _within(shape, definition)


def _within(shape: Any, above: str) -> Iterator[str]:
    for key, value in shape.get("properties", {}).items():
        here = f"{above}.{key}".lstrip(".")
        yield here
        for inside in (value, value.get("items", {}), *value.get("anyOf", ())):
            if isinstance(inside, dict):
                yield from _within(inside, here)


def main() -> int:
    """Write the file."""
    kept = json.loads(TARGET.read_text(encoding="utf-8")) if TARGET.is_file() else {}
    words = {kind: sorted({*kept.get(kind, ()), *today}) for kind, today in promised().items()}
    TARGET.write_text(json.dumps(words, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
