"""The longest sequence that passes a test, or that there is none."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["NO_LIMIT", "longest"]

# Told in place of a length, where nothing that a sequence keeps grows with it.
NO_LIMIT = "no limit: nothing grows with the sequence"
# No sequence has as many tokens: what still fits then, whatever the length, has no limit.
_BEYOND = 1 << 40


def longest(fits: Callable[[int], bool], most: int | None = None) -> int | None:
    """The largest number of tokens, up to ``most``, that fits; 0 where not one does.

    None where every length fits. ``fits`` must not become true again once it was false.
    """
    top = _BEYOND if most is None else most
    if fits(top):
        return None if most is None else top
    low, high = 0, 1
    while high < top and fits(high):
        low, high = high, high * 2
    high = min(high, top)  # does not fit; low does, or is 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
