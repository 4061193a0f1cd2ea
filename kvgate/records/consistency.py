"""Keys of one front matter that contradict each other, judged on raw values.

Raw, because a model exists only when every field is right, and a reader wants all errors at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from packaging.version import Version

from kvgate.errors import InputError
from kvgate.records.versions import parse_version

__all__ = ["Fault", "contradictions"]


@dataclass(frozen=True, slots=True)
class Fault:
    """A contradiction at a path of the front matter; ``on_key`` means the key, not its value."""

    code: str
    path: tuple[str | int, ...]
    message: str
    hint: str
    on_key: bool = True


def contradictions(values: dict[str, Any]) -> Iterator[Fault]:
    """All contradictions of a front matter; values of a wrong type are left to the schema."""
    yield from _status(values)
    yield from _rule(values)
    yield from _ranges(values)
    yield from _doubles(values)


def _mappings(values: dict[str, Any], key: str) -> list[tuple[int, dict[str, Any]]]:
    items = values.get(key)
    if not isinstance(items, tuple):
        return []
    return [(i, item) for i, item in enumerate(items) if isinstance(item, dict)]


def _status(values: dict[str, Any]) -> Iterator[Fault]:
    status = values.get("status")
    successors = [i for i, r in _mappings(values, "related") if r.get("type") == "superseded-by"]
    if status in ("superseded", "withdrawn"):
        if "reason" not in values:
            yield Fault("KV126", ("status",), f"a {status} record needs its reason", "add reason:")
        if status == "superseded" and not successors:
            hint = "add {type: superseded-by, id: ...} to related"
            yield Fault("KV126", ("status",), "a superseded record needs its successor", hint)
        return
    if status not in ("draft", "active"):
        return
    if "reason" in values:
        hint = "reason is for superseded and withdrawn records"
        yield Fault("KV126", ("reason",), f"the record is {status} and gives a reason", hint)
    for index in successors:
        hint = "set status: superseded, or choose another type"
        at = ("related", index, "type")
        yield Fault("KV126", at, f"the record is {status} and names a successor", hint, False)
    if status == "active" and not values.get("verified"):
        hint = "add verified: with environment, version and date, or set status: draft"
        yield Fault("KV126", ("status",), "an active record was verified somewhere", hint)


def _rule(values: dict[str, Any]) -> Iterator[Fault]:
    cases = [key for key in ("hits", "misses") if values.get(key)]
    if "rule" in values:
        for key, why in (("hits", "report"), ("misses", "leave alone")):
            if key not in cases:
                hint = f"give a deployment that the rule must {why}"
                yield Fault("KV126", ("rule",), f"the rule has no {key}", hint)
    else:
        for key in cases:
            hint = "name the function that decides them, or remove them"
            yield Fault("KV126", (key,), f"there are {key} and no rule", hint)


def _version(value: Any) -> Version | None:
    try:
        return parse_version(value) if isinstance(value, str) else None
    except InputError:
        return None


def _ranges(values: dict[str, Any]) -> Iterator[Fault]:
    """Two ranges of one engine that share a version: one of them is wrong, or both are one."""
    seen: dict[Any, list[tuple[int, dict[str, Any]]]] = {}
    for index, item in _mappings(values, "affects"):
        engine = item.get("engine")
        if not isinstance(engine, str):
            continue
        for other_index, other in seen.setdefault(engine, []):
            if not (_before(item, other) or _before(other, item)):
                message = f"affects[{index + 1}] and affects[{other_index + 1}] overlap"
                yield Fault("KV137", ("affects", index), message, "merge them, or part them", False)
        seen[engine].append((index, item))


def _before(one: dict[str, Any], other: dict[str, Any]) -> bool:
    begin = _version(other.get("introduced"))
    if begin is None:
        return "introduced" in other  # unreadable: the schema's to say
    fixed, last = _version(one.get("fixed")), _version(one.get("last_affected"))
    return (fixed is not None and fixed <= begin) or (last is not None and last < begin)


def _doubles(values: dict[str, Any]) -> Iterator[Fault]:
    for key, name, code in (
        ("sources", "id", "KV304"),
        ("signatures", "text", "KV127"),
    ):
        seen: dict[str, int] = {}
        for index, item in _mappings(values, key):
            value = item.get(name)
            if not isinstance(value, str):
                continue
            if value in seen:
                message = f"{key}[{seen[value] + 1}] has this {name} already"
                yield Fault(code, (key, index, name), message, "remove or rename one", False)
            seen.setdefault(value, index)
    aliases = values.get("aliases")
    own = values.get("id")
    if isinstance(aliases, tuple) and isinstance(own, str) and own in aliases:
        at = ("aliases", aliases.index(own))
        yield Fault("KV127", at, "the record's own id is no alias", "remove it", False)
