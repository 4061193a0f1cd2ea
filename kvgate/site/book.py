"""The book: everything the site shows, read and computed once a build."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kvgate.catalog.gpus import gpu
from kvgate.claims import Report, default_namespace, run
from kvgate.errors import Diagnostic
from kvgate.records.graph import LinkGraph
from kvgate.records.librarygraph import graph_of
from kvgate.records.lint import lint_library
from kvgate.records.loader import Library, load
from kvgate.records.record import Record

__all__ = ["Book", "read_book"]


@dataclass(frozen=True)
class Book:
    """Records, what their claims gave, and the links between them.

    ``found`` is what lint and the claims object to; a strict build stops on any of it.
    """

    library: Library
    reports: Mapping[str, Report]
    graph: LinkGraph
    found: tuple[Diagnostic, ...]

    @property
    def records(self) -> list[Record]:
        """Every record, worst first, then by title; withdrawn ones last."""
        rank = {name: i for i, name in enumerate(SEVERITIES)}
        gone = ("superseded", "withdrawn")
        return sorted(
            self.library.records.values(),
            key=lambda r: (r.front.status in gone, rank[r.front.severity], r.title.casefold()),
        )

    def by_concept(self) -> dict[str, list[Record]]:
        """Concepts that some record has, in the vocabulary's order."""
        found = self._by(lambda r: r.front.concepts)
        return {name: found[name] for name in self.library.vocabulary.concepts if name in found}

    def by_engine(self) -> dict[str, list[Record]]:
        """Engines and libraries that some record affects."""
        return dict(sorted(self._by(lambda r: {a.engine for a in r.front.affects}).items()))

    def by_severity(self) -> dict[str, list[Record]]:
        """Severities, worst first."""
        found = self._by(lambda r: [r.front.severity])
        return {name: found[name] for name in SEVERITIES if name in found}

    def by_gpu(self) -> dict[str, list[Record]]:
        """GPU generations (``sm_90``) that some record bites on, by capability."""
        found = self._by(generations)
        return dict(sorted(found.items(), key=lambda item: (len(item[0]), item[0])))

    def _by(self, key: object) -> dict[str, list[Record]]:
        found: dict[str, list[Record]] = defaultdict(list)
        for record in self.records:
            for name in key(record):  # type: ignore[operator]
                found[name].append(record)
        return found


SEVERITIES = ("blocks-start", "fails-later", "silently-wrong", "slower", "surprise")


def generations(record: Record) -> tuple[str, ...]:
    """The GPU generations a record bites on: those it names, else those of its hits' GPUs."""
    if record.front.gpus:
        return record.front.gpus
    names = dict.fromkeys(hit.on.gpu for hit in record.front.hits if hit.on.gpu)
    return tuple(dict.fromkeys(gpu(name).arch for name in names))


def read_book(folder: Path) -> Book:
    """Read the records of a folder, run their claims, check everything.

    Raises InputError when the folder can't be read or holds no record.
    """
    library = load(folder)
    namespace = default_namespace()
    reports = {r.id: run(r.claims, namespace) for r in library.records.values()}
    found = [*lint_library(library), *(d for r in reports.values() for d in r.diagnostics)]
    return Book(library, reports, graph_of(library), tuple(dict.fromkeys(found)))
