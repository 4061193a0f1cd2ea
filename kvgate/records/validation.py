"""A front matter's tree against the schema: pydantic's errors in our words, at line and column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from kvgate.errors import Diagnostic, Place, nearest
from kvgate.records import yaml
from kvgate.records.consistency import contradictions
from kvgate.records.schema import FrontMatter

__all__ = ["at", "models", "validate"]


def validate(
    tree: yaml.Node, values: dict[str, Any], path: str
) -> tuple[FrontMatter | None, list[Diagnostic]]:
    """The model of a front matter, None where it has faults, and the faults.

    ``values`` are the tree's, as `kvgate.records.yaml.Node.value` gives them.
    """
    found = list(_nothings(tree, path))
    model: FrontMatter | None = None
    try:
        model = FrontMatter.model_validate(values)
    except ValidationError as error:
        for item in error.errors(include_url=False):
            found.extend(_explain(item, tree, path))
    for fault in contradictions(values):
        node = tree.key(fault.path) if fault.on_key else tree.at(fault.path)
        found.append(at(path, node, fault.code, fault.message, fault.hint))
    return (None if found else model), found


def at(path: str, node: yaml.Node, code: str, message: str, hint: str) -> Diagnostic:
    """A finding at a value of the front matter."""
    return Diagnostic(code, Place(path, node.line, node.column), message, hint, node.end_column)


def _nothings(node: yaml.Node, path: str) -> Iterator[Diagnostic]:
    """Keys and list items without a value: a forgotten value must not read as "none"."""
    if isinstance(node.data, list):
        for item in node.data:
            if _is_nothing(item):
                yield at(path, item, "KV124", "the list has an empty item", "fill or remove it")
            yield from _nothings(item, path)
    elif isinstance(node.data, dict):
        for name, (key, item) in node.data.items():
            if _is_nothing(item):
                yield at(path, key, "KV124", f"{name} has no value", "fill it or remove the key")
            yield from _nothings(item, path)


def _is_nothing(node: yaml.Node) -> bool:
    return isinstance(node.data, str) and not node.broken and node.value() is None


def _explain(item: Mapping[str, Any], tree: yaml.Node, path: str) -> Iterator[Diagnostic]:
    """One pydantic error in our words; none where the value was already complained of."""
    where: yaml.Path = tuple(item["loc"])
    kind, node = item["type"], tree.at(where)
    if kind == "extra_forbidden":
        key = tree.key(where)
        known = models().get(_names(where[:-1]), FrontMatter).model_fields
        yield at(path, key, "KV121", f"unknown key {where[-1]!r}", nearest(str(where[-1]), known))
        return
    if kind == "missing":
        holder = tree.at(where[:-1])
        if not holder.broken:
            of = f" in {_shown(where[:-1])}" if len(where) > 1 else ""
            about = _about(where)
            yield at(path, holder, "KV122", f"the key {where[-1]!r} is missing{of}", about)
        return
    if node.broken or _is_nothing(node):
        return
    code, message, hint = _words(kind, item, node, where)
    yield at(path, node, code, message, hint)


def _words(
    kind: str, item: Mapping[str, Any], node: yaml.Node, where: yaml.Path
) -> tuple[str, str, str]:
    name, given = _shown(where), _given(node)
    context = item.get("ctx") or {}
    if kind.startswith("KV"):
        return kind, f"{name}: {context['says']}" if where else context["says"], context["hint"]
    if kind == "literal_error":
        allowed = _allowed(where)
        hint = nearest(str(item["input"]), allowed) if allowed else f"one of {context['expected']}"
        return "KV123", f"{name} can't be {given}", hint
    if kind == "string_type":
        quotable = isinstance(node.data, str)
        hint = f'put it in quotes: "{node.data}"' if quotable else "write one text here"
        return "KV124", f"{name} must be a text, and this is {given}", hint
    if kind in ("tuple_type", "list_type"):
        return "KV124", f"{name} must be a list, and this is {given}", "write [one, two] or - items"
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return "KV124", f"{name} must be a mapping, and this is {given}", "write key: value"
    if kind == "string_pattern_mismatch":
        return "KV125", f"{name} can't be {given}", _PATTERNS.get(_names(where)[-1], _about(where))
    if kind in ("string_too_short", "string_too_long", "too_short", "too_long"):
        least, most = context.get("min_length"), context.get("max_length")
        bound = f"at least {least}" if kind.endswith("short") else f"at most {most}"
        unit = "entries" if kind.startswith("too") else "characters"
        return "KV127", f"{name} must have {bound} {unit}", _about(where)
    return "KV124", f"{name} can't be {given}: {item['msg']}", _about(where)


_SLUG = "small letters and digits, with single dashes between them"
_PATTERNS = {
    "id": _SLUG,
    "also": _SLUG,
    "concepts": _SLUG,
    "rule": "the name of a function: small letters, digits, and _ between them",
    "url": "a whole address that begins with https://",
    "file": "a path below the records' folder, with / and without spaces",
    "aliases": "a name without [, ], | and #",
}


def _given(node: yaml.Node) -> str:
    if isinstance(node.data, list):
        return "a list"
    if isinstance(node.data, dict):
        return "a mapping"
    value = node.value()
    if isinstance(value, bool):
        return f"the truth value {node.data}"
    if isinstance(value, int | float):
        return f"the number {node.data}"
    return repr(node.data if len(node.data) < 80 else node.data[:77] + "...")


def _names(where: yaml.Path) -> tuple[str, ...]:
    return tuple(step for step in where if isinstance(step, str))


def _shown(where: yaml.Path) -> str:
    """``hits[0].on.gpu``; counted from 1, as people count."""
    text = ""
    for step in where:
        text += f"[{step + 1}]" if isinstance(step, int) else f".{step}" if text else step
    return text or "the front matter"


@cache
def models() -> dict[tuple[str, ...], type[BaseModel]]:
    """The model at each path of keys, list indices left out."""
    found: dict[tuple[str, ...], type[BaseModel]] = {}

    def visit(names: tuple[str, ...], model: type[BaseModel]) -> None:
        found[names] = model
        for name, info in model.model_fields.items():
            for inner in _parts(info.annotation):
                if isinstance(inner, type) and issubclass(inner, BaseModel):
                    visit((*names, name), inner)

    visit((), FrontMatter)
    return found


def _parts(annotation: Any) -> Iterator[Any]:
    yield annotation
    for part in get_args(annotation):
        yield from _parts(part)


def _field(where: yaml.Path) -> Any:
    names = _names(where)
    model = models().get(names[:-1]) if names else None
    return model.model_fields.get(names[-1]) if model else None


def _about(where: yaml.Path) -> str:
    field = _field(where)
    return (field.description or "") if field else ""


def _allowed(where: yaml.Path) -> list[str]:
    field = _field(where)
    return [str(a) for a in _parts(field.annotation) if isinstance(a, str | int)] if field else []
