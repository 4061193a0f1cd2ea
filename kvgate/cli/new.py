"""``kvgate new``: write a record that already lints, with its rule and the rule's test."""

from __future__ import annotations

import datetime
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

__all__ = ["command"]

_SEVERITIES = ("blocks-start", "fails-later", "silently-wrong", "slower", "surprise")


@click.command(short_help="Write a new record that already lints.")
@click.argument("record_id", metavar="[ID]", required=False)
@click.option(
    "--log", help="A log that shows it, - to paste one: the failing line, engine, GPU, command."
)
@click.option("--title", help="What happens, in a sentence.")
@click.option("--concept", "concepts", multiple=True, help="A word of concepts.toml; repeatable.")
@click.option("--severity", type=click.Choice(_SEVERITIES), help="What it does to a deployment.")
@click.option("--engine", help="The engine it bites, such as vllm, or vllm==0.33.0 if seen there.")
@click.option("--introduced", help="The first version with it.")
@click.option("--fixed", help="The first version without it.")
@click.option("--gpu", help="The GPU it was seen on.")
@click.option("--sample", help="A line of the log; its numbers become holes.")
@click.option("--source", help="The https address where it was reported.")
@click.option("--says", help="What the source says, in your words.")
@click.option("--at", help="The version or commit that the source speaks of.")
@click.option("--hit", "hits", multiple=True, help="A command line that is hit; repeatable.")
@click.option("--miss", "misses", multiple=True, help="A command line that is not; repeatable.")
@click.option("--miss-gpu", multiple=True, help="A GPU on which the first hit is none.")
@click.option("--miss-engine", multiple=True, help="A version, vllm==0.22.0, where it is none.")
@click.option("--because", multiple=True, help="Why a miss is none, in the order of the misses.")
@click.option("--rule", help="The rule's name: a new one, or one that kvgate has.")
@click.option("--theme", help="The module of kvgate/rules/ that a new rule goes into.")
@click.option("--anyway", is_flag=True, help="Even where a record explains the log already.")
@click.option("--records", type=click.Path(path_type=Path), help="The folder of records.")
def command(record_id: str | None, records: Path | None, anyway: bool, **given: Any) -> None:
    """Write the record ID as a draft that lints, and its id into the folder's register.

    What isn't given is taken from the log, then asked for when a person is at the terminal; ID is
    made of the title. With a hit and a miss, a checkout of kvgate gets the rule that parts them
    and its test as well; the text and the claims are yours to write.
    """
    from kvgate.cli.newdraft import Draft
    from kvgate.cli.newfacts import Facts, facts, known_as, read_log
    from kvgate.cli.newfiles import Made, checkout, judged
    from kvgate.cli.newprompt import Asking
    from kvgate.errors import InputError
    from kvgate.records.home import records_home
    from kvgate.records.lint import lint
    from kvgate.records.loader import vocabulary_of
    from kvgate.records.new import create
    from kvgate.rules.registry import rules

    folder = records or records_home()
    ask = sys.stdin.isatty()
    log = given.pop("log")
    if log is None and ask and not given["sample"]:
        log = click.prompt("A log file (- to paste, nothing for none)", "", show_default=False)
    found = Facts()
    if log:
        if log == "-" and ask:
            click.echo("Paste the log, then end it with Ctrl-D on a line of its own.", err=True)
        text = read_log(log)
        known = known_as(text)
        if known and not anyway:
            raise InputError(
                f"the record {known[0]} explains this log already",
                hint=f"kvgate show {known[0]}; if it is another gotcha, --anyway",
            )
        found = facts(text) if not given["sample"] else Facts()
        for line in found.told():
            click.echo(f"read {line}", err=True)
    draft = Draft(record_id or "", given, found, vocabulary_of(folder))
    # The one clock of kvgate: the day on which somebody writes a record.
    today = datetime.datetime.now(tz=datetime.UTC).date()
    home = checkout(folder)
    if ask:
        draft.ask(_SEVERITIES, Asking(folder, today), rule=home is not None)
    new = draft.finished(today)
    if anyway and new.sample:
        new = replace(new, also=tuple(sorted(known_as(new.sample))))
    if new.rule and home is None:
        if new.rule not in rules():
            raise InputError(
                "a rule is Python of kvgate, and is written in a checkout of its repository only",
                hint="leave --hit and --miss out, name a rule that kvgate has with --rule, or run "
                "this in a checkout",
            )
        judged(new)
    made = (
        home.write(new, draft.theme)
        if home is not None and new.rule
        else Made(((create(folder, new), "the record, a draft that lints"),))
    )
    first = made.files[0][0]
    left = lint([first], rules={*rules(), new.rule})
    for path, what in made.files:
        click.echo(f"{path}  ({what.removesuffix(' that lints') if left else what})")
    for note in made.notes:
        click.echo(f"note: {note}")
    if given["gpu"] and not new.hits:
        click.echo("note: the GPU stands nowhere yet: a record names it with a hit")
    for finding in left:
        click.echo(str(finding), err=True)
    program = _program()
    steps = [
        f"say in {first} what one sees, why, and what to do",
        f"{program} lint {first}",
        f"{program} claims {first}, once a figure of yours is a claim",
        *(["make test"] if home is not None else []),
    ]
    if not new.rule and home is not None:
        steps.insert(1, "or begin again with --hit and --miss, and a rule is written too")
    click.echo("next:")
    for number, step in enumerate(steps, 1):
        click.echo(f"  {number}. {step}")
    raise SystemExit(1 if left else 0)


def _program() -> str:
    """How this command is called here, so that what is printed can be pasted."""
    called = Path(sys.argv[0])
    if called.name != "kvgate" or shutil.which("kvgate"):
        return "kvgate"
    here = Path.cwd()
    return str(called.relative_to(here) if called.is_relative_to(here) else called)
