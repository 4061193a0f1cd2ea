"""The footnotes of a record: what each claim computed and what each source said, as Markdown."""

from __future__ import annotations

import re

from kvgate.claims import Report, Result
from kvgate.records.record import Record
from kvgate.records.schema import Source

__all__ = ["code", "footnotes"]

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|!])")


def footnotes(record: Record, report: Report) -> str:
    """A definition for every claim and source of the record that its text cites."""
    cited = dict.fromkeys(note.name for note in record.page.footnotes)
    named = report.by_name
    sources = {source.id: source for source in record.front.sources}
    lines = []
    for name in cited:
        if name in named:
            lines.append(f"[^{name}]: {_claim(named[name])}")
        elif name in sources:
            lines.append(f"[^{name}]: {_source(sources[name])}")
    return "\n\n".join(lines)


def _claim(result: Result) -> str:
    example = result.example
    mark = {"passed": "Computed", "failed": "Moved", "error": "Not computed"}.get(
        result.outcome, "Not run"
    )
    value = " ".join((result.got or example.want).split())
    return (
        f"**{mark}** at line {example.line}: {code(_expression(example.code))} gives {code(value)}"
    )


def _expression(source: str) -> str:
    return " ".join(line.split("# claim:")[0].strip() for line in source.splitlines()).strip()


def _source(source: Source) -> str:
    where = f"[{escape(source.id)}]({source.url})"
    return f"**Read** in {where} ({escape(source.at)}, {source.seen}): {escape(source.says)}"


def escape(text: str) -> str:
    """Plain text as Markdown that shows it letter for letter."""
    return _SPECIAL.sub(r"\\\1", text)


def code(text: str) -> str:
    """A code span, whatever backticks the text holds."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") or not text.strip() else ""
    return f"{fence}{pad}{text}{pad}{fence}"
