"""The front matter of a record, field by field, from the schema that records are read with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kvgate.records.published import record_schema

__all__ = ["FieldRow", "FieldTable", "field_tables"]


@dataclass(frozen=True, slots=True)
class FieldRow:
    """One key: whether it must be there, what it holds, in words, and what it is for."""

    name: str
    required: bool
    holds: str
    about: str


@dataclass(frozen=True, slots=True)
class FieldTable:
    """The keys of the front matter, or of one of the objects in it."""

    title: str
    about: str
    rows: tuple[FieldRow, ...]


def field_tables() -> list[FieldTable]:
    """The front matter first, then each object that stands in it, in the order they are met."""
    schema = record_schema()
    named = schema["$defs"]
    return [
        _table("Front matter", schema),
        *(_table(n, named[n]) for n in _referred(schema, named)),
    ]


def _referred(schema: dict[str, Any], definitions: dict[str, Any]) -> Iterator[str]:
    met: dict[str, None] = {}
    waiting = [schema]
    while waiting:
        for value in waiting.pop(0)["properties"].values():
            name = _reference(value)
            if name and name not in met:
                met[name] = None
                waiting.append(definitions[name])
    yield from met


def _reference(value: dict[str, Any]) -> str:
    target = value.get("$ref") or value.get("items", {}).get("$ref", "")
    return str(target).rpartition("/")[2]


def _table(title: str, schema: dict[str, Any]) -> FieldTable:
    required = schema.get("required", ())
    rows = tuple(
        FieldRow(name, name in required, _holds(value), value.get("description", ""))
        for name, value in schema["properties"].items()
    )
    return FieldTable(title, schema.get("description", ""), rows)


def _holds(value: dict[str, Any]) -> str:
    """What a value may be, in words."""
    if value.get("type") == "array":
        few = f" ({value['minItems']} to {value['maxItems']})" if "minItems" in value else ""
        return f"a list of {_plural(value['items'])}{few}"
    name = _reference(value)
    if name:
        return name
    if "const" in value:
        return str(value["const"])
    if "enum" in value:
        return ", ".join(map(str, value["enum"]))
    if value.get("format") == "date":
        return "a date, 2026-11-30"
    return {"number": "a number", "integer": "a whole number"}.get(value["type"], "a text")


def _plural(value: dict[str, Any]) -> str:
    return _reference(value) or {"string": "texts"}.get(value["type"], f"{value['type']}s")
