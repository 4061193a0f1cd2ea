"""The one kind of error that reaches a person: what is wrong, where, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Diagnostic", "InputError", "Place", "nearest"]


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where something stands: a path (or ``<command line>``), 1-based line and column."""

    path: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        # A file's name may hold the end of a line, and what is printed is one line a place.
        path = self.path.replace("\n", "\\n").replace("\r", "\\r")
        return f"{path}:{self.line}:{self.column}"


class InputError(ValueError):
    """Input that cannot be used.

    ``message`` says what is wrong in one sentence, ``hint`` what to do about it, ``place`` where it
    stands when that is known, ``code`` which kind it is. Raised by every floor; the command line
    prints it and exits with 2.
    """

    def __init__(
        self, message: str, *, hint: str = "", place: Place | None = None, code: str = "KV001"
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.place = place
        self.code = code

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{where}{self.message}{hint}"


def nearest(word: str, known: Iterable[str], *, most: int = 3) -> str:
    """A hint that lists the known words nearest to ``word``, or the first few when none is near.

    >>> nearest("vlm", ["vllm", "sglang"])
    "did you mean 'vllm'?"
    """
    words = list(dict.fromkeys(known))
    folded = {w.casefold(): w for w in words}
    close = difflib.get_close_matches(word.casefold(), folded, n=most, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(repr(folded[w]) for w in close)}?"
    shown = ", ".join(words[:8])
    return f"known: {shown}{', …' if len(words) > 8 else ''}" if words else "nothing is known here"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding of a linter: a stable code, where it stands, what is wrong, and what to do.

    ``end_column`` (exclusive, same line) is 0 where only the start is known.
    """

    code: str
    place: Place
    message: str
    hint: str = ""
    end_column: int = 0

    def __str__(self) -> str:
        hint = f"\n    hint: {self.hint}" if self.hint else ""
        return f"{self.place}: {self.code} {self.message}{hint}"
