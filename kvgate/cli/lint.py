"""``kvgate lint``: what is wrong with records, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from kvgate.cli.collector import paused
from kvgate.cli.findings import FORMATS, Format, render
from kvgate.units import counted

__all__ = ["command"]


@click.command(short_help="Check records: schema, links, evidence.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--fix", is_flag=True, help="Show as a diff what can be mended without an author.")
@click.option("--write", is_flag=True, help="With --fix: write it.")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="text", show_default=True,
    help="How findings are printed.",
)  # fmt: skip
def command(paths: tuple[Path, ...], fix: bool, write: bool, form: Format) -> None:
    """Check records: schema, links, graph, evidence and the shape of their claims.

    PATHS are folders of records or single records; kvgate's own without any. Nothing is run: the
    claims are what `kvgate claims` runs. With --fix --write, what is left is reported.
    """
    from kvgate.records.lint import lint
    from kvgate.rules.registry import rules

    if write and not fix:
        raise click.UsageError("--write goes with --fix")
    if fix and form != "text":
        raise click.UsageError("--fix prints a diff, so it goes with --format text")
    if fix:
        lint(paths)  # a path that isn't there is an error before anything is written
        _mend(paths, write=write)
    with paused():
        found = lint(paths, rules=rules())
    text = render(found, form)
    if text:
        click.echo(text)
    if form == "text":
        click.echo(counted(len(found), "finding") if found else "no findings", err=True)
    raise SystemExit(1 if found else 0)


def _mend(paths: tuple[Path, ...], *, write: bool) -> None:
    from kvgate.cli.rewrite import rewrite
    from kvgate.records import file
    from kvgate.records.mending import mend

    for path, folder in _files(paths):
        # What the loader refuses (no UTF-8, a link out of the folder) is reported, not mended.
        if isinstance(file.read(path, folder), str):
            old = path.read_bytes().decode("utf-8")
            rewrite(path, old, mend(old, path.as_posix()), write=write)


def _files(paths: tuple[Path, ...]) -> Iterator[tuple[Path, Path]]:
    """The files of records that the arguments name, each with its folder."""
    from kvgate.records.home import records_home
    from kvgate.records.loader import NOT_RECORDS

    for path in paths or (records_home(),):
        if path.is_dir() and path.suffix != ".md":
            for one in sorted(path.glob("*.md")):
                if one.name not in NOT_RECORDS:
                    yield one, path
        else:
            yield path, path.parent
