"""Objects of kvgate in a claim: what is public can be asked, and it prints the same every time."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property
from types import MappingProxyType
from typing import ClassVar, NamedTuple

import pytest
from packaging.version import Version

from kvgate.claims import evaluate
from kvgate.errors import InputError


class Kind(enum.Enum):
    FULL = "full"
    SLIDING = "sliding"

    def short(self) -> str:
        return self.value[0]


class Word(enum.StrEnum):
    FP8 = "fp8"


class Pair(NamedTuple):
    name: str
    sizes: frozenset[str]

    def both(self) -> str:
        return f"{self.name} {len(self.sizes)}"


@dataclass(frozen=True, slots=True)
class Layer:
    kind: ClassVar[str] = "mla"
    heads: int
    words: frozenset[str] = frozenset()
    hidden: int = field(default=0, repr=False)

    @property
    def double(self) -> int:
        return 2 * self.heads

    @property
    def broken(self) -> int:
        raise ValueError("no such thing")

    def times(self, by: int = 1) -> int:
        return self.heads * by

    @staticmethod
    def fixed() -> int:
        return 7

    @classmethod
    def one(cls) -> Layer:
        return cls(1)

    @cache  # noqa: B019 - as kvgate may write it
    def cached(self) -> int:
        return 3

    def refused(self) -> int:
        raise InputError("not this layer")

    def _private(self) -> int:
        return 0


@dataclass(frozen=True)
class Open:
    """Without slots: its fields stand in the object's own dictionary."""

    heads: int

    @cached_property
    def triple(self) -> int:
        return 3 * self.heads


class Plain:
    def answer(self) -> int:
        return 42


class Written:
    def __repr__(self) -> str:
        return "Written!"

    def __str__(self) -> str:
        return "in words"


class Failing:
    def __repr__(self) -> str:
        raise KeyError("nothing to show")


class Holder:
    def __len__(self) -> int:
        return 2

    def __iter__(self) -> Iterator[int]:
        return iter((5, 6))

    def __getitem__(self, index: int) -> int:
        return (5, 6)[index]

    def __contains__(self, value: object) -> bool:
        return value in (5, 6)


class Table(dict[str, int]):
    def total(self) -> int:
        return sum(self.values())


for made in (Kind, Word, Pair, Layer, Open, Plain, Written, Failing, Holder, Table):
    made.__module__ = "kvgate.fake"

NAMES: dict[str, object] = {
    "layer": Layer(4, frozenset({"b", "a"}), 9),
    "opened": Open(2),
    "kind": Kind.FULL,
    "word": Word.FP8,
    "pair": Pair("x", frozenset({"d", "c"})),
    "plain": Plain(),
    "written": Written(),
    "failing": Failing(),
    "holder": Holder(),
    "table": Table(a=1, b=2),
    "half": Fraction(1, 2),
    "version": Version("0.33.0rc1"),
    "frozen": MappingProxyType({"a": 1}),
    "Layer": Layer,
    "Kind": Kind,
}


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("layer", "Layer(heads=4, words=frozenset({'a', 'b'}))"),
        ("[layer.heads, layer.hidden, layer.kind, layer.double]", "[4, 9, 'mla', 8]"),
        ("[layer.times(), layer.times(3), layer.times(by=2)]", "[4, 12, 8]"),
        ("[layer.fixed(), layer.one().heads, layer.cached()]", "[7, 1, 3]"),
        ("layer == Layer(4, frozenset({'a', 'b'}), hidden=9)", "True"),
        ("{layer: 1}[layer]", "1"),
        ("opened, opened.heads, opened.triple, opened.triple", "(Open(heads=2), 2, 6, 6)"),
        ("kind, kind.name, kind.value, kind.short()", "(<Kind.FULL: 'full'>, 'FULL', 'full', 'f')"),
        ("kind is None, kind == Kind('full')", "(False, True)"),
        ("word, word == 'fp8', f'{word}'", "(<Word.FP8: 'fp8'>, True, 'fp8')"),
        ("pair", "Pair(name='x', sizes=frozenset({'c', 'd'}))"),
        ("pair.name, pair.both()", "('x', 'x 2')"),
        ("pair[0], len(pair), [x for x in pair][0]", "('x', 2, 'x')"),
        ("plain.answer()", "42"),
        ("written, str(written), f'{written}'", "(Written!, 'in words', 'in words')"),
        ("len(holder), holder[1], [x for x in holder], 5 in holder", "(2, 6, [5, 6], True)"),
        ("list(holder), max(holder), sorted(holder, reverse=True)", "([5, 6], 6, [6, 5])"),
        ("table.total(), table['b'], len(table)", "(3, 2, 2)"),
        ("half, half + 1, half.numerator", "(Fraction(1, 2), Fraction(3, 2), 1)"),
        ("str(half), float(half), half * 2 == 1", "('1/2', 0.5, True)"),
        ("round(half + 1, 1), half.limit_denominator(1)", "(Fraction(3, 2), Fraction(0, 1))"),
        ("version, str(version)", "(<Version('0.33.0rc1')>, '0.33.0rc1')"),
        ("version.minor, version.release", "(33, (0, 33, 0))"),
        ("version < version, max(version, version) == version", "(False, True)"),
        ("frozen, frozen['a']", "(mappingproxy({'a': 1}), 1)"),
        ("frozen.get('b'), {**frozen}", "(None, {'a': 1})"),
    ],
)  # fmt: skip
def test_what_is_public_can_be_asked(source: str, text: str) -> None:
    assert evaluate(source, NAMES)[1] == text


