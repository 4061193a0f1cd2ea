"""GiB against context, with the pool as a line: a chart as an SVG string."""

from __future__ import annotations

from html import escape

from kvgate.kvcache.size import Sizing
from kvgate.units import GiB

__all__ = ["plot_svg"]

_WIDTH, _HEIGHT = 720, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 40, 50


def plot_svg(sizing: Sizing, *, points: int = 65) -> str:
    """A chart of what one sequence needs per GPU against its length, with the pool as a line.

    The text is plain SVG without scripts or outside references; the title and description say
    what is drawn, so that a screen reader has it too.
    """
    values = sizing.plot(points=points)
    pool = values[-1][2] / GiB
    most_tokens = max(values[-1][0], 1)
    top = max(max(need for _, need, _ in values) / GiB, pool) * 1.05 or 1.0

    def x(tokens: float) -> float:
        return _LEFT + tokens / most_tokens * (_WIDTH - _LEFT - _RIGHT)

    def y(gib: float) -> float:
        return _HEIGHT - _BOTTOM - gib / top * (_HEIGHT - _TOP - _BOTTOM)

    line = " ".join(f"{x(tokens):.1f},{y(need / GiB):.1f}" for tokens, need, _ in values)
    name = escape(sizing.arch.id)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        'font-family="sans-serif" font-size="12">',
        f"<title>KV memory of one sequence of {name}, per GPU</title>",
        f"<desc>{escape(_description(sizing, pool))}</desc>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="22" font-size="14">{name}: one sequence, GiB per GPU</text>',
    ]
    for step in range(5):
        gib, tokens = top * step / 4, most_tokens * step / 4
        parts += [
            f'<line x1="{_LEFT}" y1="{y(gib):.1f}" x2="{_WIDTH - _RIGHT}" y2="{y(gib):.1f}" '
            'stroke="#ddd"/>',
            f'<text x="{_LEFT - 8}" y="{y(gib) + 4:.1f}" text-anchor="end">{gib:.2f}</text>',
            f'<text x="{x(tokens):.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">'
            f"{tokens:,.0f}</text>",
        ]
    parts.append(f'<polyline points="{line}" fill="none" stroke="#1f5fbf" stroke-width="2"/>')
    if pool:
        parts += [
            f'<line x1="{_LEFT}" y1="{y(pool):.1f}" x2="{_WIDTH - _RIGHT}" y2="{y(pool):.1f}" '
            'stroke="#b3261e" stroke-width="2" stroke-dasharray="6 4"/>',
            f'<text x="{_WIDTH - _RIGHT}" y="{y(pool) - 6:.1f}" text-anchor="end" fill="#b3261e">'
            f"pool {pool:.2f} GiB</text>",
        ]
    parts += [
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 12}" text-anchor="middle">'
        "context, tokens</text>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _description(sizing: Sizing, pool: float) -> str:
    need = sizing.needs.rank_sequence_bytes(sizing.max_model_len) / GiB
    text = f"{need:.2f} GiB per GPU at {sizing.max_model_len:,} tokens"
    return f"{text}; the pool holds {pool:.2f} GiB" if pool else text
