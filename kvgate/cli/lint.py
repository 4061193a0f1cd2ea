"""``kvgate lint``: what is wrong with records, and what to do."""

from __future__ import annotations

from pathlib import Path

import click

from kvgate.cli.findings import FORMATS, Format, render

__all__ = ["command"]


@click.command(short_help="Check records: schema, links, evidence.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
def command(paths: tuple[Path, ...], form: Format) -> None:
    """Check records: schema, links, graph, evidence and the shape of their claims.

    PATHS are folders of records or single records; kvgate's own without any. Nothing is run: the
    claims are what `kvgate claims` runs.
    """
    from kvgate.records.lint import lint
    from kvgate.rules.registry import rules

    found = lint(paths, rules=rules())
    text = render(found, form)
    if text:
        click.echo(text)
    if form == "text":
        click.echo(f"{len(found)} findings" if found else "no findings", err=True)
    raise SystemExit(1 if found else 0)
