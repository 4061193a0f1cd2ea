"""The answer to a log: records whose signatures stand in it, else the nearest by words."""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kvgate.diagnose.logtext import clean
from kvgate.diagnose.matcher import Matcher
from kvgate.diagnose.redact import redact

__all__ = ["Answer", "Found", "diagnose"]

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,40}")
_ALARM = re.compile(r"(?i)error|exception|assert|fail|refus|not support|cannot|invalid|warn")
_GUESSES, _KEPT = 3, 4


@dataclass(frozen=True, slots=True)
class Found:
    """A record that the log points to: where, by which signature, how surely (0 to 1)."""

    id: str
    line: int
    signature: str
    score: float
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """``matches`` best first, one a record; ``guesses`` (id, score) only where nothing matched."""

    matches: tuple[Found, ...]
    guesses: tuple[tuple[str, float], ...] = ()

    def to_json(self, most: int) -> dict[str, Any]:
        """The object that ``kvgate diagnose --json`` prints."""
        return {
            "schema_version": 1,
            "matches": [
                {
                    "id": m.id,
                    "line": m.line,
                    "signature": m.signature,
                    "score": m.score,
                    "text": m.text,
                }
                for m in self.matches[:most]
            ],
            "guesses": [{"id": i, "score": round(s, 3)} for i, s in self.guesses],
        }


def diagnose(
    blocks: Iterable[str],
    signatures: Iterable[tuple[str, str]],
    texts: Mapping[str, str] | None = None,
) -> Answer:
    """Look for signatures of (record id, text) in the pieces of a log.

    ``texts`` are words of each record: where no signature stands in the log, the records nearest
    by the words of its alarming lines are named as guesses. What is shown is redacted.
    """
    # The error is near the beginning or the end; the middle of a large log is not kept for a guess.
    first: list[str] = []
    last: deque[str] = deque(maxlen=_KEPT)

    def watched() -> Iterator[str]:
        for block in blocks:
            first.append(block) if len(first) < _KEPT else last.append(block)
            yield block

    best: dict[str, Found] = {}
    for hit in Matcher(signatures).scan(watched()):
        if hit.id not in best:
            found = Found(hit.id, hit.line, hit.signature, hit.score, redact(hit.text))
            best[hit.id] = found
    if best or not texts:
        return Answer(tuple(best.values()))
    return Answer((), _guesses(_alarming("".join([*first, *last])), texts))


def _alarming(text: str) -> set[str]:
    """The words of the lines that speak of an error."""
    lines = (line for line in text.splitlines() if _ALARM.search(line[:2000]))
    return {w.casefold() for line in lines for w in _WORD.findall(clean(line[:2000]))}


def _guesses(words: set[str], texts: Mapping[str, str]) -> tuple[tuple[str, float], ...]:
    of = {i: {w.casefold() for w in _WORD.findall(t)} for i, t in texts.items()}
    spread = Counter(w for some in of.values() for w in some)
    scores = {
        i: sum(math.log(1 + len(of) / spread[w]) for w in some if w in words)
        / (8 + len(some)) ** 0.5
        for i, some in of.items()
    }
    ranked = sorted((i for i in scores if scores[i] > 1.0), key=lambda i: (-scores[i], i))
    return tuple((i, scores[i]) for i in ranked[:_GUESSES])
