"""Quantities in prose: a number with a unit of size, rate, ratio, share or time.

Names are none: SM90, TP4, FP8, 35B (a model), 8xH100, 64x64 (a tile), H100 80GB (a product), 8-bit
(a format), a version, a decade.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["Quantity", "bare_number", "names_unit", "quantities"]

# The gap between a number and its unit: nothing, a space of any width (a line end too), an entity,
# with emphasis closed on the way: **24.0** KiB.
_GAP = (
    r"(?:[*_]{0,3}"
    r"(?:[ \t\u00a0\u2009\u202f]|[ ]?\n[ >]{0,12}|&nbsp;|&thinsp;)?"
    r"[*_]{0,3})"
)
_GAP_OR_DASH = rf"(?:{_GAP}|-)"
# Possessive throughout, and never begun inside a number: the time stays linear.
_NUMBER = (
    r"(?<![\w.])(?<!\d[,_\u2009\u202f])"
    r"(?:\d++(?:[,_\u2009\u202f]\d{3})*+(?:\.\d++)?(?:[eE][+-]?\d++)?|\.\d++)"
)
_BYTES = (
    r"(?i:[kmgtp]i?b(?:ytes?|its?|ps)?"
    r"|(?:kilo|mega|giga|tera|kibi|mebi|gibi|tebi)?bytes?)"
)
_BITS = r"bits(?![-/]?wide)"
_TOKENS = (
    r"(?:[kKmMbBgG]?[*_]{0,3}[ \t\u00a0\n-]?"
    r"(?i:(?:input |output |prompt |kv |cached )?tok(?:ens?|s)?))"
)
_RATES = (
    r"(?i:[kmgtpe]?flops?|[kmgt]?hz|qps|rps|tps|fps|bps|[kmgt]bit/s"
    r"|(?:req(?:uests?)?|it(?:erations?)?|steps?|queries|samples|images|tok(?:ens?)?)"
    r"(?:/| per | a )s(?:ec(?:ond)?)?)"
)
_SHARES = r"(?:%|\u2030|&percnt;|(?i:per ?cent(?:age points?)?|pp)(?!\w))"
_TIMES = (
    r"(?:ns|us|\u00b5s|\u03bcs|ms|s|h|(?i:secs?|mins?|hrs?"
    r"|(?:nano|micro|milli)?seconds?|minutes?|hours?|days?|weeks?|months?|years?))"
)
_CONCURRENT = (
    r"(?:concurrent (?:\w+[ -]){0,3}?(?i:sequences?|requests?|users?|streams?)"
    r"|[kKmM][ -](?i:sequences?|requests?))"
)
# 1.62x is a ratio; 8xH100, 8x H100, 2 x 64 and 2 × 64 are not.
_PRODUCT = (
    r"(?![ \t\u00a0*_]*(?:\d|\ufffc|[A-Z]+[a-z]*[- ]?\d"
    r"|(?:RTX|DGX|HGX|GPUs?|NVIDIA|AMD|Instinct|Jetson|Tesla)\b))"
)
_RATIOS = (
    rf"(?:(?:[xX]|[ ]?(?:\u00d7|&times;))(?![\w-]){_PRODUCT}"
    r"|[ -]?fold\b|[ ]times (?:as|the|more|less|fewer|over|[a-z]+er)\b)"
)

_UNIT = re.compile(
    rf"{_NUMBER}"
    rf"(?:[*_]{{0,3}}{_RATIOS}"
    rf"|{_GAP}{_SHARES}"
    rf"|{_GAP_OR_DASH}(?:{_RATES}|{_BYTES}|{_TOKENS})(?!\w)"
    rf"|{_GAP}(?:{_BITS}|{_CONCURRENT})(?!\w)"
    rf"|[*_]{{0,3}}[ \u00a0\u202f]B(?![\w-])(?! param| model)"
    rf"|{_GAP_OR_DASH}{_TIMES}(?![\w(]|-[a-z]*ing))"
)
_FACTORS = re.compile(
    rf"(?i:\bfactor (?:of )?|\bratio (?:of )?)[*_~\u2248]{{0,3}}{_NUMBER}"
    r"|(?<![\w.:/-])\d{1,4}:\d{1,4}(?=[ -]ratio\b)"
    r"|(?<![\w.:/-])\d{1,4}/\d{1,4}(?= of \w)"
)
# The memory in a product's name: H100 80GB, A100-40GB, RTX 6000 Ada 48GB, H100 SXM 80GB.
_NAME_BEFORE = re.compile(
    r"(?:\b[A-Z]{1,3}\d{1,4}[A-Za-z]*|\b\d{4}|\b(?:SXM\d?|PCIe|NVL|Ada|Ti|SUPER))[ -]\Z"
)
_DIGIT = re.compile(r"\d")
_DECADE = re.compile(r"(?:\d{3}|\d)0s\Z")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity at ``start`` to ``end`` of the text it was found in, as it is written."""

    start: int
    end: int
    text: str


def quantities(text: str) -> Iterator[Quantity]:
    """The quantities of a prose text, in order.

    >>> [q.text for q in quantities("SM90 at TP4 takes 24.0 KiB/token, 1.62x in 452 ms.")]
    ['24.0 KiB', '1.62x', '452 ms']
    """
    if not _DIGIT.search(text):
        return  # most sentences
    measured = [m for m in _UNIT.finditer(text) if _counts(m, text)]
    factors = list(_FACTORS.finditer(text))
    end = 0
    for match in sorted((*measured, *factors), key=lambda m: m.start()):
        if match.start() >= end:  # "a factor of 2 ms" is one quantity
            end = match.end()
            yield Quantity(match.start(), end, match[0])


def _counts(match: re.Match[str], text: str) -> bool:
    if _DECADE.match(match[0]):
        return False
    if match[0][-2:] in ("GB", "gb") and match[0][-3:-2].isdigit():
        return not _NAME_BEFORE.search(text, max(0, match.start() - 12), match.start())
    return True


_BARE = re.compile(rf"[\s*_~\u2248<>\u2264\u2265+\u2212-]*({_NUMBER})[\s*_]*\Z")
_HEAD_WORD = re.compile(r"[^\W\d_][^\s()\[\],;]*|%")
# At the head of a column these stand for other things than minutes and seconds.
_NO_UNITS = frozenset({"min", "mins", "us", "h", "s"})


def bare_number(cell: str) -> Quantity | None:
    """The number that a table cell holds and nothing else, if it does."""
    match = _BARE.match(cell)
    return Quantity(match.start(1), match.end(1), match[1]) if match else None


@lru_cache(maxsize=512)
def names_unit(head: str) -> bool:
    """Whether the head of a column names the unit of the numbers below it.

    >>> names_unit("bytes per token"), names_unit("prefill (ms)"), names_unit("head size")
    (True, True, False)
    """
    for word in _HEAD_WORD.finditer(head):
        if word[0].lower() not in _NO_UNITS and _UNIT.match(f"1 {head[word.start() :]}"):
            return True
    return False
