"""``kvgate graph``: the link graph of records for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import click

__all__ = ["command"]


@click.command(short_help="Export the link graph of the records.")
@click.argument("folder", required=False, type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--format", "form", type=click.Choice(("json", "graphml", "dot")), default="json",
    show_default=True, help="JSON, GraphML or Graphviz.",
)  # fmt: skip
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to a file.")
def command(
    folder: Path | None, form: Literal["json", "graphml", "dot"], output: Path | None
) -> None:
    """Export the link graph of the records in FOLDER (kvgate's own without one)."""
    from kvgate.records import graphexport
    from kvgate.records.librarygraph import graph_of
    from kvgate.records.loader import load

    graph = graph_of(load(folder))
    match form:
        case "json":
            text = json.dumps(graphexport.to_json(graph), ensure_ascii=False, indent=2) + "\n"
        case "graphml":
            text = graphexport.to_graphml(graph)
        case "dot":
            text = graphexport.to_dot(graph)
    if output:
        from kvgate.records.atomic import write_text

        write_text(output, text)
    else:
        click.echo(text, nl=not text.endswith("\n"))
