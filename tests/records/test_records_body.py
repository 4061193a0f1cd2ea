"""The sections of a record's body."""

from __future__ import annotations

import markdown
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvgate.records import body
from kvgate.records.prose import blank

WHOLE = "\n\n".join(f"## {name}\n\nText." for name in body.REQUIRED)


def sections(text: str) -> tuple[body.Section, ...]:
    return body.sections(text, blank(text, 0), 0)


def faults(text: str) -> list[tuple[str, int]]:
    return [(d.code, d.place.line) for d in body.check(sections(text), text, "a.md", 1)]


def test_a_section_runs_to_the_next_of_its_level() -> None:
    text = "## A\n\none\n\n### B\n\ntwo\n\n## C\n\nthree\n"
    a, b, c = sections(text)
    assert [(s.title, s.level, s.line) for s in (a, b, c)] == [
        ("A", 2, 1),
        ("B", 3, 5),
        ("C", 2, 9),
    ]
    assert a.body(text) == "one\n\n### B\n\ntwo"
    assert b.body(text) == "two"
    assert c.body(text) == "three"


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("## `x_y` --flag?", ["`x_y` --flag?"]),
        ("## Fix ##", ["Fix"]),
        ("##Fix", ["Fix"]),
        ("## Fix {#own-id}", ["Fix"]),
        ("Fix\n---", ["Fix"]),
        ("Text.\n\nFix\n===\nText", ["Fix"]),
        ("Text of\na paragraph\n---", []),
        ("| a |\n|---|", []),
        ("```\n## no\n```", []),
        ("<!--\n## no\n-->", []),
        ("    ## no", []),
        ("  ## no", []),
    ],
)
def test_headings_are_those_that_are_rendered(text: str, titles: list[str]) -> None:
    assert [s.title for s in sections(text)] == titles


def test_a_whole_body_has_no_fault() -> None:
    assert faults(WHOLE) == []
    assert faults(WHOLE.replace("## Notes", "## More\n\nText.\n\n## Notes")) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("## Workaround\n\nText.\n\n", "", [("KV141", 1)]),
        ("## Root cause", "## Root Cause", [("KV141", 5)]),
        ("## Workaround\n\nText.", "## Workaround", [("KV144", 9)]),
        ("## Workaround\n\nText.", "## Workaround\n\n<!-- -->", []),
        ("## Notes", "# Notes\n\n## Notes", [("KV145", 13)]),
        ("## Notes", "## Symptom\n\nText.\n\n## Notes", [("KV143", 13)]),
        (
            "## Symptom\n\nText.\n\n## Root cause",
            "## Root cause\n\nText.\n\n## Symptom",
            [("KV142", 5)],
        ),
    ],
)
def test_each_fault_is_named_at_its_line(
    old: str, new: str, expected: list[tuple[str, int]]
) -> None:
    assert old in WHOLE
    assert faults(WHOLE.replace(old, new)) == expected


MARKS = st.sampled_from(["# A", "## B", "### C", "\n", "\n\n", "text", "---", "===", "```", "- x"])


@given(st.lists(MARKS, max_size=30).map("\n".join))
def test_sections_follow_each_other_and_cover_what_they_say(text: str) -> None:
    found = sections(text)
    assert [s.start for s in found] == sorted(s.start for s in found)
    for s in found:
        assert s.start < s.body_start <= max(s.end, s.body_start) <= len(text)
        assert text.count("\n", 0, s.start) + 1 == s.line


@given(st.lists(st.sampled_from(["# A", "## B", "x", ""]), max_size=12).map("\n".join))
def test_the_renderer_sees_the_same_headings(text: str) -> None:
    html = markdown.markdown(text)
    assert len(sections(text)) == html.count("<h1>") + html.count("<h2>")
