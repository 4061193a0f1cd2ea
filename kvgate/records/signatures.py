"""Signatures of records, tested on each other: a sample is its own record's and nobody else's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from kvgate.diagnose.logtext import clean
from kvgate.diagnose.signature import Signature
from kvgate.errors import Diagnostic, InputError
from kvgate.records.record import Record

__all__ = ["check"]

LEAST = 12
"""Literal characters that a signature must have: fewer match lines of any kind."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """One signature of a record, with its place among the record's signatures."""

    record: Record
    index: int
    signature: Signature
    sample: str

    def diagnostic(self, code: str, key: str, message: str, hint: str) -> Diagnostic:
        place = self.record.place("signatures", self.index, key)
        return Diagnostic(code, place, message, hint)


def check(records: Iterable[Record]) -> Iterator[Diagnostic]:
    """What is wrong with the signatures of records, alone and beside each other.

    A withdrawn record's are left out: it is no answer to anybody's log any more.
    """
    entries: list[_Entry] = []
    for record in records:
        if record.front.status == "withdrawn":
            continue
        for index, given in enumerate(record.front.signatures):
            entry = _Entry(record, index, Signature(given.text), clean(given.sample))
            fault = _alone(entry)
            if fault:
                yield fault
            else:
                entries.append(entry)
    yield from _together(entries)


def _alone(entry: _Entry) -> Diagnostic | None:
    try:
        weight = entry.signature.weight
    except InputError as error:
        return entry.diagnostic("KV150", "text", error.message, error.hint)
    kinds = [kind for kind, _ in entry.signature.parts]
    if any(not {a, b} & {"text", "*"} for a, b in pairwise(kinds)):
        hint = "keep one of them, or put what stands between them there"
        return entry.diagnostic("KV150", "text", "two holes stand side by side", hint)
    if weight < LEAST:
        hint = f"give it {LEAST} literal characters at least"
        return entry.diagnostic(
            "KV153", "text", "the signature would match lines of any kind", hint
        )
    if entry.signature.find(entry.sample) is None:
        hint = "copy the sample from a log, and put a hole such as {int} where lines differ"
        return entry.diagnostic("KV151", "sample", "the sample doesn't match its signature", hint)
    return None


def _together(entries: list[_Entry]) -> Iterator[Diagnostic]:
    """Samples that another record's signature matches, and ``also`` where it doesn't."""
    by_word, always = _index(entries)
    for entry in entries:
        words = set(entry.sample.split())
        rivals = [*always, *(e for word in words for e in by_word.get(word, ()))]
        matching = {
            e.record.id
            for e in rivals
            if e.record is not entry.record and e.signature.find(entry.sample)
        }
        said = entry.record.front.signatures[entry.index].also
        for name in sorted(matching.difference(said)):
            hint = f"make one of the two say more, or add also: [{name}] when both are right"
            message = f"the sample matches a signature of {name!r} as well"
            yield entry.diagnostic("KV152", "sample", message, hint)
        for name in said:
            if name not in matching:
                message = f"no signature of {name!r} matches the sample"
                yield entry.diagnostic("KV154", "also", message, "remove it from also")


def _index(entries: list[_Entry]) -> tuple[dict[str, list[_Entry]], list[_Entry]]:
    """Each signature under the rarest word that a matching text must hold; those without one.

    The first and the last word of a literal may be part of a longer one in a text, so they don't
    count. Half of all signatures share most of their words, and the rarest keeps them apart.
    """
    words = [
        [w for literal in entry.signature.literals for w in literal.split(" ")[1:-1] if w]
        for entry in entries
    ]
    counts = Counter(word for own in words for word in set(own))
    by_word: dict[str, list[_Entry]] = {}
    always: list[_Entry] = []
    for entry, own in zip(entries, words, strict=True):
        if own:
            by_word.setdefault(min(own, key=lambda w: (counts[w], w)), []).append(entry)
        else:
            always.append(entry)
    return by_word, always
