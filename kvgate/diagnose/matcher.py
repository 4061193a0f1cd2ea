"""Find which signatures stand in a log, in one pass and bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kvgate.diagnose.logtext import LONGEST, clean, strip_prefix
from kvgate.diagnose.redact import redact
from kvgate.diagnose.signature import Signature

__all__ = ["Hit", "Matcher"]

# An error text may go on over some lines: a terminal wrapped it, or the engine prefixed each.
_BEFORE, _AFTER = 2, 4
# A signature is looked for where this many of its anchor words stand within a few lines. Each time
# that was in vain so often, its words are common in this log and one more of them is asked for.
_ANCHORS_TOGETHER, _IN_VAIN = 2, 20
_JOINED = 0.97
# Characters of the line that are shown around a find.
_SHOWN_BEFORE, _SHOWN_AFTER, _LONGEST_WORD = 40, 200, 80


@dataclass(frozen=True, slots=True)
class Hit:
    """One place of the log that a signature fits.

    ``line`` is 1-based; ``text`` is the text there, cleaned and redacted; ``score`` is between 0
    and 1: how much of the signature shows, weighed by how specific the signature is. ``share`` is
    the first factor.
    """

    id: str
    signature: str
    line: int
    text: str
    score: float
    share: float


class Matcher:
    """Signatures of many records, ready to be looked for.

    A block of the log is looked at closely only where anchor words of one signature stand in it
    together: that keeps a pass over a large log near the speed of splitting it into words.
    """

    def __init__(self, signatures: Iterable[tuple[str, str]]) -> None:
        entries = [(record, Signature(text)) for record, text in signatures]
        shared = Counter(word for _, s in entries for word in s.anchors)
        self._entries: list[tuple[str, Signature, tuple[str, ...]]] = []
        self._by_anchor: dict[str, list[int]] = {}
        for record, signature in entries:
            words = sorted(signature.anchors, key=lambda w: (shared[w], -len(w), w))
            # Without a whole word between blanks, the longest literal stands in for one.
            bare = max(signature.literals, key=len, default="").strip()
            anchors = tuple(words) if words else (bare,)
            for word in anchors:
                self._by_anchor.setdefault(word, []).append(len(self._entries))
            self._entries.append((record, signature, anchors))
        self._words = frozenset(w for w in self._by_anchor if w and " " not in w)
        self._bare = tuple(
            bare for _, s, (bare, *_) in self._entries if not s.anchors and bare not in ("", " ")
        )

    def scan(self, blocks: Iterable[str]) -> tuple[Hit, ...]:
        """The best hit of each (record, signature), best first, then by line.

        ``blocks`` are pieces of the text in order, of any size; one is held at a time. The first of
        several equal hits is kept.
        """
        best: dict[int, Hit] = {}
        vain: Counter[int] = Counter()
        for first, block in _overlapping(blocks):
            text = _plain(block)
            active = self._together(text, vain)
            active = {i for i in active if i not in best or best[i].share < 1.0}
            if not active:
                continue
            lines = text.split("\n")
            for index, here in self._places(active, lines, vain):
                known = best.get(index)
                if known and known.score == self._most(index):
                    continue  # one that is whole, but over several lines, may yet be seen in one
                hit = self._hit(index, lines, here)
                if hit is None:
                    vain[index] += 1
                elif known is None or hit[1] > known.score:
                    record, signature, _ = self._entries[index]
                    best[index] = Hit(record, signature.text, first + here, *hit)
        return tuple(sorted(best.values(), key=lambda h: (-h.score, h.line, h.id)))

    def _together(self, block: str, vain: Counter[int]) -> set[int]:
        """The signatures of which enough anchors stand in this block."""
        words = self._words.intersection(block.split())
        words |= {bare for bare in self._bare if bare in block}
        together = Counter(i for word in words for i in self._by_anchor[word])
        return {i for i, count in together.items() if count >= self._need(i, vain)}

    def _need(self, index: int, vain: Counter[int]) -> int:
        asked = _ANCHORS_TOGETHER + vain[index] // _IN_VAIN
        return min(asked, len(self._entries[index][2]))

    def _places(
        self, active: set[int], lines: list[str], vain: Counter[int]
    ) -> Iterator[tuple[int, int]]:
        """(signature, line index) wherever enough of its anchors stand within a few lines."""
        by_word: dict[str, list[int]] = {}
        for index in active:
            for word in self._entries[index][2]:
                by_word.setdefault(word, []).append(index)
        words = frozenset(by_word)
        bare = [i for i in active if self._entries[i][2][0] in self._bare]
        seen: dict[int, dict[str, int]] = {index: {} for index in active}
        for here, line in enumerate(lines):
            for index in bare:
                if self._entries[index][2][0] in line:
                    yield index, here
            # All words of a line before any is judged: they come in no order.
            touched: set[int] = set()
            for word in words.intersection(line.split()):
                for index in by_word[word]:
                    seen[index][word] = here
                    touched.add(index)
            for index in sorted(touched):
                places, need = seen[index], self._need(index, vain)
                near = [n for n in places.values() if here - n <= _BEFORE + _AFTER]
                if len(near) < need:
                    continue
                if near.count(here) < need:
                    yield index, min(near)
                yield index, here

    def _most(self, index: int) -> float:
        """The score of that signature where all of it stands in one line."""
        return round(_specific(self._entries[index][1]), 4)

    def _hit(self, index: int, lines: list[str], here: int) -> tuple[str, float, float] | None:
        signature = self._entries[index][1]
        line = clean(_near_anchor(lines[here], self._entries[index][2]))
        near = lines[max(0, here - _BEFORE) : here + _AFTER + 1]
        bodies = [strip_prefix(clean(text[:LONGEST])) for text in near]
        texts = [(line, 1.0), (" ".join(bodies), _JOINED), ("".join(bodies), _JOINED)]
        specific = _specific(signature)
        for cut in (False, True):
            for text, factor in texts:
                found = signature.find(text, cut=cut)
                if found:
                    shown = _shown(signature, text, found.start, found.end, cut=cut)
                    return shown, round(found.share * specific * factor, 4), found.share
        return None


def _near_anchor(line: str, anchors: tuple[str, ...]) -> str:
    """A line that is too long to be looked at whole, cut to what stands around an anchor."""
    if len(line) <= LONGEST:
        return line
    at = next((place for word in anchors if (place := line.find(word)) >= 0), 0)
    start = max(0, at - LONGEST // 2)
    return line[start : start + LONGEST]


def _shown(signature: Signature, text: str, start: int, end: int, *, cut: bool) -> str:
    """The find with some words around it, redacted while all is there by which a secret is known.

    Half a token has no mark of its own, and its other half would be shown.
    """
    whole = redact(text)
    again = signature.find(whole, cut=cut)
    if again:
        before, here, after = (
            whole[: again.start],
            whole[again.start : again.end],
            whole[again.end :],
        )
    else:  # what was taken out stood in a hole that asks for a number
        before, here, after = redact(text[:start]), redact(text[start:end]), redact(text[end:])
    at = len(before) - _SHOWN_BEFORE
    if at > 0:
        # From the beginning of a word on, unless it has none nearby.
        lowest = max(0, at - _LONGEST_WORD)
        blank = before.rfind(" ", lowest, at + 1)
        before = before[blank + 1 if blank >= 0 or lowest == 0 else at :]
    return before + here + after[:_SHOWN_AFTER]


def _specific(signature: Signature) -> float:
    return signature.weight / (signature.weight + 24)


def _plain(block: str) -> str:
    """A block whose words can be compared: no colours, JSON escapes undone, line ends kept."""
    if "\r" in block:
        block = block.replace("\r\n", "\n").replace("\r", "\n")
    if "\x1b" in block or "\\" in block:
        return "\n".join(clean(line) for line in block.split("\n"))
    return block


def _overlapping(blocks: Iterable[str]) -> Iterator[tuple[int, str]]:
    """(1-based line of its start, block): whole lines, each block with the last lines before it.

    The overlap is what a window needs, so that a text across two blocks is seen whole.
    """
    number, rest = 1, ""
    for block in blocks:
        text = rest + block
        if text.count("\n") <= _BEFORE + _AFTER and len(text) < 4 * LONGEST:
            rest = text
            continue
        yield number, text
        keep = len(text)
        for _ in range(_BEFORE + _AFTER + 1):
            keep = max(text.rfind("\n", 0, keep), 0)
        keep = max(keep, len(text) - 4 * LONGEST)
        keep = keep + 1 if text[keep : keep + 1] == "\n" else keep
        number += text.count("\n", 0, keep)
        rest = text[keep:]
    if rest:
        yield number, rest
