"""The pages that exist only on the site: one a record, and the indexes over them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from kvgate.catalog.gpus import gpus
from kvgate.records.record import Record
from kvgate.site.backlinks import backlinks
from kvgate.site.book import Book, generations
from kvgate.site.footnotes import code, escape, footnotes
from kvgate.site.fragments import fragment

__all__ = ["Pages"]

SEVERITY = {
    "blocks-start": "The engine refuses to start.",
    "fails-later": "It starts, and a request or a long run fails.",
    "silently-wrong": "It runs, and answers get worse without a word.",
    "slower": "It runs slower than it could.",
    "surprise": "It does something else than was asked for.",
}


class Pages:
    """Texts of the virtual pages of a book, and what stands around a record's text."""

    def __init__(self, book: Book, *, edit_base: str = "") -> None:
        self.book = book
        self.edit_base = edit_base

    def virtual(self) -> Iterator[tuple[str, str]]:
        """(path below the docs folder, Markdown) of every page that no file holds."""
        book = self.book
        yield "gotchas/index.md", self._all()
        for record in book.records:
            yield f"gotchas/{record.id}.md", self._record(record)
        for folder, title, groups, say in self._indexes():
            yield f"{folder}/index.md", _groups(title, groups, say)
            for name, records in groups.items():
                yield f"{folder}/{name}.md", _page(name, _list(records, ".."), say.get(name, ""))
        yield "signatures.md", self._signatures()

    def around(self, record: Record, html: str) -> str:
        """A record's rendered text between its head and what points to it."""
        front = record.front
        report = self.book.reports[record.id]
        values = {
            "record": record,
            "front": front,
            "report": report,
            "expected": sum(bool(e.want) for e in record.claims.examples),
            "generations": generations(record),
            "severity": SEVERITY[front.severity],
            "read_first": [self._short(i) for i in self.book.graph.read_first(record.id)],
            "related": self._related(record),
            "backlinks": backlinks(self.book.graph, record.id),
            "check": _check(record),
        }
        heading, found, rest = html.partition("</h1>")
        head = fragment("record_head.html.j2", **values)
        tail = fragment("record_tail.html.j2", **values)
        if not found:
            return head + html + tail
        return heading + found + head + rest + tail

    def _record(self, record: Record) -> str:
        meta = f"---\ntitle: {json.dumps(record.title)}\n---\n\n"
        body = record.page.body.strip()
        notes = footnotes(record, self.book.reports[record.id])
        return f"{meta}# {escape(record.title)}\n\n{body}\n\n{notes}\n"

    def _related(self, record: Record) -> dict[str, list[tuple[str, str]]]:
        found: dict[str, list[tuple[str, str]]] = {}
        for related in record.front.related:
            found.setdefault(related.type, []).append(self._short(related.id))
        return found

    def _short(self, record_id: str) -> tuple[str, str]:
        record = self.book.library.records.get(record_id)
        return record_id, record.title if record else record_id

    def _all(self) -> str:
        parts = [
            "# Gotchas\n",
            "By [concept](../concepts/index.md), [engine](../engines/index.md), "
            "[GPU generation](../gpus/index.md) or [severity](../severity/index.md); "
            "every [signature](../signatures.md) on one page.\n",
        ]
        for name, records in self.book.by_severity().items():
            parts.append(f"## {_title(name)}\n\n{SEVERITY[name]}\n\n{_list(records, '..')}\n")
        return "\n".join(parts)

    def _indexes(
        self,
    ) -> Iterator[tuple[str, str, Mapping[str, list[Record]], Mapping[str, str]]]:
        book = self.book
        concepts = {n: c.meaning for n, c in book.library.vocabulary.concepts.items()}
        cards: dict[str, list[str]] = {}
        for card in gpus():
            cards.setdefault(card.arch, []).append(card.name)
        yield "concepts", "Concepts", book.by_concept(), concepts
        yield "engines", "Engines", book.by_engine(), {}
        yield "gpus", "GPU generations", book.by_gpu(), {k: ", ".join(v) for k, v in cards.items()}
        yield "severity", "Severity", book.by_severity(), SEVERITY

    def _signatures(self) -> str:
        lines = [
            "# Signatures\n",
            "Error and log texts that lead to a record. `{int}`, `{word}` and `{*}` stand for what "
            "varies. With a log at hand, `kvgate diagnose FILE` does the looking.\n",
        ]
        for record in self.book.records:
            if record.front.signatures:
                lines.append(f"## {escape(record.title)}\n")
                lines.append(f"[{record.id}](gotchas/{record.id}.md)\n")
                lines += [f"- {code(s.text)}" for s in record.front.signatures]
                lines.append("")
        return "\n".join(lines)


def _check(record: Record) -> str:
    """A command line that asks kvgate about the record's first hit."""
    hit = next((h for h in record.front.hits if h.run), None)
    if hit is None or hit.run is None:
        return ""
    quote = "'" if '"' in hit.run and "'" not in hit.run else '"'
    text = hit.run.replace('"', '\\"') if quote == '"' else hit.run
    options = [
        f"--gpu '{hit.on.gpu}'" if hit.on.gpu else "",
        hit.on.engine and f"--engine {hit.on.engine}",
    ]
    return " ".join(["kvgate check", f"{quote}{text}{quote}", *(o for o in options if o)])


def _title(name: str) -> str:
    return escape(name.replace("-", " ")).capitalize()


def _list(records: Iterable[Record], up: str) -> str:
    lines = []
    for record in records:
        status = "" if record.front.status == "active" else f" ({record.front.status})"
        lines.append(f"- [{escape(record.title)}]({up}/gotchas/{record.id}.md){status}")
    return "\n".join(lines)


def _page(name: str, body: str, meaning: str) -> str:
    intro = f"{escape(meaning)}\n\n" if meaning else ""
    return f"# {escape(name)}\n\n{intro}{body}\n"


def _groups(title: str, groups: Mapping[str, list[Record]], say: Mapping[str, str]) -> str:
    lines = [f"# {title}\n", "| | | Records |", "|---|---|---:|"]
    for name, records in groups.items():
        lines.append(
            f"| [{escape(name)}]({name}.md) | {escape(say.get(name, ''))} | {len(records)} |"
        )
    return "\n".join(lines) + "\n"
