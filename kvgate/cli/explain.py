"""``kvgate explain``: what a code means."""

from __future__ import annotations

import click

__all__ = ["command"]


@click.command(short_help="Say what a code means.")
@click.argument("code")
def command(code: str) -> None:
    """Say what CODE, such as KV305, means, why it matters and what to do."""
    from kvgate.cli.terminal import wrapped
    from kvgate.records.codes import code as known

    found = known(code)
    click.echo(click.style(f"{found.code}  {found.title}", bold=True))
    for text in (found.why, found.do):
        if text:
            click.echo(f"\n{wrapped(text)}")
    click.echo(f"\nmore: {found.page}")
