"""The gates' verdicts as a person reads them: chosen, valid, refused and why."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kvgate.attention.report import GroupReport, Report

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


def difference(title: str, answer: Report, other_engine: str, other: Report) -> RenderableType:
    """What differs between two versions, layer group by layer group."""
    parts: list[RenderableType] = [Text(f"{title}, against {other_engine}", style="bold")]
    lines = []
    if _said(answer) != _said(other):
        lines.append(f"outcome: {_said(other)} -> {_said(answer)}")
    for mine, theirs in zip(answer.groups, other.groups, strict=False):
        before = {b.name: b for b in theirs.backends}
        after = {b.name: b for b in mine.backends}
        for name in dict.fromkeys([*before, *after]):
            old, new = before.get(name), after.get(name)
            was = "absent" if old is None else _verdict(old.valid, old.reasons)
            now = "absent" if new is None else _verdict(new.valid, new.reasons)
            if was != now:
                lines.append(f"{_layers(mine)}: {name}: {was} -> {now}")
    parts += [Text(line) for line in lines] or [Text("nothing changed", style="green")]
    return Group(*parts)


def _said(answer: Report) -> str:
    return str(answer.error or answer.selected)


def _verdict(valid: bool, reasons: tuple[str, ...]) -> str:
    return "valid" if valid else f"refused ({', '.join(reasons)})"


def _outcome(answer: Report) -> Text:
    if answer.error:
        return Text(answer.error, style="bold red")
    if answer.then_fails:
        return Text(f"{answer.selected} is chosen, then fails: {answer.then_fails}", style="red")
    return Text(f"{answer.selected} runs", style="bold green")


def _layers(group: GroupReport) -> str:
    size = f", head size {group.head_size}" if group.head_size else ""
    return f"{group.layers} layers{size}"


def _table(group: GroupReport) -> Table:
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
