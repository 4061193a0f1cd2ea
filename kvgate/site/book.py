"""The book: everything the site shows, read and computed once a build."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kvgate.catalog.gpus import gpu, gpus
from kvgate.claims import Report, default_namespace, nothing_ran, run
from kvgate.errors import Diagnostic
from kvgate.records.graph import LinkGraph
from kvgate.records.librarygraph import graph_of
from kvgate.records.lint import lint_library
from kvgate.records.loader import Library, load
from kvgate.records.record import Record
from kvgate.site.plain import first_paragraph, plain, shortened

__all__ = ["GONE", "SEVERITIES", "Book", "generations", "read_book"]

SEVERITIES = {
    "blocks-start": "The engine refuses to start.",
    "fails-later": "It starts, and a request or a long run fails.",
    "silently-wrong": "It runs, and answers get worse without a word.",
    "slower": "It runs slower than it could.",
    "surprise": "It does something else than was asked for.",
}
"""The severities, worst first, each with what it means."""

GONE = ("superseded", "withdrawn")


@dataclass(frozen=True)
class Book:
    """Records, what their claims gave, and the links between them.

    ``found`` is what lint and the claims object to; a strict build stops on any of it.
    """

    library: Library
    reports: Mapping[str, Report]
    graph: LinkGraph
    found: tuple[Diagnostic, ...]

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """Every record, worst first, then by title; those that no longer stand come last."""
        rank = {name: i for i, name in enumerate(SEVERITIES)}
        return tuple(
            sorted(
                self.library.records.values(),
                key=lambda r: (
                    r.front.status in GONE, rank[r.front.severity], r.title.casefold(), r.id,
                ),
            )
        )  # fmt: skip

    @cached_property
    def by_concept(self) -> dict[str, list[Record]]:
        """Concepts that some record has, in the vocabulary's order."""
        found = self._by(lambda r: r.front.concepts)
        return {name: found[name] for name in self.library.vocabulary.concepts if name in found}

    @cached_property
    def by_engine(self) -> dict[str, list[Record]]:
        """Engines and libraries that some record affects."""
        return dict(
            sorted(self._by(lambda r: dict.fromkeys(a.engine for a in r.front.affects)).items())
        )

    @cached_property
    def by_severity(self) -> dict[str, list[Record]]:
        """Severities, worst first."""
        found = self._by(lambda r: [r.front.severity])
        return {name: found[name] for name in SEVERITIES if name in found}

    @cached_property
    def by_gpu(self) -> dict[str, list[Record]]:
        """GPU generations (``sm_90``) that some record bites on, in the catalogue's order."""
        order = {name: i for i, name in enumerate(dict.fromkeys(g.arch for g in gpus()))}
        found = self._by(generations)
        return dict(sorted(found.items(), key=lambda item: (order.get(item[0], 999), item[0])))

    @cached_property
    def summaries(self) -> dict[str, str]:
        """Each record in a sentence or two of plain text: the beginning of its first section."""
        return {record.id: self._summary(record) for record in self.records}

    def title(self, record_id: str) -> str:
        """A record's title, or its id where there is no such record."""
        record = self.library.records.get(record_id)
        return record.title if record else record_id

    def _summary(self, record: Record) -> str:
        front = record.front
        if front.status == "withdrawn" and front.reason:
            return f"Withdrawn: {front.reason}"
        said = first_paragraph(record.page.section("Symptom") or record.page.body)
        text = plain(said, self.title)
        if text.endswith(":"):  # it leads to a list, which isn't here
            text = text[: text.rfind(". ") + 1] or f"{text[:-1]}."
        return shortened(text, 300)

    def _by(self, names: Callable[[Record], Iterable[str]]) -> dict[str, list[Record]]:
        found: dict[str, list[Record]] = defaultdict(list)
        for record in self.records:
            for name in names(record):
                found[name].append(record)
        return found


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
    idle = nothing_ran(reports.values(), path=folder.as_posix(), allow_none=True)
    if idle:
        found.append(idle)
    found = sorted(set(found), key=lambda d: (d.place, d.code, d.message))
    return Book(library, reports, graph_of(library), tuple(found))
