"""``kvgate show``: one record in the terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from kvgate.records.record import Record

__all__ = ["command", "page", "record_object"]


@click.command(short_help="Print one record.")
@click.argument("record_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="The record's front matter and sections.")
def command(record_id: str, as_json: bool) -> None:
    """Print the record of that ID (or alias): what happens, to whom, why and what to do."""
    from kvgate.records.one import find_record

    record = find_record(record_id)
    if as_json:
        click.echo(json.dumps(record_object(record), ensure_ascii=False, indent=2))
        return
    click.echo(page(record))


def record_object(record: Record) -> dict[str, Any]:
    """The front matter and the sections, as ``--json`` prints them."""
    front = record.front.model_dump(mode="json", exclude_none=True)
    sections = {s.title: s.body(record.page.text).strip() for s in record.page.sections}
    return {"schema_version": 1, **front, "path": record.path, "sections": sections}


def page(record: Record) -> str:
    """The record as text: the head, then the sections as they are written."""
    front = record.front
    head = [click.style(front.title, bold=True), f"{front.id}  {front.severity}  {front.status}"]
    head += [f"affects {r}" for r in front.ranges]
    if front.related:
        head += [f"{r.type}: {r.id}" for r in front.related]
    parts = ["\n".join(head)]
    for section in record.page.sections:
        body = section.body(record.page.text).strip()
        parts.append(f"{click.style(section.title, bold=True)}\n\n{body}")
    return "\n\n".join(parts)
