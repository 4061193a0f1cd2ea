"""Who is who in a folder of records: ids, aliases, the register, files that records name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kvgate.errors import Diagnostic, Place, nearest
from kvgate.records import register
from kvgate.records.loader import Library
from kvgate.records.record import Draft, Record

__all__ = ["check"]


def check(library: Library) -> Iterator[Diagnostic]:
    """What is wrong with the names of a folder's records."""
    holders: dict[str, Draft] = {}
    for draft in library.drafts:
        name = draft.value("id")
        if isinstance(name, str) and (name not in holders or name == Path(draft.path).stem):
            holders[name] = draft
    for draft in library.drafts:
        yield from _own_name(draft, holders)
        yield from _unregistered(draft, library)
    yield from _lost(library, holders)
    for record in library.records.values():
        yield from _deployments(record, library.folder)


def _own_name(draft: Draft, holders: dict[str, Draft]) -> Iterator[Diagnostic]:
    name, stem = draft.value("id"), Path(draft.path).stem
    if not isinstance(name, str):
        return
    if name != stem:
        hint = f"rename the file to {name}.md, or write id: {stem}"
        message = f"the id {name!r} is not the file's name"
        yield Diagnostic("KV131", draft.place("id"), message, hint)
    if holders[name] is not draft:
        message = f"the id {name!r} is that of {holders[name].path} as well"
        hint = "an id belongs to one record for ever; choose another"
        yield Diagnostic("KV132", draft.place("id"), message, hint)


def _lost(library: Library, holders: dict[str, Draft]) -> Iterator[Diagnostic]:
    """Ids of the register that no record answers to any more."""
    known = {*holders, *(Path(draft.path).stem for draft in library.drafts)}
    for record in library.records.values():
        known.update(record.front.aliases)
    path = (library.folder / register.FILE).as_posix()
    for name, line in library.register.items():
        if name not in known:
            hint = (
                f"bring {name}.md back with status: withdrawn and its reason, or give the record "
                "that took its place this alias; an id that was never merged leaves the register"
            )
            message = f"the record {name!r} was published and is gone"
            near = nearest(name, known) if known else ""
            hint = f"{hint} ({near})" if near.startswith("did") else hint
            yield Diagnostic("KV135", Place(path, line), message, hint)


def _unregistered(draft: Draft, library: Library) -> Iterator[Diagnostic]:
    """A record that the folder's register doesn't hold: typed by hand, or a run was cut off."""
    name = draft.value("id")
    if library.register and name == Path(draft.path).stem and name not in library.register:
        message = f"the id {name!r} is not in {register.FILE}"
        hint = f"add the line {name} to {register.FILE}; `kvgate new` does so by itself"
        yield Diagnostic("KV139", draft.place("id"), message, hint)


def _deployments(record: Record, folder: Path) -> Iterator[Diagnostic]:
    """Files that hits and misses name: each is there, below the folder."""
    root = folder.resolve()
    for key in ("hits", "misses"):
        for index, case in enumerate(getattr(record.front, key)):
            if case.file is None:
                continue
            place = record.place(key, index, "file")
            target = folder / case.file
            try:
                inside = target.resolve().is_relative_to(root)
                there = target.is_file()
            except (OSError, RuntimeError):
                inside = there = False
            if not there or not inside:
                why = "there is no such file" if inside else "it lies outside the records' folder"
                hint = "the path counts from the folder of the records"
                yield Diagnostic("KV138", place, f"{case.file}: {why}", hint)
