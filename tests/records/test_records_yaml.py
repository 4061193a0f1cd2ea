"""YAML of a front matter: what is taken, what is refused, and where it stands."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from kvgate.records import yaml
from kvgate.records.yaml import parse


def faults(text: str) -> list[tuple[str, int, int]]:
    return [(d.code, d.place.line, d.place.column) for d in parse(text, "a.md", 2)[1]]


def value(text: str) -> object:
    node, found = parse(text, "a.md")
    assert not found
    assert node is not None
    return node.value()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on: yes", {"on": "yes"}),
        ("no: off", {"no": "off"}),
        ("a: true", {"a": True}),
        ("a: False", {"a": False}),
        ("a: 0.20", {"a": 0.2}),
        ('a: "0.20"', {"a": "0.20"}),
        ("a: 0.19.1", {"a": "0.19.1"}),
        ("a: 2026-11-30", {"a": "2026-11-30"}),
        ("a: 010", {"a": 10}),
        ("a: 0x1F", {"a": 31}),
        ("a: 1_000", {"a": "1_000"}),
        ("a: 12:30", {"a": "12:30"}),
        ("a: ~", {"a": None}),
        ("a:", {"a": None}),
        ("a: ''", {"a": ""}),
        ("a: [x, {b: 1}]", {"a": ("x", {"b": 1})}),
        ("a: |\n  one\n  two\n", {"a": "one\ntwo\n"}),
        ("a: é ü 価値", {"a": "é ü 価値"}),
        ("a: .inf", {"a": float("inf")}),
        ("a: -1.5e3", {"a": -1500.0}),
        ("a:\tb", {"a": "b"}),
        ("a: " + "9" * 5000, {"a": "9" * 5000}),
    ],
)
def test_scalars_are_read_by_the_rules_of_yaml_1_2(text: str, expected: object) -> None:
    assert value(text) == expected


def test_every_value_knows_its_line_and_columns() -> None:
    node, _ = parse("a: 1\nb:\n  - {c: word}\n", "a.md", 2)
    assert node is not None
    word = node.at(("b", 0, "c"))
    assert (word.line, word.column, word.end_column) == (4, 9, 13)
    key = node.key(("b", 0, "c"))
    assert (key.line, key.column) == (4, 6)


def test_a_path_that_leads_nowhere_gives_the_last_value_on_the_way() -> None:
    node, _ = parse("a: {b: 1}", "a.md")
    assert node is not None
    assert node.at(("a", "x", "y")) is node.at(("a",))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\na: 2", [("KV113", 3, 1)]),
        ("a: {b: 1, b: 2}", [("KV113", 2, 11)]),
        ("a: &x 1", [("KV114", 2, 4)]),
        ("a: *x", [("KV114", 2, 4)]),
        ("a: !!str 1", [("KV115", 2, 4)]),
        ("a: !thing x", [("KV115", 2, 4)]),
        ("<<: {a: 1}", [("KV116", 2, 1)]),
        ("a: 1\n--- \nb: 2", [("KV117", 3, 1)]),
        ("%YAML 1.1\n---\na: 1", [("KV117", 2, 1)]),
        ("1: x", [("KV118", 2, 1)]),
        ("true: x", [("KV118", 2, 1)]),
        ("? [a]\n: 1", [("KV118", 2, 3)]),
        ("a:\n\tb: 1", [("KV112", 3, 1)]),
        ("a:\n  b: 1\n \t c: 1", [("KV112", 4, 2)]),
        ("a: b: c", [("KV111", 2, 5)]),
        ("a: [1, 2", [("KV111", 2, 1)]),
        ("a: @x", [("KV111", 2, 4)]),
        ("a: \x01", [("KV111", 2, 4)]),
        ("x: 1\n\n  a: \x07", [("KV111", 4, 6)]),
        ("a: b\u2028c\na: 1", [("KV111", 2, 5), ("KV113", 3, 1)]),
        ("a: 'b\x85c'\na: 1", [("KV111", 2, 6), ("KV113", 3, 1)]),
    ],
)
def test_what_a_record_may_not_use_is_refused_where_it_stands(
    text: str, expected: list[tuple[str, int, int]]
) -> None:
    assert faults(text) == expected


def test_refusals_say_what_to_do() -> None:
    for text in ("a: b: c", "a: @x", 'a: "x', "a: *", "a:\n\tb: 1", 'a: "\\q"', "a: 1\na: 2"):
        assert all(d.hint for d in parse(text, "a.md")[1]), text


def test_a_value_behind_an_alias_is_not_complained_of_again() -> None:
    node, found = parse("a: &x [1]\nb: *x", "a.md")
    assert [d.code for d in found] == ["KV114", "KV114"]
    assert node is not None
    assert node.at(("b",)).broken


def test_a_bomb_of_aliases_does_not_grow() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 40)]
    node, found = parse("\n".join(lines), "a.md")
    assert {d.code for d in found} == {"KV114"}
    assert node is not None
    assert len(str(node.value())) < 10_000


@pytest.mark.parametrize("text", ["[" * 100_000, "{" * 100_000, "a: " + "[" * 20, "- " * 50 + "x"])
def test_deep_nesting_is_refused(text: str) -> None:
    node, found = parse(text, "a.md")
    assert node is None
    assert {d.code for d in found} <= {"KV119", "KV111"}
    assert found


def test_too_many_values_are_refused() -> None:
    node, found = parse("a: [" + "x, " * (yaml.MOST_NODES + 1) + "]", "a.md")
    assert node is None
    assert [d.code for d in found] == ["KV119"]


@given(st.text(max_size=200))
def test_any_text_is_read_or_complained_of(text: str) -> None:
    node, found = parse(text, "a.md")
    assert node is not None or found or not text.strip() or "#" in text or text.startswith("\ufeff")


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Zl", "Zp"]))
TREES = st.recursive(
    WORDS | st.integers(-(10**9), 10**9) | st.booleans(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


def plain(item: object) -> object:
    if isinstance(item, list):
        return tuple(plain(i) for i in item)
    return {k: plain(v) for k, v in item.items()} if isinstance(item, dict) else item


@given(st.dictionaries(WORDS, TREES, max_size=5))
def test_json_is_read_as_what_it_is(tree: dict[str, object]) -> None:
    node, found = parse(json.dumps(tree, ensure_ascii=False), "a.md")
    assert {d.code for d in found} <= {"KV119"}
    if not found:
        assert node is not None
        assert node.value() == plain(tree)


@given(st.dictionaries(WORDS, TREES, max_size=5))
def test_what_another_program_writes_is_never_read_as_something_else(
    tree: dict[str, object],
) -> None:
    written = io.StringIO()
    YAML(typ="safe", pure=True).dump(tree, written)
    # libyaml takes ?A in a flow list for a key without a value; the schema takes no such thing.
    assume("?" not in written.getvalue())
    node, found = parse(written.getvalue(), "a.md")
    if not found:
        assert node is not None
        assert node.value() == plain(tree)
