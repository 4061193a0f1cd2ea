"""Version ranges, judged by OSV's algorithm."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvgate.errors import InputError
from kvgate.records.versions import Range, affects, parse_version, ranges_text


@pytest.mark.parametrize(
    ("older", "newer"),
    [("0.9.0", "0.10.0"), ("0.22.0rc1", "0.22.0"), ("b6999", "b7000"), ("0.22", "0.22.1"),
     ("1.0.0.dev3", "1.0.0rc1"), ("v0.19.1", "0.20.0")],
)  # fmt: skip
def test_versions_are_ordered(older: str, newer: str) -> None:
    assert parse_version(older) < parse_version(newer)


@pytest.mark.parametrize(
    ("one", "other"), [("v0.22.0", "0.22"), ("0.19.0+cu130", "0.19.0"), ("b7000", "7000")]
)
def test_versions_are_the_same_in_any_spelling(one: str, other: str) -> None:
    assert parse_version(one) == parse_version(other)


@pytest.mark.parametrize("text", ["", "main", "0.x", "b", "b7x", "latest", "1..2"])
def test_what_is_no_version_is_an_error_that_shows_one(text: str) -> None:
    with pytest.raises(InputError) as error:
        parse_version(text)
    assert "0.22.0" in error.value.hint


@pytest.mark.parametrize(
    ("version", "inside"),
    [("0.12.9", False), ("0.13.0", True), ("0.21.9", True), ("0.22.0rc1", True), ("0.22.0", False),
     ("0.13.0rc1", False), ("0.19.0+cu130", True)],
)  # fmt: skip
def test_fixed_is_the_first_version_outside(version: str, *, inside: bool) -> None:
    assert affects([Range("vllm", "0.13.0", fixed="0.22.0")], "vllm", version) is inside


def test_last_affected_is_the_last_version_inside() -> None:
    ranges = [Range("vllm", "0.13.0", last_affected="0.21.0")]
    assert affects(ranges, "vllm", "0.21.0")
    assert not affects(ranges, "vllm", "0.21.1")


def test_a_gotcha_that_came_back_has_two_ranges() -> None:
    ranges = [Range("vllm", None, fixed="0.9.0"), Range("vllm", "0.12.0")]
    assert [v for v in ("0.8", "0.9", "0.11", "0.12", "9.0") if affects(ranges, "vllm", v)] == [
        "0.8",
        "0.12",
        "9.0",
    ]


def test_another_engine_is_not_affected() -> None:
    assert not affects([Range("vllm")], "sglang", "0.5.0")
    assert not affects([], "vllm", "0.5.0")


def test_only_a_range_without_ends_is_all_versions() -> None:
    assert Range("vllm").all_versions
    assert not Range("vllm", "0.1").all_versions
    assert not Range("vllm", fixed="0.1").all_versions


def test_ranges_in_words() -> None:
    ranges = [
        Range("vllm", "0.13.0", fixed="0.22.0"),
        Range("sglang", None, last_affected="0.5.1"),
        Range("llama.cpp", "b7000"),
        Range("dynamo"),
    ]
    assert ranges_text(ranges) == (
        "vllm from 0.13.0, fixed in 0.22.0; sglang up to 0.5.1; "
        "llama.cpp from b7000, not fixed yet; dynamo, all versions"
    )
    assert ranges_text([]) == "not tied to an engine"


def by_events(ranges: list[Range], version: int) -> bool:
    """OSV's evaluation, word for word: sorted events switch the answer, range by range."""
    for r in ranges:
        events = [(int(r.introduced or 0), "introduced")]
        events += [(int(r.fixed), "fixed")] if r.fixed else []
        events += [(int(r.last_affected), "last_affected")] if r.last_affected else []
        vulnerable = False
        for at, kind in sorted(events, key=lambda event: event[0]):
            if kind == "introduced" and version >= at:
                vulnerable = True
            elif (kind == "fixed" and version >= at) or (kind == "last_affected" and version > at):
                vulnerable = False
        if vulnerable:
            return True
    return False


@st.composite
def some_range(draw: st.DrawFn) -> Range:
    begin = draw(st.integers(0, 9))
    kind = draw(st.sampled_from(["open", "fixed", "last_affected"]))
    introduced = str(begin) if draw(st.booleans()) or begin else None
    if kind == "fixed":
        return Range("vllm", introduced, fixed=str(draw(st.integers(begin + 1, 12))))
    if kind == "last_affected":
        return Range("vllm", introduced, last_affected=str(draw(st.integers(begin, 12))))
    return Range("vllm", introduced)


@given(st.lists(some_range(), max_size=4), st.integers(0, 14))
def test_the_answer_is_that_of_osv_s_algorithm(ranges: list[Range], version: int) -> None:
    assert affects(ranges, "vllm", str(version)) == by_events(ranges, version)
