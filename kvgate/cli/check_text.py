"""A check as a tired person reads it: one line each, worst first, then the details."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from kvgate.answers.checking import Checked
from kvgate.errors import Diagnostic
from kvgate.plan.model import Plan
from kvgate.rules.judge import Judged, Open
from kvgate.units import format_bytes

__all__ = ["report"]

_STYLE = {
    "blocks-start": "bold red",
    "fails-later": "red",
    "silently-wrong": "magenta",
    "slower": "yellow",
    "surprise": "cyan",
}
_WORDS = {"version": "the engine's version", "model": "the model", "gpu": "the GPU"}


def report(results: Sequence[Checked], stale: Sequence[Diagnostic]) -> RenderableType:
    """Everything `kvgate check` prints, for a rich console."""
    parts: list[RenderableType] = []
    for one in results:
        if parts:
            parts.append(Text())
        if one.unasked:
            words = " and ".join(_WORDS[what] for what in one.unasked)
            parts.append(Text(f"NOT DECIDED: {words} unknown, so most wasn't asked", "bold yellow"))
        parts += _one(one.plan, one.found, one.undecided)
    parts += [Text(str(d), style="yellow") for d in stale]
    return Group(*parts)


def _one(
    made: Plan, found: tuple[Judged, ...], undecided: tuple[Open, ...]
) -> list[RenderableType]:
    parts: list[RenderableType] = [Text(_head(made), style="bold")]
    parts += [Text(f"  {line}") for line in _facts(made)]
    if not found:
        limit = " in what could be asked" if made.unknown else ""
        parts.append(Text(f"  nothing found{limit}", style="" if limit else "green"))
    for one in found:
        line = Text("  ")
        line.append(f"{one.severity:<14}", style=_STYLE[one.severity])
        line.append(f" {one.id}", style="bold")
        parts.append(line)
    for one in found:
        parts += [Text(), Text(f"{one.id}: {one.title}", style=_STYLE[one.severity])]
        if one.finding.message != one.title:
            parts.append(Padding(Text(one.finding.message), (0, 0, 0, 2)))
        parts += [Padding(Text(f"because {fact}"), (0, 0, 0, 2)) for fact in one.finding.because]
        if one.finding.fix:
            parts.append(Padding(Text(f"fix: {one.finding.fix}"), (0, 0, 0, 2)))
        if not one.id.startswith("KV"):
            parts.append(Padding(Text(f"more: kvgate show {one.id}", style="dim"), (0, 0, 0, 2)))
    if undecided:
        parts += [Text(), Text("Could not be decided", style="bold")]
        by_fact: dict[str, list[str]] = {}
        for open_ in undecided:
            by_fact.setdefault(open_.lacks, []).append(open_.id)
        said = {u.lacks: _WORDS[u.what] for u in made.unknown if u.what == "model"}
        for reason, ids in by_fact.items():
            lacks = said.get(reason, reason)
            parts.append(Padding(Text(f"for want of {lacks}: {', '.join(ids)}"), (0, 0, 0, 2)))
    return parts


def _head(made: Plan) -> str:
    deployment = made.deployment
    engine = str(made.release) if made.release else deployment.spec
    where = f" on {made.gpu.name}" if made.gpu else ""
    name = f"{deployment.name}: " if deployment.name else ""
    role = f" ({deployment.role})" if deployment.role in ("prefill", "decode") else ""
    return f"{name}{deployment.model or 'no model named'}, {engine}{where}{role}"


def _facts(made: Plan) -> list[str]:
    lines = [f"assumed: {text}" for text in made.assumed]
    if made.gates is not None and made.gates.selected:
        lines.append(f"attention backend: {made.gates.selected}")
    if made.outcome is not None and made.outcome.selected:
        page = f", page {made.outcome.page_size}" if made.outcome.page_size else ""
        lines.append(f"attention backend: {made.outcome.selected}{page}")
        lines += [f"changed by SGLang: {note}" for note in made.outcome.notes]
    if made.sizing is not None:
        need = format_bytes(made.sizing.sequence_bytes)
        rank = made.sizing.needs.rank_sequence_bytes(made.sizing.max_model_len)
        # The line below is of one GPU: what stands beside it has to be, too.
        each = f", {format_bytes(rank)} on each GPU" if rank != made.sizing.sequence_bytes else ""
        lines.append(f"one sequence of {made.sizing.max_model_len:,} tokens needs {need}{each}")
        pool = made.sizing.pool
        if pool is not None:
            tokens = f", {pool.tokens:,} tokens" if pool.tokens else ""
            lines.append(f"KV memory per GPU: {format_bytes(pool.memory.likely)}{tokens}")
    # One reason may leave several things unknown: it's said once.
    of: dict[str, list[str]] = {}
    for u in made.unknown:
        of.setdefault(u.lacks, []).append(u.what)
    return lines + [f"unknown {', '.join(whats)}: {lacks}" for lacks, whats in of.items()]
