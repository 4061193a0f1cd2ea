"""A signature: literal text with typed holes, matched in one pass from left to right.

Holes are ``{int}`` (digits, with ``,`` or ``_`` between), ``{num}`` (digits, with a decimal part),
``{word}`` (no white space) and ``{*}`` (anything, also nothing). ``{{`` and ``}}`` are braces. Any
white space equals one blank. A hole ends at the first place where the text after it fits; there is
no backtracking, so the time is linear in the text whatever the signature says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from kvgate.errors import InputError

__all__ = ["HOLES", "Match", "Signature"]

HOLES = {
    "int": r"[0-9](?:[0-9,_]{0,30}[0-9])?",
    "num": r"[0-9](?:[0-9,_]{0,30}[0-9])?(?:\.[0-9]{1,20})?",
    "word": r"\S{1,300}?",
}
_PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_BLANKS = re.compile(r"\s+")
# A cut line must still show this share of the signature's literal text, and this many characters.
_CUT_SHARE, _CUT_LEAST = 0.35, 32


@dataclass(frozen=True, slots=True)
class Match:
    """Where a signature was found in one text: offsets, and the share of its literals that was.

    ``share`` is 1.0 for all of it, less where the text was cut off before the signature ended.
    """

    start: int
    end: int
    share: float


@dataclass(frozen=True)
class Signature:
    """One signature text. Raises InputError on ``parts`` when a hole has an unknown type.

    >>> Signature("needs {num} GiB of {*} memory").find("it needs 3.5 GiB of free memory").share
    1.0
    """

    text: str

    @cached_property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """The signature as (``text`` or hole type, literal), blanks folded, in order."""
        parts: list[tuple[str, str]] = []
        literal = ""
        at = 0
        for found in _PART.finditer(self.text):
            literal += self.text[at : found.start()]
            at = found.end()
            if found.group() in ("{{", "}}"):
                literal += found.group()[0]
                continue
            hole = found.group(1)
            if hole is None:
                raise InputError(
                    f"a single {found.group()!r} in the signature",
                    hint="write it twice for a brace",
                )
            if hole != "*" and hole not in HOLES:
                raise InputError(
                    f"unknown hole {{{hole}}}", hint=f"known: {{*}}, {{{'}, {'.join(HOLES)}}}"
                )
            if literal:
                parts.append(("text", _BLANKS.sub(" ", literal)))
                literal = ""
            elif parts:
                raise InputError(
                    f"{{{parts[-1][0]}}} and {{{hole}}} stand side by side",
                    hint="where one ends and the other begins can't be told; use one hole",
                )
            parts.append((hole, ""))
        literal += self.text[at:]
        if literal:
            parts.append(("text", _BLANKS.sub(" ", literal)))
        return tuple(parts)

    @cached_property
    def literals(self) -> tuple[str, ...]:
        """The literal pieces, in order."""
        return tuple(literal for kind, literal in self.parts if kind == "text")

    @cached_property
    def weight(self) -> int:
        """How many literal characters it has: the measure of how specific it is."""
        return sum(len(literal.strip()) for literal in self.literals)

    @cached_property
    def anchors(self) -> tuple[str, ...]:
        """Long words that stand whole in the literals: up to three of each half.

        A text that holds none of them can't match. Both halves have some, so that a text whose
        end was cut off still shows the first half's.
        """
        words = [w for literal in self.literals for w in literal.split(" ")[1:-1] if w]
        half = (len(words) + 1) // 2
        chosen = [
            word
            for part in (words[:half], words[half:])
            for word in sorted(dict.fromkeys(part), key=lambda w: (-len(w), w))[:3]
        ]
        return tuple(dict.fromkeys(chosen))

    @cached_property
    def _segments(self) -> tuple[_Segment, ...]:
        segments: list[list[tuple[str, str]]] = [[]]
        for part in self.parts:
            if part[0] == "*":
                segments.append([])
            else:
                segments[-1].append(part)
        return tuple(_Segment(tuple(parts)) for parts in segments if parts)

    def find(self, text: str, *, cut: bool = False) -> Match | None:
        """The first match in ``text`` (blanks already folded), or None.

        With ``cut``, a text that ends before the signature does still matches when it shows enough
        of it.
        """
        at, start, seen = 0, -1, 0
        for segment in self._segments:
            found = segment.pattern.search(text, at)
            if not found:
                if not cut:
                    return None
                first, more = segment.cut(text, at)
                seen += more
                if seen < _CUT_LEAST or seen < _CUT_SHARE * self.weight:
                    return None
                return Match(first if start < 0 else start, len(text), seen / self.weight)
            start = found.start() if start < 0 else start
            at = found.end()
            seen += segment.weight
        return Match(max(start, 0), at, 1.0) if seen else None


@dataclass(frozen=True)
class _Segment:
    """The parts between two ``{*}``: they follow one another without a gap."""

    parts: tuple[tuple[str, str], ...]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(_pattern(self.parts))

    @cached_property
    def weight(self) -> int:
        return _weight(self.parts)

    def cut(self, text: str, at: int) -> tuple[int, int]:
        """Where the text's last words begin this segment, and how many literal characters show."""
        text = text.rstrip(" .…")
        for count in range(len(self.parts) - 1, -1, -1):
            kind, literal = self.parts[count]
            if count == 0:
                for size in range(min(len(literal), len(text) - at), 7, -1):
                    if text.endswith(literal[:size].rstrip(), at):
                        return len(text) - size, len(literal[:size].strip())
                break
            found = re.compile(_pattern(self.parts[:count])).search(text, at)
            rest = text[found.end() :] if found else None
            if found and rest is not None and (kind != "text" or literal.startswith(rest)):
                shown = len(rest.strip()) if kind == "text" else 0
                return found.start(), _weight(self.parts[:count]) + shown
        return at, 0


def _weight(parts: tuple[tuple[str, str], ...]) -> int:
    return sum(len(literal.strip()) for kind, literal in parts if kind == "text")


def _pattern(parts: tuple[tuple[str, str], ...]) -> str:
    pattern = ""
    for i, (kind, literal) in enumerate(parts):
        if kind == "text":
            # A hole and the text behind it are one atom: the first place where both fit.
            pattern += re.escape(literal) + (")" if i and parts[i - 1][0] != "text" else "")
        else:
            pattern += ("(?>" if i + 1 < len(parts) else "") + HOLES[kind]
            if i + 1 == len(parts) and kind == "word":
                pattern = pattern.removesuffix("?")
    return pattern
