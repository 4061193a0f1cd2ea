"""A sizing as a person reads it: the verdict first, then both answers with their formulas."""

from __future__ import annotations

from collections.abc import Iterator

from kvgate.kvcache.explanation import longest_line
from kvgate.kvcache.needs import GroupNeed
from kvgate.kvcache.size import Sizing
from kvgate.units import counted, format_bytes

__all__ = ["Line", "sizing"]

# (indent, text, style): style is "good", "bad", "head" or "".
Line = tuple[int, str, str]


def sizing(answer: Sizing) -> Iterator[Line]:
    """Everything `kvgate size` prints, line by line, before wrapping."""
    yield _headline(answer)
    yield 0, "", ""
    yield 0, "What the model needs, one copy", "head"
    for group in answer.needs.groups:
        yield from _group(group)
    yield from ((2, line, "") for line in _needs(answer))
    if answer.pool is not None:
        yield 0, "", ""
        yield 0, f"What {answer.engine} reserves, per GPU", "head"
        yield from ((2, line, "") for line in _pool(answer))
    ways = [line.removeprefix("to fit: ") for line in answer.explanation if line[:7] == "to fit:"]
    if ways:
        yield 0, "", ""
        yield 0, "To make it fit, one of", "head"
        yield from ((2, way, "") for way in ways)
    if answer.assumptions:
        yield 0, "", ""
        yield 0, "Assumed", "head"
        yield from ((2, line, "") for line in answer.assumptions)


def _headline(answer: Sizing) -> Line:
    name, length = answer.arch.id, counted(answer.max_model_len, "token")
    if answer.fits is None:
        size = format_bytes(answer.sequence_bytes)
        return 0, f"{name}: one sequence of {length} needs {size}", "head"
    if answer.fits:
        times = f", {answer.max_concurrency:.2f} at once" if answer.max_concurrency else ""
        return 0, f"{name}: a sequence of {length} fits{times}", "good"
    pool = answer.pool
    longest = pool.longest if pool else None
    most = f"; the longest that does has {longest:,}" if longest else ""
    if pool is not None and pool.starts_anyway:
        once = f" ({pool.max_concurrency or 0:.2f} at once)"
        text = f"{pool.starts_anyway}; a sequence of {length} does not fit{once}{most}"
        return 0, f"{name}: {text}", "bad"
    return 0, f"{name}: a sequence of {length} does not fit{most}", "bad"


def _group(group: GroupNeed) -> Iterator[Line]:
    draft = " (draft)" if group.draft else ""
    yield 2, f"{group.kind}{draft}: {group.formula}", ""
    if group.because:
        yield 6, f"from {', '.join(group.because)}", ""


def _needs(answer: Sizing) -> Iterator[str]:
    need = answer.needs
    yield f"KV dtype {need.choice.dtype}: {need.choice.because}"
    ranks = need.tp * need.pp > 1
    each = f", {format_bytes(need.bytes_per_token_per_rank)} on each rank" if ranks else ""
    yield f"grows by {format_bytes(need.bytes_per_token)} a token{each}"
    told = [(group.kind, held) for group in need.groups if (held := group.held(need.tp))]
    yield from (f"{kind} layers: {held}" for kind, held in dict.fromkeys(told))
    if need.window_bytes_per_sequence:
        yield f"windows hold {format_bytes(need.window_bytes_per_sequence)} a sequence at most"
    if need.state_bytes_per_sequence:
        yield f"states hold {format_bytes(need.state_bytes_per_sequence)} a sequence"
    size = format_bytes(answer.sequence_bytes)
    yield f"one sequence of {counted(answer.max_model_len, 'token')}: {size}"


def _pool(answer: Sizing) -> Iterator[str]:
    pool = answer.pool
    assert pool is not None
    if answer.weights.bytes_per_rank is not None:
        yield f"weights {format_bytes(answer.weights.bytes_per_rank)}, {answer.weights.basis}"
    memory = pool.memory
    known = "" if memory.known else (
        f" (from {format_bytes(memory.low)} to {format_bytes(memory.high)})"
    )  # fmt: skip
    yield f"KV memory {format_bytes(memory.likely)}{known}"
    yield from pool.lines
    if pool.tokens is not None:
        yield f"GPU KV cache size: {counted(pool.tokens, 'token')}"
    if pool.max_concurrency is not None:
        yield (
            f"Maximum concurrency for {counted(answer.max_model_len, 'token')} per request: "
            f"{pool.max_concurrency:.2f}x"
        )
    yield longest_line(pool)
    if pool.refusal:
        yield pool.refusal
