"""The group of commands; a command's module is imported when it is called, not before."""

from __future__ import annotations

from importlib import import_module
from itertools import takewhile

import click

from kvgate import __version__
from kvgate.deprecation import told

__all__ = ["cli"]

# Each command lives in kvgate.cli.<name> as `command`; the sentence is its short help, kept here so
# that `kvgate --help` need not import what the commands need.
COMMANDS = {
    "check": "Check a deployment before it runs: what is refused, what bites, does it fit.",
    "diagnose": "Find the gotcha a log or error text belongs to.",
    "size": "KV cache of a model: what it needs, what the engine reserves, what fits.",
    "backends": "Which attention backend runs, which are refused and in which words.",
    "show": "Print one record.",
    "search": "Find records by words, ids or error text.",
    "lint": "Check records: schema, links, evidence.",
    "claims": "Run the claims of records.",
    "graph": "Export the link graph of the records.",
    "stale": "List records that a new engine release left behind.",
    "new": "Write a new record that already lints.",
    "mcp": "Serve the answers to an agent over the Model Context Protocol.",
    "explain": "Say what a code such as KV305 means and what to do.",
}


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one only to run it or show its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"kvgate.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            from kvgate.errors import nearest

            ctx.fail(f"no command {args[0]!r}; {nearest(args[0], COMMANDS)}")
        name, command, rest = super().resolve_command(ctx, args)
        for word in ("", *takewhile(lambda word: word != "--", rest)):
            if not word or word.startswith("-"):
                told("commands", f"{name} {word.partition('=')[0]}".rstrip())
        return name, command, rest


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="kvgate")
def cli() -> None:
    """The executable knowledge base of long-context LLM serving.

    Exit status: 0 nothing found, 1 findings, 2 the input or the call was wrong.
    """
