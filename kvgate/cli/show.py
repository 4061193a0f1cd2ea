"""``kvgate show``: one record in the terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from kvgate.records.record import Page, Record

__all__ = ["command", "page", "record_object"]


@click.command(short_help="Print one record.")
@click.argument("record_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="The record's front matter and sections.")
def command(record_id: str, as_json: bool) -> None:
    """Print the record of that ID (or alias): what happens, to whom, why and what to do."""
    from kvgate.records.one import find_page, find_record

    if as_json:
        record = find_record(record_id)
        click.echo(json.dumps(record_object(record), ensure_ascii=False, indent=2))
        return
    click.echo(page(*find_page(record_id)))


def record_object(record: Record) -> dict[str, Any]:
    """The front matter and the sections, as ``--json`` prints them."""
    front = record.front.model_dump(mode="json", exclude_none=True)
    sections = {s.title: s.body(record.page.text).strip() for s in record.page.sections}
    return {"schema_version": 1, **front, "path": record.path, "sections": sections}


def page(front: Mapping[str, Any], text: Page) -> str:
    """The record as text: the head, then the sections as they are written."""
    from kvgate.records.versions import Range

    head = [
        click.style(front["title"], bold=True),
        f"{front['id']}  {front['severity']}  {front['status']}",
    ]
    for a in front.get("affects") or ():
        ends = (a.get(name) for name in ("introduced", "fixed", "last_affected"))
        head.append(f"affects {Range(a['engine'], *ends)}")
    if front.get("reason"):
        head.append(f"{front['status']}: {front['reason']}")
    head += [f"{r['type']}: {r['id']}" for r in front.get("related") or ()]
    parts = ["\n".join(head)]
    for section in text.sections:
        body = section.body(text.text).strip()
        parts.append(f"{click.style(section.title, bold=True)}\n\n{body}")
    return "\n\n".join(parts)
