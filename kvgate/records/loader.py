"""A folder of records, read: the records by id, and what is wrong with each file on its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kvgate.errors import Diagnostic, InputError, Place
from kvgate.records import file, home, register, vocabulary
from kvgate.records.record import Draft, Record, read_record
from kvgate.records.resolver import Entry, Resolver
from kvgate.records.vocabulary import Vocabulary

if TYPE_CHECKING:
    from kvgate.records.graph import LinkGraph

__all__ = ["Library", "load", "vocabulary_of"]

NOT_RECORDS = frozenset({"README.md"})
"""Markdown files that may stand in a folder of records."""


@dataclass(frozen=True)
class Library:
    """The records of a folder.

    ``drafts`` are its files in alphabetical order, ``records`` those that keep to the schema by
    id; of two files with one id the one named by it counts. ``register`` gives each published id
    its line, and is empty where the folder keeps none.
    """

    folder: Path
    drafts: tuple[Draft, ...]
    records: dict[str, Record]
    vocabulary: Vocabulary
    register: dict[str, int]

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What is wrong with files and front matters; `kvgate.records.lint` finds the rest."""
        return tuple(d for draft in self.drafts for d in draft.found)

    @cached_property
    def resolver(self) -> Resolver:
        """Who answers to the name in a wiki-link; a page's address is its file's."""
        return Resolver(self.entries())

    def entries(self) -> Iterator[Entry]:
        """The records as pages that a wiki-link can name."""
        for record in self.records.values():
            yield Entry(
                id=record.id,
                title=record.title,
                url=f"{record.id}.md",
                aliases=record.front.aliases,
                headings=record.page.scan.headings,
                status=record.front.status,
            )

    @cached_property
    def graph(self) -> LinkGraph:
        """The records and how they lead to each other."""
        from kvgate.records.librarygraph import graph_of  # it stands on this module

        return graph_of(self)

    def find(self, name: str) -> Record:
        """The record of that id or alias, whatever its letter case.

        Raises InputError where there is none, with the nearest, or where several answer to it.
        """
        found = self.resolver.resolve(name)
        if found.entry is None:
            raise InputError(found.message, hint=found.hint)
        return self.records[found.entry.id]


def load(folder: Path | str | None = None) -> Library:
    """The records of a folder, or kvgate's own.

    Every ``*.md`` of the folder is read, ``README.md`` apart; folders in it are not. The folder's
    ``concepts.toml`` is its vocabulary, kvgate's own where it has none. Raises InputError where
    there is no such folder, where it holds no record, or where vocabulary or register can't be
    read; what is wrong with a record is in its draft.
    """
    where = Path(folder) if folder is not None else home.records_home()
    return read_folder(where, _files(where))


def read_folder(folder: Path, files: Iterable[Path]) -> Library:
    """The given files as the records of a folder; see `load`."""
    drafts = tuple(_draft(path, folder) for path in files)
    return Library(
        folder=folder,
        drafts=drafts,
        records=_by_id(drafts),
        vocabulary=vocabulary_of(folder),
        register=register.read_register(folder / register.FILE),
    )


def _files(folder: Path) -> list[Path]:
    try:
        names = sorted(p.name for p in folder.iterdir() if p.suffix == ".md")
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(
            f"the records can't be read: {why}",
            hint="name a folder that holds records, one Markdown file each",
            place=Place(folder.as_posix()),
        ) from None
    names = [name for name in names if name not in NOT_RECORDS]
    if not names:
        raise InputError(
            "the folder holds no record",
            hint="a record is a file <id>.md directly in it",
            place=Place(folder.as_posix()),
        )
    return [folder / name for name in names]


def _draft(path: Path, folder: Path) -> Draft:
    shown = path.as_posix()
    text = file.read(path, folder, shown)
    if isinstance(text, Diagnostic):
        return Draft(shown, (text,))
    return read_record(text, shown)


def _by_id(drafts: Iterable[Draft]) -> dict[str, Record]:
    found: dict[str, Record] = {}
    for draft in drafts:
        record = draft.record
        if record and (record.id not in found or Path(draft.path).stem == record.id):
            found[record.id] = record
    return found


def vocabulary_of(folder: Path) -> Vocabulary:
    """The words that records of a folder may use: its own list, or kvgate's where it has none.

    Raises InputError where the list can't be read.
    """
    own = folder / vocabulary.FILE
    return vocabulary.read_vocabulary(own if own.is_file() else home.records_home() / own.name)
