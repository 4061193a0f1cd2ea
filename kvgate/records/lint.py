"""The linter of records: schema, sections, evidence, claims, links, graph and signatures."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from kvgate.errors import Diagnostic, InputError, Place, nearest
from kvgate.records import body, draftgraph, evidence, identity, linklint, signatures
from kvgate.records.loader import Library, load, read_folder
from kvgate.records.record import Draft

__all__ = ["lint", "lint_library"]


def lint(
    paths: Sequence[Path | str] = (), *, rules: Collection[str] | None = None
) -> list[Diagnostic]:
    """Everything that is wrong with records, by path, line and column.

    ``paths`` are folders of records, or records; none means kvgate's own. A record is judged among
    the others of its folder. ``rules`` are the names of the rules that exist, where they are known.
    Raises InputError for a path that doesn't exist and for a folder without records.
    """
    found: list[Diagnostic] = []
    files: dict[Path, list[Path]] = {}
    for path in map(Path, paths):
        if path.is_dir() and path.suffix != ".md":
            found.extend(lint_library(load(path), rules=rules))
        elif path.exists() or path.is_symlink():
            files.setdefault(path.parent, []).append(path)
        else:
            hint = "name a folder of records, or a record's file"
            raise InputError("there is no such file", hint=hint, place=Place(path.as_posix()))
    for folder, wanted in files.items():
        found.extend(_of_files(folder, wanted, rules))
    if not paths:
        found.extend(lint_library(load(), rules=rules))
    return sorted(set(found), key=lambda d: (d.place, d.code, d.message))


def _of_files(
    folder: Path, wanted: list[Path], rules: Collection[str] | None
) -> Iterator[Diagnostic]:
    others = sorted(p for p in folder.glob("*.md") if p.name != "README.md")
    library = read_folder(folder, sorted({*others, *wanted}))
    names = {path.as_posix() for path in wanted}
    for diagnostic in lint_library(library, rules=rules):
        if diagnostic.place.path in names:
            yield diagnostic


def lint_library(library: Library, *, rules: Collection[str] | None = None) -> list[Diagnostic]:
    """Everything that is wrong with the records of a folder, by path, line and column."""
    found = [d for draft in library.drafts for d in _of_draft(draft, library, rules)]
    found.extend(identity.check(library))
    found.extend(signatures.check(library.records.values()))
    found.extend(_of_links(library))
    return sorted(set(found), key=lambda d: (d.place, d.code, d.message))


def _of_draft(
    draft: Draft, library: Library, rules: Collection[str] | None
) -> Iterator[Diagnostic]:
    yield from draft.found
    yield from _words(draft, library, rules)
    page = draft.page
    if page is None:
        return
    # A withdrawn record is a tombstone: its reason is all it must say.
    if draft.value("status") != "withdrawn":
        yield from body.check(page.sections, page.text, page.path, page.body_line)
    yield from page.scan.problems
    unclosed = {d.place.line for d in page.scan.problems if d.code == "KV223"}
    for problem in page.claims.problems:
        # Both floors see a fence that nobody closes; once is enough.
        if problem.code != "KV313" or problem.place.line not in unclosed:
            yield problem
    claims = {name: example.place for name, example in page.claims.claims.items()}
    yield from evidence.check(page.prose, page.path, claims, _sources(draft))


def _of_links(library: Library) -> Iterator[Diagnostic]:
    """What is wrong between the pages. A draft, or a broken page, may stand alone for now."""
    unfinished = {
        draft.path
        for draft in library.drafts
        if draft.record is None or draft.record.front.status == "draft"
    }
    for finding in linklint.check(draftgraph.graph_of_drafts(library)):
        if finding.code != "KV214" or finding.place.path not in unfinished:
            yield finding


def _sources(draft: Draft) -> evidence.Sources | None:
    """The names of the sources, also of a front matter with errors in it; None if it is no YAML."""
    if draft.values is None:
        return None
    given = draft.value("sources")
    names: dict[str, int] = {}
    for index, source in enumerate(given if isinstance(given, tuple) else ()):
        name = source.get("id") if isinstance(source, dict) else None
        if isinstance(name, str):
            names.setdefault(name, index)
    return evidence.Sources(names, lambda name: draft.place("sources", names[name], "id"))


def _words(draft: Draft, library: Library, rules: Collection[str] | None) -> Iterator[Diagnostic]:
    """Words that must be known: concepts and the rule."""
    concepts = draft.value("concepts")
    for index, name in enumerate(_texts(concepts)):
        if name not in library.vocabulary:
            hint = nearest(name, library.vocabulary.concepts)
            message = f"unknown concept {name!r}"
            yield Diagnostic("KV128", draft.place("concepts", index), message, hint)
    rule = draft.value("rule")
    if rules is not None and isinstance(rule, str) and rule not in rules:
        message = f"there is no rule {rule!r}"
        yield Diagnostic("KV155", draft.place("rule"), message, nearest(rule, rules))


def _texts(values: object) -> Iterable[str]:
    return [v if isinstance(v, str) else "" for v in values] if isinstance(values, tuple) else []
