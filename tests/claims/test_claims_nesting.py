"""Estimating how deep a text nests, before a parser that recurses sees it."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvgate.claims.nesting import MOST, nests_too_deep

DEEP = {
    "brackets": "(" * 700 + "1" + ")" * 700,
    "lists in calls": "f([" * 350 + "])" * 350,
    "signs": "-" * 700 + "1",
    "nots": "not " * 700 + "1",
    "powers": "1" + "**1" * 700,
    "sums": "1" + "+1" * 700,
    "attributes": "a" + ".b" * 700,
    "calls": "a" + "()" * 700,
    "subscripts": "a" + "[0]" * 700,
    "choices": "1 if 1 else " * 400 + "1",
    "lambdas": "lambda: " * 700 + "1",
    "signs in an f-string": "f'{" + "-" * 700 + "1}'",
    "signs behind a string": "'a' + '''b''' + " + "-" * 700 + "1",
    "signs in a later element": "[1, 'a', " + "-" * 700 + "1]",
}


@pytest.mark.parametrize("kind", DEEP)
def test_what_nests_deep_is_seen(kind: str) -> None:
    assert nests_too_deep(DEEP[kind])


FLAT = {
    "a list of negative numbers": "[" + "-1, " * 2_000 + "]",
    "a dict": "{" + ", ".join(f"'a.b-{i}': -{i}" for i in range(600)) + "}",
    "a list of calls": "[" + ", ".join(f"f(a.b, -{i})" for i in range(500)) + "]",
    "signs in a string": "'" + "-" * 5_000 + "'",
    "brackets in a string": '"""' + "(" * 5_000 + '"""',
    "an unclosed string": "'" + "\\'" * 4_900,
    "a ruled comment": "1  # " + "-" * 900,
    "a long name": "a" * 9_000,
    "a hundred terms": " + ".join(f"a.b * {i}" for i in range(100)) + " " * 400,
}


@pytest.mark.parametrize("kind", FLAT)
def test_what_is_only_long_is_not_deep(kind: str) -> None:
    assert not nests_too_deep(FLAT[kind])


def _depth(tree: ast.AST) -> int:
    return 1 + max((_depth(child) for child in ast.iter_child_nodes(tree)), default=0)


PARTS = st.sampled_from(
    ["(", ")", "[", "]", "-", "1", "a", ".b", ", ", " + ", " if 1 else ", "'(-'"]
)


@given(st.lists(PARTS, max_size=60), st.integers(1, 400))
def test_a_tree_is_never_deeper_than_the_estimate_allows(parts: list[str], times: int) -> None:
    text = "".join(parts)
    source = "-" * times + "(" * min(times, 40) + text + ")" * min(times, 40) + " " * MOST
    if nests_too_deep(source):
        return
    try:
        tree = ast.parse(source.strip())
    except (SyntaxError, ValueError):
        return
    assert _depth(tree) <= 2 * MOST
