"""Columns of a table over compute capabilities: those that say the same stand together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby

__all__ = ["columns_of"]


def columns_of(
    capabilities: Iterable[str], content: Callable[[str], object]
) -> list[tuple[str, ...]]:
    """Neighbouring capabilities with the same content, as one column each.

    >>> columns_of(["8.0", "8.6", "9.0"], lambda at: at[0])
    [('8.0', '8.6'), ('9.0',)]
    """
    return [tuple(same) for _, same in groupby(capabilities, key=content)]
