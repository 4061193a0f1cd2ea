"""The answer to a log: records whose signatures stand in it, else the nearest by words."""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kvgate.diagnose.logtext import clean, log_lines
from kvgate.diagnose.matcher import Hit, Matcher

if TYPE_CHECKING:
    from kvgate.diagnose.context import Context
    from kvgate.diagnose.suspect import Suspect

__all__ = ["Answer", "Found", "diagnose"]

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,40}")
_ALARM = re.compile(r"(?i)error|exception|assert|fail|refus|not support|cannot|invalid|warn")
_GUESSES, _KEPT = 3, 4
_NAMED = {
    "vllm": re.compile(r"(?i)vllm"),
    "sglang": re.compile(r"(?i)sglang"),
    "tensorrt-llm": re.compile(r"(?i)tensorrt.?llm|trt.?llm"),
    "llama.cpp": re.compile(r"(?i)llama[._-](?:cpp|server|context|kv|model)|\bggml|\bollama"),
}
# What an engine says in passing stands in healthy logs too: an error beside it goes before.
_NOTICE = 0.5


@dataclass(frozen=True, slots=True)
class Found:
    """A record that the log points to: where, by which signature, how surely (0 to 1).

    ``grounds`` says what else in the log spoke for or against it, empty where nothing did.
    """

    id: str
    line: int
    signature: str
    score: float
    text: str
    grounds: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """``matches`` best first, one a record; ``guesses`` (id, score) where no error is explained.

    A record is guessed only where the log names one of its engines.
    """

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
                    "grounds": m.grounds,
                }
                for m in self.matches[:most]
            ],
            "guesses": [{"id": i, "score": round(s, 3)} for i, s in self.guesses],
        }


def diagnose(
    blocks: Iterable[str],
    signatures: Iterable[tuple[str, str]],
    texts: Mapping[str, str] | None = None,
    suspects: Mapping[str, Suspect] | None = None,
) -> Answer:
    """Look for signatures of (record id, text) in the pieces of a log.

    ``texts`` are words of each record: where no signature stands in the log, the records nearest
    by the words of its alarming lines are named as guesses. ``suspects`` are the records as the
    log's own settings are held against: where several match, those decide. What is shown is
    redacted.
    """
    # The error is near the beginning or the end; the middle of a large log is not kept.
    first: list[str] = []
    last: deque[str] = deque(maxlen=_KEPT)

    def watched() -> Iterator[str]:
        for block in blocks:
            first.append(block) if len(first) < _KEPT else last.append(block)
            yield block

    hits: dict[str, list[Hit]] = {}
    for hit in Matcher(signatures).scan(watched()):
        hits.setdefault(hit.id, []).append(hit)
    kept = "".join([*first, *last])
    found = [_found(record_hits) for record_hits in hits.values()]
    if suspects:
        from kvgate.diagnose.context import context
        from kvgate.diagnose.suspect import possible, weigh

        said = context(kept)
        found = [one for one in found if possible(suspects.get(one.id), said)]
        if len(found) > 1:
            found = weigh(found, suspects, said)
        engines = _named(said, kept)
        texts = {
            name: words
            for name, words in (texts or {}).items()
            if name not in suspects
            or (engines & suspects[name].engines and possible(suspects[name], said))
        }
    notices = {one.id for one in found if not any(_loud(h) for h in hits[one.id])}
    found = [_noticed(one) if one.id in notices else one for one in found]
    matches = tuple(sorted(found, key=lambda f: (-f.score, f.line, f.id)))
    # Notices alone don't explain an error that stands beside them.
    unexplained = len(notices) == len(found)
    return Answer(matches, _guesses(_alarming(kept), texts) if texts and unexplained else ())


def _named(said: Context, text: str) -> set[str]:
    """The engines that a log may be of: the one that it shows, or else all whose name is in it."""
    return {said.engine} if said.engine else {e for e, w in _NAMED.items() if w.search(text)}


def _loud(hit: Hit) -> bool:
    return bool(_ALARM.search(hit.text) or _ALARM.search(hit.signature))


def _noticed(one: Found) -> Found:
    why = f"{one.grounds}; " if one.grounds else ""
    why += "a notice, which logs of engines that run well may have too"
    return replace(one, score=round(one.score * _NOTICE, 4), grounds=why)


def _found(hits: Sequence[Hit]) -> Found:
    """One record's hits as one: each further signature of it that stands in the log adds a bit."""
    best = hits[0]
    score = min(1.0, best.score + 0.05 * (len(hits) - 1))
    return Found(best.id, best.line, best.signature, round(score, 4), best.text)


def _alarming(text: str) -> set[str]:
    """The words of the lines that speak of an error."""
    loud = (line for line in log_lines(text) if _ALARM.search(line[:2000]))
    return {w.casefold() for line in loud for w in _WORD.findall(clean(line[:2000]))}


def _guesses(words: set[str], texts: Mapping[str, str]) -> tuple[tuple[str, float], ...]:
    of = {i: {w.casefold() for w in _WORD.findall(t)} for i, t in texts.items()}
    spread = Counter(w for some in of.values() for w in some)
    scores = {
        i: sum(math.log(1 + len(of) / spread[w]) for w in some if w in words)
        / (8 + len(some)) ** 0.5
        for i, some in of.items()
    }
    ranked = sorted((i for i in scores if scores[i] > 0.8), key=lambda i: (-scores[i], i))
    return tuple((i, scores[i]) for i in ranked[:_GUESSES])
