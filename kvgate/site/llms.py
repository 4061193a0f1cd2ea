"""The site as a list of pages with their point: what language models are given to read."""

from __future__ import annotations

import re

from kvgate.site.addresses import Addresses
from kvgate.site.book import GONE, SEVERITIES, Book
from kvgate.site.record_page import path_of

__all__ = ["llms"]

# What would be a link, a picture or an element. Code and emphasis may stay what they look like.
_MARKS = re.compile(r"[\\\[\]]")
_ENTITY = re.compile(r"&(?=#?\w+;)")


def llms(book: Book, addresses: Addresses, *, title: str, description: str) -> str:
    """The text of llms.txt: the records by severity, each with a summary, then the data."""
    lines = [f"# {title}", ""]
    if description:
        lines += [f"> {description}", ""]
    for name, means in SEVERITIES.items():
        records = [r for r in book.by_severity.get(name, ()) if r.front.status not in GONE]
        if not records:
            continue
        lines += [f"## {name.replace('-', ' ').capitalize()}", "", means, ""]
        for record in records:
            address = f"{addresses.base}{path_of(record.id)}"
            said = _escaped(book.summaries[record.id])
            lines.append(f"- [{_escaped(record.title)}]({address}): {said}")
        lines.append("")
    lines += ["## Data", ""]
    for path, what in (
        ("api/v1/gotchas.json", "every record in short, with its signatures"),
        ("api/v1/graph.json", "the link graph: records, wiki-links and typed relations"),
        ("feed.xml", "Atom, those last verified first"),
    ):
        lines.append(f"- [{path}]({addresses.base}{path}): {what}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    """The text as Markdown that shows it: no link, picture or element of its own."""
    return _MARKS.sub(r"\\\g<0>", _ENTITY.sub("&amp;", text).replace("<", "&lt;"))
