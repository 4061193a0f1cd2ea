"""``kvgate diagnose``: which gotcha a log belongs to."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import click

from kvgate.errors import InputError, Place

__all__ = ["command"]

_BLOCK = 1 << 20


@click.command(short_help="Find the gotcha a log or error text belongs to.")
@click.argument("file", default="-")
@click.option(
    "--most", type=click.IntRange(1), default=5, show_default=True,
    help="How many to print.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The documented JSON object.")
def command(file: str, most: int, as_json: bool) -> None:
    """Read a log from FILE (- or nothing: standard input) and name the records it points to.

    Exit status 1 when a record was found, 0 when none fits.
    """
    from kvgate.cli.terminal import wrapped
    from kvgate.diagnose import diagnose
    from kvgate.records.heads import known as records

    known = records()
    answer = diagnose(_text(file), known.signatures, known.texts, known.suspects)
    records_of = known.by_id
    titles = {head.id: head.title for head in known.heads}
    if as_json:
        click.echo(json.dumps(answer.to_json(most), ensure_ascii=False, indent=2))
        raise SystemExit(1 if answer.matches else 0)
    if answer.matches:
        for match in answer.matches[:most]:
            click.echo(f"{click.style(match.id, bold=True)}  line {match.line}")
            click.echo(wrapped(titles[match.id], 4))
            click.echo(f"    {click.style(match.text, dim=True)}")
            if match.grounds:
                click.echo(wrapped(match.grounds, 4))
        click.echo(f"\nmore: kvgate show {answer.matches[0].id}")
    else:
        click.echo("no record's signature stands in this log")
    for record_id, _ in answer.guesses:
        engines = ", ".join(sorted(records_of[record_id].engines))
        guess = f"a guess by its words ({engines}): {record_id}: {titles[record_id]}"
        click.echo(wrapped(guess, 2))
    if not answer.matches:
        click.echo(f"to write it down: kvgate new --log {file}")
    raise SystemExit(1 if answer.matches else 0)


def _text(file: str) -> Iterator[str]:
    if file == "-":
        yield from _decoded(sys.stdin.buffer)
        return
    path = Path(file)
    if path.is_dir():
        raise InputError("is a folder, not a log", place=Place(file), code="KV002")
    with path.open("rb") as stream:
        yield from _decoded(stream)


def _decoded(stream: BinaryIO) -> Iterator[str]:
    """Blocks of text: UTF-8, or UTF-16 by its mark; what is neither is replaced."""
    import codecs

    first = stream.read(_BLOCK)
    utf16 = first[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    decoder: Any = codecs.getincrementaldecoder("utf-16" if utf16 else "utf-8")(errors="replace")
    while first:
        yield decoder.decode(first)
        first = stream.read(_BLOCK)
    yield decoder.decode(b"", final=True)
