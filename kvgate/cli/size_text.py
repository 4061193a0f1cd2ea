"""A sizing as a person reads it: the verdict first, then both answers with their formulas."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kvgate.kvcache.size import Sizing
from kvgate.units import format_bytes

__all__ = ["sizing"]


def sizing(answer: Sizing) -> RenderableType:
    """Everything `kvgate size` prints, for a rich console."""
    parts: list[RenderableType] = [_headline(answer), Text(), _needs(answer), Text()]
    parts += [Text(f"  {line}") for line in _need_lines(answer)]
    if answer.pool:
        parts += [Text(), Text(f"What {answer.engine} reserves, per GPU", style="bold")]
        parts += [Text(f"  {line}") for line in _pool_lines(answer)]
    if answer.assumptions:
        parts += [Text(), Text("Assumed", style="bold")]
        parts += [Text(f"  {line}") for line in answer.assumptions]
    return Group(*parts)


def _headline(answer: Sizing) -> Text:
    name, length = answer.arch.id, f"{answer.max_model_len:,} tokens"
    if answer.fits is None:
        return Text(
            f"{name}: one sequence of {length} needs {format_bytes(answer.sequence_bytes)}",
            style="bold",
        )
    if answer.fits:
        times = f", {answer.max_concurrency:.2f} at once" if answer.max_concurrency else ""
        return Text(f"{name}: a sequence of {length} fits{times}", style="bold green")
    longest = answer.pool.longest if answer.pool else None
    most = f"; the longest that does has {longest:,}" if longest else ""
    return Text(f"{name}: a sequence of {length} does not fit{most}", style="bold red")


def _needs(answer: Sizing) -> Table:
    table = Table(title="What the model needs, one copy", title_justify="left", box=None)
    table.title_style = "bold"
    table.pad_edge = False
    for name, right in (("layers", True), ("kind", False), ("formula", False), ("from", False)):
        table.add_column(name, justify="right" if right else "left", header_style="dim")
    for group in answer.needs.groups:
        kind = f"{group.kind} (draft)" if group.draft else group.kind
        table.add_row(str(group.count), kind, group.formula, ", ".join(group.because))
    return table


def _need_lines(answer: Sizing) -> list[str]:
    need = answer.needs
    lines = [
        f"KV dtype {need.choice.flag}: {need.choice.because}",
        f"grows by {format_bytes(need.bytes_per_token)} a token",
    ]
    if need.tp * need.pp > 1:
        lines[-1] += f", {format_bytes(need.bytes_per_token_per_rank)} on each rank"
    lines += [
        f"{group.kind} layers are held {group.copies} times over {need.tp} ranks"
        for group in need.groups
        if group.copies > 1
    ]
    if need.window_bytes_per_sequence:
        lines.append(f"windows hold {format_bytes(need.window_bytes_per_sequence)} a sequence")
    if need.state_bytes_per_sequence:
        lines.append(f"states hold {format_bytes(need.state_bytes_per_sequence)} a sequence")
    lines.append(
        f"one sequence of {answer.max_model_len:,} tokens: {format_bytes(answer.sequence_bytes)}"
    )
    return lines


def _pool_lines(answer: Sizing) -> list[str]:
    pool = answer.pool
    assert pool is not None
    memory = pool.memory
    known = "" if memory.known else (
        f" (from {format_bytes(memory.low)} to {format_bytes(memory.high)})"
    )  # fmt: skip
    lines = [f"KV memory {format_bytes(memory.likely)}{known}", *pool.lines]
    if pool.tokens is not None:
        lines.append(f"GPU KV cache size: {pool.tokens:,} tokens")
    if pool.max_concurrency is not None:
        lines.append(
            f"Maximum concurrency for {answer.max_model_len:,} tokens per request: "
            f"{pool.max_concurrency:.2f}x"
        )
    if pool.longest is not None:
        lines.append(f"the longest sequence that fits has {pool.longest:,} tokens")
    if pool.refusal:
        lines.append(pool.refusal)
    return lines
