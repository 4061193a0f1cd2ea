"""Search over records: words and the parts of identifiers, weighed by how rare they are."""

from __future__ import annotations

import math
import re
from collections import Counter

from kvgate.diagnose.matcher import Matcher
from kvgate.records.loader import Library
from kvgate.records.record import Record

__all__ = ["search", "words"]

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_]+")
_WHOLE = re.compile(r"[\w.+-]{2,}")
_WEIGHTS = {"id": 8.0, "title": 5.0, "signature": 5.0, "concept": 4.0, "body": 1.0}


def words(text: str) -> list[str]:
    """Lower-case words: identifiers whole and in their parts (``sm_120``: sm_120, sm, 120)."""
    whole = [w.strip(".-+").casefold() for w in _WHOLE.findall(text)]
    parts = [w.casefold() for w in _WORD.findall(text)]
    return [w for w in [*whole, *parts] if w]


def search(library: Library, text: str) -> list[tuple[Record, float]]:
    """Records that fit ``text``, best first, with a score; those that fit not at all are left out.

    A text that one of a record's signatures matches finds that record first.
    """
    fields = {record.id: _fields(record) for record in library.records.values()}
    seen_in = Counter(w for counts in fields.values() for w in counts)
    asked = dict.fromkeys(words(text))
    scores: dict[str, float] = {}
    for record_id, counts in fields.items():
        score = sum(
            math.log(1 + len(fields) / seen_in[w]) * counts[w] / (counts[w] + 4.0)
            for w in asked
            if w in counts
        )
        if score:
            scores[record_id] = score
    signatures = [(r.id, s.text) for r in library.records.values() for s in r.front.signatures]
    for hit in Matcher(signatures).scan([text]):
        scores[hit.id] = scores.get(hit.id, 0.0) + 1000 * hit.score
    exact = text.strip().casefold()
    if exact in library.records:
        scores[exact] = scores.get(exact, 0.0) + 10_000
    ranked = sorted(scores, key=lambda i: (-scores[i], i))
    return [(library.records[i], scores[i]) for i in ranked]


def _fields(record: Record) -> Counter[str]:
    front = record.front
    counts: Counter[str] = Counter()
    for field, text in (
        ("id", " ".join((front.id, *front.aliases))),
        ("title", front.title),
        ("signature", " ".join(s.sample for s in front.signatures)),
        ("concept", " ".join(front.concepts)),
        ("body", record.page.body),
    ):
        for word, count in Counter(words(text)).items():
            counts[word] += int(_WEIGHTS[field] * min(count, 5))
    return counts
