"""The footnotes of a record: what each claim computed, and what each source said."""

from __future__ import annotations

import re
from dataclasses import dataclass

from markupsafe import Markup

from kvgate.claims import Report, Result
from kvgate.records.record import Record
from kvgate.records.schema import Source

__all__ = ["Note", "code", "escape", "filled", "notes", "references"]

_SPECIAL = re.compile(r"([\\`*_{}\[\]#!])")
_ENTITIES = str.maketrans({c: f"&#{ord(c)};" for c in "&<>|~^"})
_VERDICTS = {"passed": "Computed", "failed": "Computed, and no longer so", "error": "Not computed"}
_PLACE = re.compile("\ue000(\\d+)\ue001")


@dataclass(frozen=True, slots=True)
class Note:
    """One footnote, as Markdown and as HTML that says the same."""

    name: str
    markdown: str
    html: str


def notes(record: Record, report: Report) -> list[Note]:
    """A note for every claim and source that the record's text cites, in the order it does."""
    named = report.by_name
    sources = {source.id: source for source in record.front.sources}
    found = []
    for name in dict.fromkeys(note.name for note in record.page.footnotes):
        if name in named:
            found.append(_of_claim(name, named[name]))
        elif name in sources:
            found.append(_of_source(sources[name]))
    return found


def references(found: list[Note]) -> str:
    """The definitions of the notes for the renderer, each with a mark where its HTML is to be.

    A note is finished HTML: to render it from Markdown would be a third of a page's time.
    """
    return "\n".join(f"[^{note.name}]: \ue000{i}\ue001" for i, note in enumerate(found))


def filled(html: str, found: list[Note]) -> str:
    """A page's HTML with the notes in the place of their marks."""

    def note(match: re.Match[str]) -> str:
        number = int(match[1])
        return found[number].html if number < len(found) else ""

    return _PLACE.sub(note, html)


def _of_claim(name: str, result: Result) -> Note:
    example = result.example
    verdict = _VERDICTS.get(result.outcome, "Not run")
    says = "gives" if result.outcome in ("passed", "failed") else "was to give"
    asked, value = " ".join(example.code.split()), " ".join((result.got or example.want).split())
    where = f"on line {example.line} of the record"
    return Note(
        name,
        f"**{verdict}.** {code(asked)} {says} {code(value)} ({where})",
        Markup(
            "<strong>{}.</strong> <code>{}</code> {} <code>{}</code> "
            '(<a href="#claim-{}">claim</a> {})'
        ).format(verdict, asked, says, value, name, where),
    )


def _of_source(source: Source) -> Note:
    at = f"{source.at}, seen {source.seen}"
    return Note(
        source.id,
        f"**Read** in [{escape(source.id)}](<{source.url}>) ({escape(at)}): {escape(source.says)}",
        Markup('<strong>Read</strong> in <a href="{}">{}</a> ({}): {}').format(
            source.url, source.id, at, source.says
        ),
    )


def escape(text: str) -> str:
    """Plain text as Markdown that shows it letter for letter.

    >>> escape("a_b & [c]")
    'a\\\\_b &#38; \\\\[c\\\\]'
    """
    return _SPECIAL.sub(r"\\\1", text).translate(_ENTITIES)


def code(text: str) -> str:
    """A code span, whatever backticks the text holds.

    >>> code("a"), code("`a`")
    ('`a`', '`` `a` ``')
    """
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}" if text else ""
