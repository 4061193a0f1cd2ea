"""``kvgate stale``: records that a new release of an engine has left behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from kvgate.cli.findings import FORMATS, Format, render
from kvgate.errors import Diagnostic, InputError
from kvgate.records.record import Record
from kvgate.records.schema import Deployment
from kvgate.units import counted

__all__ = ["command"]


@click.command(short_help="List records that a new engine release left behind.")
@click.argument("folder", required=False, type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--releases", "most", type=click.IntRange(1), default=2, show_default=True,
    help="A check is old when the catalogue holds so many newer releases of its engine.",
)  # fmt: skip
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="text", show_default=True,
    help="How findings are printed.",
)  # fmt: skip
def command(folder: Path | None, most: int, form: Format) -> None:
    """List the records in FOLDER (kvgate's own without one) that need another look.

    Those whose newest check is older than some releases of the engine, and those whose rule
    answers otherwise for the newest release in the catalogue than for the one before it, on one of
    the record's own hits and misses. Run it when a release was added to the catalogue.
    """
    from kvgate.records.loader import load

    library = load(folder)
    found: list[Diagnostic] = []
    for record in library.records.values():
        if record.front.status == "active":
            found += _old(record, most)
        if record.front.status in ("active", "draft"):
            found += _moved(record, library.folder)
    text = render(sorted(found, key=lambda d: d.place), form)
    if text:
        click.echo(text)
    if form == "text":
        records = counted(len(library.records), "record")
        click.echo(f"{counted(len(found), 'finding')} in {records}", err=True)
    raise SystemExit(1 if found else 0)


def _old(record: Record, most: int) -> Iterator[Diagnostic]:
    """Checks that are old, for the engines in which the gotcha may still bite."""
    from kvgate.catalog.engines import ENGINES, releases
    from kvgate.rules.stale import ages

    front = record.front
    ages_of = {age.engine: age for age in ages(v.version for v in front.verified)}
    affected: set[str] = {a.engine for a in front.affects}
    # Without ranges, what was checked says which engines the record is about.
    for engine in sorted(affected or ages_of):
        if engine not in ENGINES or not releases(engine):
            continue  # a library, or an engine that no release was read of
        age = ages_of.get(engine)
        if age is None:
            message = f"nothing under verified says that it was checked on {engine}"
            hint = f"check it on {engine} {releases(engine)[-1]} and add where, on what and when"
            yield Diagnostic("KV450", record.place("verified"), message, hint)
        elif len(age.since) >= most and not _over(record, engine, str(age.checked)):
            message = f"checked on {engine} {age.checked}; {len(age.since)} releases came since"
            hint = f"check it on {engine} {age.since[-1]}, or give affects an end"
            yield Diagnostic("KV450", record.place("verified"), message, hint)


def _over(record: Record, engine: str, checked: str) -> bool:
    """Whether every range of the engine ends before the version on which that was checked."""
    from kvgate.records.versions import parse_version

    ranges = [r for r in record.front.ranges if r.engine == engine]
    return bool(ranges) and all(
        (r.fixed is not None and parse_version(r.fixed) <= parse_version(checked))
        or (r.last_affected is not None and parse_version(r.last_affected) < parse_version(checked))
        for r in ranges
    )


def _moved(record: Record, folder: Path) -> Iterator[Diagnostic]:
    """Hits and misses that the rule judges otherwise since the last release."""
    from kvgate.cli.trial import cases

    if record.front.rule is None:
        return
    for _, place, case in cases(record):
        try:
            message = _move(record, case, folder)
        except InputError as error:
            yield Diagnostic("KV452", place, f"it can't be tried: {error.message}", error.hint)
            continue
        if message:
            hint = "find out what the release changed; then affects, the rule or the text"
            yield Diagnostic("KV451", place, message, hint)


def _move(record: Record, case: Deployment, folder: Path) -> str:
    from kvgate.cli.trial import engine_of, plans
    from kvgate.records.versions import parse_version
    from kvgate.rules.stale import last_two, move

    engine = engine_of(case, folder)
    two = last_two(engine)
    asked = (case.on.engine or "").partition("==")[2]
    if two is None or (asked and parse_version(asked) >= two[1]):
        return ""  # the record speaks of the newest release itself
    found = move(
        record.front.rule or "",
        lambda spec: plans(case, folder, engine=spec),
        engine,
        affected=lambda version: record.affects(engine, version),
    )
    if found is None:
        return ""
    return (
        f"the rule says {found.before!r} for {engine} {found.older} and {found.now!r} for "
        f"{found.newer}"
    )