@pytest.mark.parametrize(
    ("source", "words", "hint"),
    [
        ("layer.haeds", "a Layer has no 'haeds'", "heads"),
        ("layer.times", "times is a method", ".times()"),
        ("layer.heads()", "heads is a value, not a method", "brackets"),
        ("layer.fixed", "fixed is a method", ".fixed()"),
        ("layer.cached", "cached is a method", ".cached()"),
        ("layer.broken", "ValueError: no such thing", ""),
        ("layer.refused()", "not this layer", ""),
        ("layer.times(1, 2, 3)", "positional arguments", "by"),
        ("layer.times(buy=2)", "times() has no argument 'buy'", "by"),
        ("plain", "a Plain has no printed form", "answer"),
        ("[plain]", "a Plain has no printed form", "answer"),
        ("failing", "KeyError", ""),
        ("word.upper()", "a Word has no 'upper'", ""),
        ("word.format('x')", "a Word has no 'format'", ""),
        ("word + 'x'", "+ is not defined for a Word and a str", ""),
        ("table.update({'a': 2})", "a Table has no 'update'", "total"),
        ("table.pop('a')", "a Table has no 'pop'", ""),
        ("pair.count('x')", "a Pair has no 'count'", ""),
        ("kind.mro()", "a Kind has no 'mro'", "short"),
        ("Layer", "Layer is a function", "Layer(...)"),
        ("Layer.one()", "Layer is a function", ""),
        ("Kind.FULL", "Kind is a function", ""),
        ("half.as_integer_ratio()", "a Fraction has no", ""),
        ("half ** 10 ** 9", "may not exceed", ""),
        ("2 ** (half * 2 * 10 ** 9)", "may not exceed", ""),
        ("2 ** (half + half + 10 ** 9)", "may not exceed", ""),
        ("version + 1", "+ is not defined for a Version and an int", ""),
        ("version < '1.0'", "TypeError", ""),
        ("f'{half:.2f}'", "a Fraction has no format", "float"),
        ("plain()", "plain is a Plain, not a function", ""),
        ("len(plain)", "len()", ""),
        ("plain[0]", "not subscriptable", ""),
        ("[x for x in plain]", "not iterable", ""),
    ],
)
def test_what_is_not_public_is_refused_with_what_there_is(
    source: str, words: str, hint: str
) -> None:
    with pytest.raises(InputError) as caught:
        evaluate(source, NAMES)
    assert words in caught.value.message
    assert hint in caught.value.hint


def test_a_property_pays_for_what_it_may_do() -> None:
    with pytest.raises(InputError, match="too many steps"):
        evaluate("[layer.double for x in range(5000)]", NAMES)
    with pytest.raises(InputError, match="too many steps"):
        evaluate("[layer.times(x) for x in range(5000)]", NAMES)
