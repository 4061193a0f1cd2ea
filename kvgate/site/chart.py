"""What a sequence of several models needs against its length, side by side: an SVG of its own.

Both axes are logarithmic, since today's models differ a hundredfold. Each line ends at the context
that its model claims, where its name and its figure stand; a narrow screen has them in a list.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, takewhile
from math import log2

from markupsafe import Markup, escape

from kvgate.architecture import model
from kvgate.kvcache import needs
from kvgate.units import GiB, format_bytes

__all__ = ["chart"]

_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 860, 64, 290, 16, 44
_HEIGHT = 460
_FIRST = 1024  # tokens
_APART = 15  # between two names


def chart(names: Sequence[str]) -> Markup:
    """A figure for models of the catalogue, in their own cache dtype, whole model, one copy.

    Raises InputError for a model that the catalogue doesn't have, or that claims no context.
    """
    lines = [(name, _points(name)) for name in names]
    most = max(points[-1][0] for _, points in lines)
    values = [need / GiB for _, points in lines for _, need in points]
    low, high = _power(min(values), -1), _power(max(values), 1)

    def x(tokens: float) -> float:
        return _LEFT + log2(tokens / _FIRST) / log2(most / _FIRST) * (_WIDTH - _LEFT - _RIGHT)

    def y(gib: float) -> float:
        return _HEIGHT - _BOTTOM - log2(gib / low) / log2(high / low) * (_HEIGHT - _TOP - _BOTTOM)

    parts = [
        '<figure class="kv-chart" tabindex="0">\n'
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" role="img" '
        'aria-labelledby="kv-chart-title">',
        f'<title id="kv-chart-title">{escape(_told(lines))}</title>',
    ]
    tick = low
    while tick <= high:
        parts.append(
            f'<path class="kv-grid" d="M{_LEFT} {y(tick):.1f}H{_WIDTH - _RIGHT}"/>'
            f'<text x="{_LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">'
            f"{format_bytes(tick * GiB, digits=0)}</text>"
        )
        tick *= 4
    parts += (
        f'<text x="{x(tokens):.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">'
        f"{tokens // 1024:,}K</text>"
        for tokens in takewhile(lambda t: t <= most, (_FIRST << 2 * i for i in range(12)))
    )
    parts.append(
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 6}" text-anchor="middle">'
        "context, tokens</text>"
    )
    keys: list[tuple[float, str]] = []
    ends = _apart([y(points[-1][1] / GiB) for _, points in lines])
    for number, ((name, points), at) in enumerate(zip(lines, ends, strict=True)):
        path = " ".join(f"{x(tokens):.1f},{y(need / GiB):.1f}" for tokens, need in points)
        tokens, need = points[-1]
        label = f"{name.rpartition('/')[2]}: {format_bytes(need)}"
        again = " kv-line-again" if number >= 8 else ""  # a colour that another line has, too
        end = f"{x(tokens):.1f},{y(need / GiB):.1f}"
        parts.append(
            f'<g class="kv-line kv-line-{number % 8}{again}"><polyline points="{path}"/>'
            f'<path d="M{end}L{_WIDTH - _RIGHT + 8} {at:.1f}"/>'
            f'<text x="{_WIDTH - _RIGHT + 12}" y="{at + 4:.1f}">{escape(label)}</text></g>'
        )
        keys.append((at, f'<li class="kv-line-{number % 8}{again}">{escape(label)}</li>'))
    # Where the names beside the lines have no room, a list below stands for them.
    below = "\n".join(key for _, key in sorted(keys))
    parts.append(
        f'</svg>\n<figcaption>\n<ul class="kv-keys">\n{below}\n</ul>\n</figcaption>\n</figure>'
    )
    return Markup("\n".join(parts))  # noqa: S704 - what isn't ours is escaped


def _points(name: str) -> list[tuple[int, int]]:
    arch = model(name)
    most = arch.max_position_embeddings or 131072
    need = needs(arch)
    tokens = [*takewhile(lambda t: t < most, (_FIRST << i for i in range(24))), most]
    return [(t, need.sequence_bytes(t)) for t in tokens]


def _power(value: float, side: int) -> float:
    """A power of four below (-1) or above (1) a value."""
    power = 1.0
    while power > value:
        power /= 4
    while power * 4 <= value:
        power *= 4
    return power if side < 0 else power * 4


def _apart(places: Sequence[float]) -> list[float]:
    """Heights for names near these places, none upon another."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    found = list(places)
    for before, after in pairwise(order):
        found[after] = max(found[after], found[before] + _APART)
    over = max(0.0, found[order[-1]] - (_HEIGHT - _BOTTOM))
    return [place - over for place in found]


def _told(lines: Sequence[tuple[str, list[tuple[int, int]]]]) -> str:
    """The chart in words, for those who don't see it."""
    said = (
        f"{name} {format_bytes(points[-1][1])} at {points[-1][0]:,} tokens"
        for name, points in lines
    )
    return f"KV cache of one sequence against its length: {'; '.join(said)}"
