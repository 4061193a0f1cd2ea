"""``kvgate diagnose``: which gotcha a log belongs to."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from kvgate.errors import InputError, Place

if TYPE_CHECKING:
    from kvgate.diagnose.suspect import Suspect
    from kvgate.records.heads import Head

__all__ = ["Known", "command", "known_records"]

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
    from kvgate.diagnose import diagnose

    known = known_records()
    texts = known.texts
    answer = diagnose(_text(file), known.signatures, texts, known.suspects())
    titles = {record_id: text.partition("\n")[0] for record_id, text in texts.items()}
    if as_json:
        click.echo(json.dumps(answer.to_json(most), ensure_ascii=False, indent=2))
    elif answer.matches:
        for match in answer.matches[:most]:
            click.echo(f"{click.style(match.id, bold=True)}  line {match.line}")
            click.echo(f"    {titles[match.id]}")
            click.echo(f"    {click.style(match.text, dim=True)}")
            if match.grounds:
                click.echo(f"    {match.grounds}")
        click.echo(f"\nmore: kvgate show {answer.matches[0].id}")
    else:
        click.echo("no record's signature stands in this log")
        for record_id, _ in answer.guesses:
            click.echo(f"  a guess by its words: {record_id}: {titles[record_id]}")
        click.echo("to report it: kvgate new ID --sample '<the line, without names and tokens>'")
    raise SystemExit(1 if answer.matches else 0)


@dataclass(frozen=True)
class Known:
    """kvgate's own records as a log is held against them."""

    heads: tuple[Head, ...]

    @property
    def signatures(self) -> list[tuple[str, str]]:
        """(record id, signature text), all of them."""
        return [(h.id, text) for h in self.heads for text in h.signatures]

    @property
    def texts(self) -> dict[str, str]:
        """Each record's title and symptom."""
        return {h.id: f"{h.title}\n{h.symptom}" for h in self.heads}

    def suspects(self) -> dict[str, Suspect]:
        """Each record's rule and engines."""
        from kvgate.diagnose.suspect import Suspect

        return {h.id: Suspect(h.rule, h.engines) for h in self.heads}


def known_records() -> Known:
    """kvgate's own records that still hold."""
    from kvgate.records.heads import heads

    return Known(heads())


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
