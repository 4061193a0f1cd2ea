"""GiB against context, with the pool as a line: a chart as an SVG string."""

from __future__ import annotations

from html import escape
from math import floor, log10

from kvgate.kvcache.size import Sizing
from kvgate.units import GiB

__all__ = ["plot_svg"]

_WIDTH, _HEIGHT = 720, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 24, 40, 50
_NEED, _POOL, _LONGEST = "#1f5fbf", "#b3261e", "#4a4a4a"


def plot_svg(sizing: Sizing, *, points: int = 65) -> str:
    """A chart of what one sequence needs per GPU against its length.

    The pool is a line, with its range where it is an estimate, and the longest sequence that the
    engine admits is marked: engines reserve more than the need. Plain SVG without scripts or
    outside references; the title and the description say what is drawn, for screen readers.
    """
    values = sizing.plot(points=points)
    memory = sizing.pool.memory if sizing.pool is not None else None
    pool = memory.likely / GiB if memory is not None else 0.0
    high = memory.high / GiB if memory is not None else 0.0
    most = max(values[-1][0], 1)
    top, step = _scale(max(max(need for _, need, _ in values) / GiB, high))

    def x(tokens: float) -> float:
        return _LEFT + tokens / most * (_WIDTH - _LEFT - _RIGHT)

    def y(gib: float) -> float:
        return _HEIGHT - _BOTTOM - gib / top * (_HEIGHT - _TOP - _BOTTOM)

    name = escape(sizing.arch.id)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        'font-family="sans-serif" font-size="12">',
        f"<title>KV memory of one sequence of {name}, per GPU</title>",
        f"<desc>{escape(_description(sizing, pool))}</desc>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="22" font-size="14">{name}: need of one sequence, GiB per GPU</text>',
    ]
    for tick in range(round(top / step) + 1):
        gib = tick * step
        parts += [
            f'<line x1="{_LEFT}" y1="{y(gib):.1f}" x2="{_WIDTH - _RIGHT}" y2="{y(gib):.1f}" '
            'stroke="#ddd"/>',
            f'<text x="{_LEFT - 8}" y="{y(gib) + 4:.1f}" text-anchor="end">{gib:g}</text>',
        ]
    for quarter in range(5):
        tokens = most * quarter // 4
        anchor = "end" if quarter == 4 else "middle"
        parts.append(
            f'<text x="{x(tokens):.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="{anchor}">'
            f"{tokens:,}</text>"
        )
    if memory is not None:
        parts += _pool(memory.low / GiB, pool, high, y)
        longest = sizing.pool.longest if sizing.pool is not None else None
        if longest is not None and 0 < longest < most:
            parts += _mark(longest, x(longest))
    line = " ".join(f"{x(tokens):.1f},{y(need / GiB):.1f}" for tokens, need, _ in values)
    parts += [
        f'<polyline points="{line}" fill="none" stroke="{_NEED}" stroke-width="2"/>',
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 12}" text-anchor="middle">'
        "context, tokens</text>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _scale(largest: float) -> tuple[float, float]:
    """The top of the axis and the step between its lines: round numbers, four to eight lines."""
    if largest <= 0:
        return 1.0, 0.25
    rough = largest * 1.05 / 5
    power = 10 ** floor(log10(rough))
    step = next(f * power for f in (1, 2, 2.5, 5, 10) if f * power >= rough)
    top = step
    while top < largest * 1.05:
        top += step
    return top, step


def _pool(low: float, likely: float, high: float, y: object) -> list[str]:
    assert callable(y)
    parts = []
    text = f"pool {likely:.2f} GiB"
    if low != high:
        text += f" ({low:.2f} to {high:.2f})"
        parts.append(
            f'<rect x="{_LEFT}" y="{y(high):.1f}" width="{_WIDTH - _LEFT - _RIGHT}" '
            f'height="{y(low) - y(high):.1f}" fill="{_POOL}" fill-opacity="0.08"/>'
        )
    return [
        *parts,
        f'<line x1="{_LEFT}" y1="{y(likely):.1f}" x2="{_WIDTH - _RIGHT}" y2="{y(likely):.1f}" '
        f'stroke="{_POOL}" stroke-width="2" stroke-dasharray="6 4"/>',
        f'<text x="{_WIDTH - _RIGHT - 4}" y="{y(likely) - 6:.1f}" text-anchor="end" '
        f'fill="{_POOL}">{text}</text>',
    ]


def _mark(tokens: int, at: float) -> list[str]:
    """A line down at the longest sequence; its text on the side that has room."""
    right = at < _WIDTH / 2
    shift, anchor = (6, "start") if right else (-6, "end")
    return [
        f'<line x1="{at:.1f}" y1="{_TOP}" x2="{at:.1f}" y2="{_HEIGHT - _BOTTOM}" '
        f'stroke="{_LONGEST}" stroke-dasharray="2 3"/>',
        f'<text x="{at + shift:.1f}" y="{_HEIGHT - _BOTTOM - 8}" text-anchor="{anchor}" '
        f'fill="{_LONGEST}">longest that fits: {tokens:,}</text>',
    ]


def _description(sizing: Sizing, pool: float) -> str:
    need = sizing.needs.rank_sequence_bytes(sizing.max_model_len) / GiB
    text = f"{need:.2f} GiB per GPU at {sizing.max_model_len:,} tokens"
    if not pool:
        return text
    text += f"; the pool holds {pool:.2f} GiB"
    longest = sizing.pool.longest if sizing.pool is not None else None
    return f"{text}; the longest sequence that fits has {longest:,} tokens" if longest else text
