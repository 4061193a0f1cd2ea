"""What to say of a flag that the release doesn't have: removed, newer, misspelt, or unknown."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from packaging.version import Version

from kvgate.catalog.engines import release, releases
from kvgate.catalog.flags import Flag, FlagTable, flags, history
from kvgate.deployment.problems import problem
from kvgate.errors import Diagnostic, Place, nearest

__all__ = ["Unknown", "unknown_flag", "was_flag"]


@dataclass(frozen=True, slots=True)
class Unknown:
    """The finding, the setting that was meant ("" where that isn't clear), and how another release
    declares the flag (None where none does)."""

    problem: Diagnostic
    dest: str = ""
    flag: Flag | None = None


def unknown_flag(name: str, tables: Sequence[FlagTable], place: Place) -> Unknown:
    """Why the first table has no such flag, and what to write instead."""
    table = tables[0]
    engine = table.engine
    label = f"{engine} {table.version}" if table.version is not None else engine
    dashed = "--" + name[2:].replace("_", "-") if name.startswith("--") else name
    for other in (dashed, name.replace("-", "_").replace("__", "--", 1)):
        near = next((f for t in tables if (f := t.find(other))), None)
        if near is not None and other != name:
            message = f"{engine} does not take {name}"
            code = "KV401" if table.complete else "KV411"
            return Unknown(problem(code, place, message, f"write {other}"), near.dest, near)
    known = history(engine, dashed) if table.version is not None else ()
    declared = flags(release(f"{engine}=={known[-1]}")).find(dashed) if known else None
    successor = _successors(engine).get(dashed)
    if successor is not None and not _still_there(successor, table, known):
        return _removed(dashed, label, known, successor, table, declared, place)
    if known and table.version is not None and table.complete:
        older = [v for v in known if v < table.version]
        if older:
            message = f"{dashed} is gone in {label}; the last release with it here is {older[-1]}"
            return Unknown(problem("KV402", place, message, _hint(dashed, table)), flag=declared)
        first = known[0]
        if table.note:
            message = f"{dashed} first stands in {engine} {first}; {table.note}"
            return Unknown(problem("KV411", place, message), _dest(declared), declared)
        message = f"{dashed} is newer than {label}: it came with {first} or shortly before"
        hint = f"upgrade to {engine} {first}, or take it away"
        return Unknown(problem("KV410", place, message, hint), _dest(declared), declared)
    if not table.complete:
        message = f"kvgate does not know {name} of {label}"
        return Unknown(problem("KV411", place, message, table.note), flag=declared)
    message, hint = f"{label} has no flag {name}", _hint(dashed, table)
    if table.note and table.version == releases(engine)[-1]:
        # Newer than all that kvgate holds: the flag may be newer too.
        return Unknown(problem("KV411", place, message, hint or table.note))
    return Unknown(problem("KV401", place, message, hint))


def was_flag(engine: str, name: str) -> bool:
    """Whether the name was a flag of the engine once, as far as kvgate knows."""
    return name in _successors(engine) or bool(history(engine, name))


def _removed(
    name: str,
    label: str,
    known: tuple[Version, ...],
    successor: Mapping[str, Any],
    table: FlagTable,
    declared: Flag | None,
    place: Place,
) -> Unknown:
    since = f" (by {successor['gone']})"
    use = str(successor["use"])
    renamed = table.find(use.split()[0]) if successor["kind"] == "renamed" else None
    hint = f"write {use}" if use.startswith("--") else f"instead: {use}"
    if table.version is None or not table.complete:
        message = f"{name} is gone in current releases{since}"
    else:
        message = f"{name} is gone in {label}{since}"
    found = problem("KV402", place, message, hint)
    return Unknown(found, _dest(renamed), declared or renamed)


def _still_there(
    successor: Mapping[str, Any], table: FlagTable, known: tuple[Version, ...]
) -> bool:
    """Whether the release that is asked about is older than the removal."""
    if not table.complete:
        return table.version is not None
    older = [v for v in known if table.version is not None and v < table.version]
    return not older and table.version is not None and table.version < Version(successor["gone"])


def _dest(flag: Flag | None) -> str:
    return flag.dest if flag is not None else ""


def _hint(name: str, table: FlagTable) -> str:
    return _near(name[:80], tuple(s for flag in table.flags() for s in flag.names))


@lru_cache(maxsize=256)
def _near(name: str, spellings: tuple[str, ...]) -> str:
    close = get_close_matches(name, spellings, n=3, cutoff=0.7)
    return nearest(name, close) if close else ""


@cache
def _successors(engine: str) -> Mapping[str, Mapping[str, Any]]:
    text = (files("kvgate.catalog") / "flags_successors.toml").read_text(encoding="utf-8")
    return {
        name: entry
        for entry in tomllib.loads(text)["flag"]
        if entry["engine"] == engine
        for name in entry["names"]
    }
