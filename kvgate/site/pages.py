"""The pages that exist only on the site: one a record, and the indexes over them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kvgate.catalog.gpus import gpus
from kvgate.records.record import Record
from kvgate.site.addresses import Addresses
from kvgate.site.book import GONE, SEVERITIES, Book
from kvgate.site.footnotes import escape, notes, references
from kvgate.site.fragments import fragment
from kvgate.site.map_page import map_page
from kvgate.site.record_page import path_of
from kvgate.site.virtual import To, Virtual

__all__ = ["Pages"]


_CONCEPTS = "What a record is about. A record can stand under several; its page names all of them."
_ENGINES = "Whose releases a record affects. Its page says from which one, and which one mended it."
_GPUS = "The compute capabilities that a record bites on, each with the cards that have it."
_SEVERITY = "What happens to those who run into a record, worst first."


class Pages:
    """The virtual pages of a book; ``worker`` says whether the site answers in the reader's tab."""

    def __init__(
        self, book: Book, addresses: Addresses | None = None, *, worker: bool = False
    ) -> None:
        self.book = book
        self.addresses = addresses or Addresses()
        self.worker = worker
        self.notes = {r.id: notes(r, book.reports[r.id]) for r in book.records}

    def virtual(self) -> Iterator[tuple[str, str]]:
        """(path below the docs folder, Markdown that any renderer takes) of every page."""
        for page in self.all():
            yield page.path, self.written(page.record) if page.record else page.markdown

    def written(self, record: Record) -> str:
        """A record with its evidence as one Markdown text."""
        found = self.notes[record.id]
        lines = [f"[^{note.name}]: {note.markdown}" for note in found]
        return "\n\n".join([_text(record), *lines]) + "\n"

    def all(self) -> Iterator[Virtual]:
        """Every page: the records, the indexes over them, the signatures, the map, the finder."""
        yield self._gotchas()
        for record in self.book.records:
            yield self._record(record)
        for index in self._indexes():
            yield from self._index(index)
        yield self._signatures()
        yield map_page(self.book, self.addresses)
        yield self._find()

    def _record(self, record: Record) -> Virtual:
        text = f"{_text(record)}\n\n{references(self.notes[record.id])}\n"
        summary = self.book.summaries[record.id]
        return Virtual(path_of(record.id), record.title, text, summary, record=record)

    def _gotchas(self) -> Virtual:
        path = "gotchas/index.md"
        groups = {
            name: [r for r in records if r.front.status not in GONE]
            for name, records in self.book.by_severity.items()
        }
        gone = [r for r in self.book.records if r.front.status in GONE]
        body = fragment(
            "gotchas.html.j2", groups=groups, gone=gone, say=SEVERITIES, to=self.to_from(path)
        )
        title = "Gotchas"
        return Virtual(path, title, f"# {title}\n", "Every gotcha, worst first.", body)

    def _indexes(self) -> Iterator[_Index]:
        book = self.book
        concepts = {n: c.meaning for n, c in book.library.vocabulary.concepts.items()}
        cards: dict[str, list[str]] = {}
        for card in gpus():
            cards.setdefault(card.arch, []).append(card.name)
        of_cards = {arch: ", ".join(names) for arch, names in cards.items()}
        yield _Index("concepts", "concept", "Concepts", book.by_concept, concepts, _CONCEPTS)
        yield _Index("engines", "engine", "Engines and libraries", book.by_engine, {}, _ENGINES)
        yield _Index("gpus", "gpu", "GPU generations", book.by_gpu, of_cards, _GPUS)
        yield _Index("severity", "severity", "Severity", book.by_severity, SEVERITIES, _SEVERITY)

    def _index(self, index: _Index) -> Iterator[Virtual]:
        path = f"{index.folder}/index.md"
        rows = [(n, index.say.get(n, ""), len(records)) for n, records in index.groups.items()]
        body = fragment("groups.html.j2", folder=index.folder, rows=rows, to=self.to_from(path))
        about = f"Gotchas by {index.title.lower()}."
        yield Virtual(path, index.title, f"# {index.title}\n\n{index.lead}\n", about, body)
        for name, records in index.groups.items():
            path = f"{index.folder}/{name}.md"
            to = self.to_from(path)
            body = fragment(
                "group.html.j2", records=records, to=to, gone=GONE, kind=index.kind, name=name,
                first=self._read_first(records) if index.kind == "concept" else (),
            )  # fmt: skip
            said = index.say.get(name, "")
            above = fragment("index_path.html.j2", index=index, to=to)
            text = f"{above}\n# {escape(name)}\n\n{escape(said)}\n"
            yield Virtual(path, name, text, said or f"Gotchas of {name}.", body)

    def _read_first(self, records: Sequence[Record]) -> list[tuple[Record, int]]:
        """What some of these records build on, in the order to read it, and how many do."""
        counts: dict[str, int] = {}
        for record in records:
            for other in self.book.graph.read_first(record.id):
                counts[other] = counts.get(other, 0) + 1
        # Each record's own come in their order, so that the first mention of one follows its own.
        known = self.book.library.records
        return [(known[i], n) for i, n in counts.items() if known[i].front.status not in GONE]

    def _signatures(self) -> Virtual:
        path = "signatures.md"
        records = [r for r in self.book.records if r.front.signatures]
        body = fragment("signatures.html.j2", records=records, to=self.to_from(path))
        about = "Error and log texts, each with the record it leads to."
        return Virtual(path, "Signatures", "# Signatures\n", about, body)

    def _find(self) -> Virtual:
        path = "find.md"
        body = fragment(
            "find.html.j2", kind="page", rows=10, worker=self.worker, to=self.to_from(path)
        )
        about = "Paste a log or an error text, and get the record it points to."
        title = "Find by an error text"
        return Virtual(path, title, f"# {title}\n", about, body, hide=("navigation",))

    def to_from(self, path: str) -> To:
        """Addresses as the page at ``path`` links to them."""
        return lambda target: self.addresses.between(path, target)


def _text(record: Record) -> str:
    body = record.page.body.strip("\n")
    return f"# {escape(record.title)}\n\n{body}"


@dataclass(frozen=True, slots=True)
class _Index:
    folder: str
    kind: str
    title: str
    groups: Mapping[str, Sequence[Record]]
    say: Mapping[str, str]
    lead: str
