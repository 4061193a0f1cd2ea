"""``kvgate search``: records by words, ids, flags or error text."""

from __future__ import annotations

import json

import click

__all__ = ["command"]


@click.command(short_help="Find records by words, ids or error text.")
@click.argument("text", nargs=-1, required=True)
@click.option(
    "--most", type=click.IntRange(1), default=10, show_default=True,
    help="How many to print.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The documented JSON object.")
def command(text: tuple[str, ...], most: int, as_json: bool) -> None:
    """Find records by TEXT: words, an id, a flag, or an error line pasted whole."""
    from kvgate.records.loader import load
    from kvgate.records.search import search

    found = search(load(), " ".join(text))[:most]
    if as_json:
        rows = [{"id": r.id, "title": r.title, "score": round(score, 3)} for r, score in found]
        click.echo(json.dumps({"schema_version": 1, "results": rows}, ensure_ascii=False, indent=2))
    else:
        for record, _ in found:
            click.echo(f"{click.style(record.id, bold=True)}\n    {record.title}")
        if not found:
            click.echo("no record fits; the log itself may: kvgate diagnose FILE", err=True)
    raise SystemExit(0)
