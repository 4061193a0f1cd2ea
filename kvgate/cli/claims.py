"""``kvgate claims``: run what records claim, show what moved, and rewrite it when told to."""

from __future__ import annotations

import difflib
from pathlib import Path

import click

from kvgate.claims.report import Report, nothing_ran
from kvgate.cli.collector import paused
from kvgate.cli.findings import FORMATS, Format, render
from kvgate.errors import Diagnostic
from kvgate.records.record import Record
from kvgate.units import counted

__all__ = ["command"]


@click.command(short_help="Run the claims of records.")
@click.argument("paths", nargs=-1)
@click.option("--fix", is_flag=True, help="Show the outputs that moved as a diff.")
@click.option("--write", is_flag=True, help="With --fix: rewrite them.")
@click.option("--allow-none", is_flag=True, help="Records that claim nothing are no failure.")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="text", show_default=True,
    help="How findings are printed.",
)  # fmt: skip
def command(paths: tuple[str, ...], fix: bool, write: bool, allow_none: bool, form: Format) -> None:
    """Run the claims of records: PATHS are files, folders, or ids of kvgate's own; all without any.

    Each expression is computed anew and compared with the page, and each rule is tried on the hits
    and misses of its record. A run in which nothing was compared is a failure; a record needs no
    claim, so --allow-none takes records that have none.
    """
    from kvgate.claims import default_namespace, run
    from kvgate.cli.trial import tried

    if write and not fix:
        raise click.UsageError("--write goes with --fix")
    namespace = default_namespace()
    with paused():
        records, found = _records(paths)
        reports = [(record, run(record.claims, namespace)) for record in records]
    found += [d for _, report in reports for d in report.diagnostics]
    where = paths[0] if paths else "gotchas"
    empty = nothing_ran((r for _, r in reports), path=where, allow_none=allow_none)
    if empty and not found:
        found.append(empty)
    found += [d for record in records for d in tried(record, Path(record.path).parent)]
    if fix:
        _fix(reports, write=write)
    text = render(sorted(set(found), key=lambda d: d.place), form)
    if text:
        click.echo(text)
    if form == "text":
        passed = sum(r.passed for _, r in reports)
        count = sum(bool(e.want) for r, _ in reports for e in r.claims.examples)
        many = counted(len(reports), "record")
        click.echo(f"{passed} of {count} claims hold, in {many}", err=True)
    raise SystemExit(1 if found else 0)


def _records(paths: tuple[str, ...]) -> tuple[list[Record], list[Diagnostic]]:
    """The records that the arguments name, and what is wrong with those that can't be read."""
    from kvgate.records.loader import load, read_folder

    if not paths:
        library = load()
        return list(library.records.values()), list(library.diagnostics)
    records: dict[str, Record] = {}
    found: list[Diagnostic] = []
    for name in paths:
        path = Path(name)
        if path.is_dir() and path.suffix != ".md":
            library = load(path)
        elif path.exists() or path.is_symlink() or path.suffix == ".md":
            library = read_folder(path.parent, [path])
        else:
            record = load().find(name)
            records[record.path] = record
            continue
        records |= {record.path: record for record in library.records.values()}
        found += library.diagnostics
    return list(records.values()), found


def _fix(reports: list[tuple[Record, Report]], *, write: bool) -> None:
    from kvgate.claims import fix
    from kvgate.records.atomic import write_text

    for record, report in reports:
        page = record.page
        path = Path(record.path)
        raw = path.read_bytes().decode("utf-8")
        text = page.text[: page.body_offset] + fix(page.body, report)
        if text == page.text:
            continue
        diff = difflib.unified_diff(
            page.text.split("\n"), text.split("\n"), record.path, record.path, lineterm="", n=2
        )
        click.echo("\n".join(diff))
        if write:
            # The loader reads every line end as \n; the file keeps its own, and its BOM.
            text = text.replace("\n", "\r\n") if "\r\n" in raw else text
            write_text(path, ("\ufeff" if raw.startswith("\ufeff") else "") + text)
