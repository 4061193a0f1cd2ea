"""The gates' verdicts as a person reads them: chosen, valid, refused and why."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kvgate.attention.report import Group as LayerGroup
from kvgate.attention.report import Report

__all__ = ["difference", "report"]


def report(title: str, answer: Report) -> RenderableType:
    """Everything `kvgate backends` prints, for a rich console."""
    parts: list[RenderableType] = [Text(title, style="bold")]
    parts.append(_outcome(answer))
    parts += [Text(note) for note in answer.notes]
    parts += [Text(f"warning: {text}", style="yellow") for text in answer.warnings]
    for group in answer.groups:
        parts += [Text(), _table(group)]
    return Group(*parts)


def difference(title: str, other_engine: str, changes: list[str]) -> RenderableType:
    """What changed since another version, one line each."""
    parts: list[RenderableType] = [Text(f"{title}, since {other_engine}", style="bold")]
    parts += [Text(line) for line in changes] or [Text("nothing changed", style="green")]
    return Group(*parts)


def _outcome(answer: Report) -> RenderableType:
    if answer.error:
        return Text(answer.error, style="bold red")
    chosen = Text(f"{answer.selected or 'no attention layer to choose for'}", style="bold green")
    if not answer.then_fails:
        return chosen
    fails = [
        Text(
            f"{f.backend} is chosen, then fails at the {f.stage}"
            f"{'' if f.certain else ' (reported, not read in the code)'}: {f.text}",
            style="red",
        )
        for f in answer.then_fails
    ]
    return Group(chosen, *fails)


def _layers(group: LayerGroup) -> str:
    size = f", head size {group.head_size}" if group.head_size else ""
    dtype = f", stores {group.kv_cache_dtype}" if group.kv_cache_dtype else ""
    return f"{len(group.layers)} layers, {group.kind}{size}{dtype}"


def _table(group: LayerGroup) -> Table:
    table = Table(title=_layers(group), title_justify="left", title_style="bold", box=None)
    table.pad_edge = False
    for name in ("", "backend", "why not"):
        table.add_column(name, header_style="dim")
    for backend in group.backends:
        mark = (
            "chosen" if backend.name == group.selected else "valid" if backend.valid else "refused"
        )
        style = {"chosen": "green", "valid": "", "refused": "dim"}[mark]
        table.add_row(mark, backend.name, "; ".join(backend.reasons), style=style)
    return table
