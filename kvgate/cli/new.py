"""``kvgate new``: write a record that already lints."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path
from typing import Any

import click

__all__ = ["command"]

_SEVERITIES = ("blocks-start", "fails-later", "silently-wrong", "slower", "surprise")


@click.command(short_help="Write a new record that already lints.")
@click.argument("record_id", metavar="ID")
@click.option("--title", help="What happens, in a sentence.")
@click.option("--concept", "concepts", multiple=True, help="A word of concepts.toml; repeatable.")
@click.option("--severity", type=click.Choice(_SEVERITIES), help="What it does to a deployment.")
@click.option("--engine", help="The engine it bites, such as vllm.")
@click.option("--introduced", help="The first version with it.")
@click.option("--fixed", help="The first version without it.")
@click.option("--sample", help="A line of the log; its numbers become holes.")
@click.option("--source", help="The https address where it was reported.")
@click.option("--says", help="What the source says, in your words.")
@click.option("--at", help="The version or commit that the source speaks of.")
@click.option("--records", type=click.Path(path_type=Path), help="The folder of records.")
def command(record_id: str, records: Path | None, **given: Any) -> None:
    """Write the record ID as a draft into the folder of records, and its id into the register.

    What isn't given is asked for when a person is at the terminal. The draft lints as it is; its
    text, claims, hits and misses are yours to write.
    """
    from kvgate.errors import InputError
    from kvgate.records.home import records_home
    from kvgate.records.new import NewRecord, create

    ask = sys.stdin.isatty()
    for name, question in (
        ("title", "What happens, in a sentence"),
        ("severity", f"How bad ({', '.join(_SEVERITIES)})"),
    ):
        if not given[name] and ask:
            given[name] = click.prompt(question)
    if not given["concepts"] and ask:
        given["concepts"] = tuple(click.prompt("Concepts, with commas").replace(",", " ").split())
    missing = [f"--{n}" for n in ("title", "severity") if not given[n]]
    missing += ["--concept"] if not given["concepts"] else []
    if missing:
        raise InputError(
            f"a new record needs {', '.join(missing)}",
            hint='kvgate new my-gotcha --title "What happens" --severity surprise --concept mla',
        )
    values = {name: value for name, value in given.items() if value}
    # The one clock of kvgate: the day on which somebody writes a record.
    today = datetime.datetime.now(tz=datetime.UTC).date()
    path = create(records or records_home(), NewRecord(id=record_id, seen=today, **values))
    click.echo(f"{path}\nnext: write it, then kvgate lint {path} and kvgate claims {path}")
