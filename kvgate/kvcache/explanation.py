"""A sizing in sentences: what was computed, from which keys, with the numbers in place."""

from __future__ import annotations

from kvgate.kvcache.answer import PoolAnswer, Range
from kvgate.kvcache.longest import NO_LIMIT
from kvgate.kvcache.needs import Needs
from kvgate.kvcache.weight import Weights
from kvgate.units import counted, format_bytes

__all__ = ["explanation", "longest_line"]


def explanation(
    need: Needs, length: int, pool: PoolAnswer | None, weights: Weights
) -> tuple[str, ...]:
    """Both answers in sentences: each group's formula, the needs, the pool and its parts."""
    choice, tokens = need.choice, counted(length, "token")
    lines = [f"KV dtype {choice.dtype} ({choice.format.name}): {choice.because}"]
    for group in need.groups:
        keys = f" [{', '.join(group.because)}]" if group.because else ""
        draft = "draft, " if group.draft else ""
        lines.append(f"{draft}{group.kind}: {group.formula}{keys}")
        if held := group.held(need.tp):
            lines[-1] += f"; {held}"
    lines.append(
        f"grows by {format_bytes(need.bytes_per_token)} a token "
        f"({format_bytes(need.bytes_per_token_per_rank)} per rank)"
    )
    if need.window_bytes_per_sequence:
        lines.append(
            f"windows hold {format_bytes(need.window_bytes_per_sequence)} a sequence at most"
        )
    if need.state_bytes_per_sequence:
        lines.append(f"states hold {format_bytes(need.state_bytes_per_sequence)} a sequence")
    lines.append(f"one sequence of {tokens} needs {format_bytes(need.sequence_bytes(length))}")
    if pool is not None:
        if weights.bytes_per_rank is not None:
            lines.append(
                f"weights per GPU: {format_bytes(weights.bytes_per_rank)} ({weights.basis})"
            )
        lines.append(f"KV memory per GPU: {_range(pool.memory)}")
        lines += pool.lines
        lines.append(longest_line(pool))
        if pool.starts_anyway:
            lines.append(f"{pool.starts_anyway}; a sequence of {tokens} does not fit")
        if pool.refusal:
            lines.append(pool.refusal)
    return tuple(lines)


def longest_line(pool: PoolAnswer) -> str:
    """The longest sequence that fits, or that there is no limit to it."""
    if pool.longest is None:
        return f"the longest sequence that fits: {NO_LIMIT}"
    return f"the longest sequence that fits has {counted(pool.longest, 'token')}"


def _range(memory: Range) -> str:
    if memory.known:
        return format_bytes(memory.likely)
    return (
        f"{format_bytes(memory.likely)} (from {format_bytes(memory.low)} to "
        f"{format_bytes(memory.high)})"
    )
