"""The names nearest to a mistyped one, also among ten thousands."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator

__all__ = ["Nearby"]

_LOOKED_AT = 20_000  # entries of the index for one word
_COMPARED = 40  # names for one word: each comparison costs as much as a look at a thousand entries


class Nearby:
    """Names by their trigrams, so that only a few have to be compared letter by letter."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = list(dict.fromkeys(names))
        self._index: dict[str, list[int]] = {}
        for number, name in enumerate(self._names):
            for part in set(_trigrams(name)):
                self._index.setdefault(part, []).append(number)

    def closest(self, word: str, most: int = 3) -> list[str]:
        """The names that may be meant by ``word``, nearest first; none when nothing is near.

        >>> Nearby(["flash-attention", "flashmla"]).closest("flash-atention")
        ['flash-attention']
        """
        found = [self._index[part] for part in set(_trigrams(word)) if part in self._index]
        shared: Counter[int] = Counter()
        looked = 0
        for numbers in sorted(found, key=len):  # rare parts say most
            shared.update(numbers)
            looked += len(numbers)
            if looked > _LOOKED_AT:
                break
        likely = [self._names[number] for number, _ in shared.most_common(_COMPARED)]
        return difflib.get_close_matches(word, likely, n=most, cutoff=0.6)


def _trigrams(name: str) -> Iterator[str]:
    padded = f"  {name} "
    return (padded[at : at + 3] for at in range(len(padded) - 2))
