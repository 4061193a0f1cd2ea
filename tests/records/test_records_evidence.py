"""Evidence footnotes: what a statement with a number must carry, and where a finding points."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvgate.errors import Diagnostic, Place
from kvgate.records.evidence import Sources, check
from kvgate.records.footnotes import footnotes
from kvgate.records.prose import CODE, blank
from kvgate.records.units import units


def faults(
    text: str, claims: tuple[str, ...] = (), sources: tuple[str, ...] = ()
) -> list[Diagnostic]:
    places = {name: Place("a.md", 90) for name in claims}
    known = Sources(sources, lambda name: Place("a.md", 80, 1 + len(name)))
    return list(check(blank(text, 0), "a.md", places, known))


def naked(text: str) -> list[str]:
    """The texts that KV305 points at."""
    lines = text.split("\n")
    found = []
    for d in faults(text):
        if d.code == "KV305":
            line = lines[d.place.line - 1]
            found.append(line[d.place.column - 1 : d.end_column - 1 if d.end_column else None])
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It takes 24.0 KiB.", ["24.0 KiB"]),
        ("It takes 24.0 KiB[^a].", []),
        ("It takes 24.0 KiB.[^a]", []),
        ("It takes 24.0 KiB. [^a]", []),
        ("It takes 24.0 KiB.[^a][^b] Then 12 ms.", ["12 ms"]),
        ("It takes 24.0 KiB[^a]. Then 12 ms.", ["12 ms"]),
        ("It takes 24.0 KiB. Then 12 ms[^a].", ["24.0 KiB"]),
        ("It takes 24.0 KiB and 12 ms[^a], and 5 % more.", []),
        ("It takes some, e.g. 10 GiB[^a].", []),
        ("See Fig. 3 for 10 GiB[^a]. Or 5 GiB", ["5 GiB"]),
        ("About 24.0\nKiB are taken.", ["24.0"]),
        ("A line\nand 12 ms more\nof it[^a].", []),
        ("One.\n\nTwo 5 %.", ["5 %"]),
        ("Is it 5 %? It is[^a].", ["5 %"]),
        ("**5 %.** It is[^a].", ["5 %"]),
        ("“5 %.” It is[^a].", ["5 %"]),
        ("约 5 ms。然后[^a]。", ["5 ms"]),
        ("Version 0.22. SM90 only.", []),
        ("At TP4, 8xH100.", []),
    ],
)
def test_a_sentence_with_a_quantity_carries_a_footnote(text: str, expected: list[str]) -> None:
    assert naked(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "`24.0 KiB`", "``24.0 KiB ` ``", "```\n24.0 KiB\n```", "~~~~\n24.0 KiB\n~~~\n10 %\n~~~~",
        "Text.\n\n    24.0 KiB", "<!-- 24.0 KiB -->", "<!--\n24.0 KiB\n\n10 %\n-->",
        "## A heading of 24.0 KiB", "## A heading\n\n[a](https://a.example/24.0%20KiB)",
        "[[24-ms-record]]", "[[a-record#10-ms]]", '<img width="10 %">', "<https://a.example/10%>",
        "https://a.example/?q=10%", "A heading, 5 %\n---", "A heading, 5 %\n===",
        "- item\n\n        24.0 KiB", '\\`24\\`',
    ],
)  # fmt: skip
def test_code_comments_headings_and_addresses_say_nothing(text: str) -> None:
    assert naked(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- one 5 GiB\n- two 6 GiB[^a]\n  and 7 ms", ["5 GiB"]),
        ("1. one 5 GiB[^a]\n2. two 6 GiB", ["6 GiB"]),
        ("- one[^a]\n\n    a paragraph of 5 %", ["5 %"]),
        ("> quoted 9 ms\n> and more[^a].", []),
        ("> quoted 9 ms", ["9 ms"]),
        ('!!! note "5 %"\n    Text[^a].', ["5 %"]),
        ("[a link of 5 %](https://a.example)", ["5 %"]),
        ("[[a-record|10 ms]]", ["10 ms"]),
        ("`code` takes 5 ms", ["5 ms"]),
        ("`a\n\nb 5 ms` c", ["5 ms"]),
        ("<!-- never closed 5 ms", ["5 ms"]),
        ("    Code of 5 ms\nand of 6 ms", ["6 ms"]),
        ("Text\n    of 5 ms", ["5 ms"]),
    ],
)
def test_every_other_text_does(text: str, expected: list[str]) -> None:
    assert naked(text) == expected


def test_a_table_cell_is_borne_by_its_row_or_its_column() -> None:
    table = (
        "| GPU | memory[^m] | bandwidth |\n|---|---:|---|\n"
        "| one | 1 GiB | 1 TB/s |\n"
        "| two[^t] | 2 GiB | 2 TB/s |\n"
        "| 3 ms | 3 GiB | 3 TB/s[^b] |\n"
        "| 4 ms | | \\| 5 ms |\n"
    )
    assert naked(table) == ["1 TB", "4 ms", "5 ms"]


@pytest.mark.parametrize(
    ("head", "cell", "expected"),
    [
        ("bytes per token", "1,152", ["1,152"]),
        ("KiB/token", "**24.0**", ["24.0"]),
        ("prefill (ms)", "~12", ["12"]),
        ("share, %", "91", ["91"]),
        ("bytes per token[^a]", "1,152", []),
        ("bytes per token", "1,152[^a]", []),
        ("bytes per token", "`1,152`", []),
        ("head size", "256", []),
        ("SM", "9.0", []),
        ("min", "12", []),
        ("tokens", "none", []),
    ],
)
def test_the_head_of_a_column_may_name_the_unit(head: str, cell: str, expected: list[str]) -> None:
    assert naked(f"| x | {head} |\n|---|---|\n| y | {cell} |") == expected


def test_lines_with_pipes_that_are_no_table_are_sentences() -> None:
    assert naked("a | 5 ms | b[^a]") == []


def test_a_footnote_names_a_claim_or_a_source() -> None:
    found = faults("One[^kv-size]. Two[^kv-sise] and [^report].", ("kv-size",), ("report",))
    assert [(d.code, d.place.column, d.end_column) for d in found] == [("KV301", 19, 29)]
    assert "did you mean 'kv-size'" in found[0].hint
    (alone,) = faults("One[^kv-size].", (), ())
    assert "'# claim: kv-size'" in alone.hint


def test_without_a_readable_front_matter_no_footnote_is_unknown() -> None:
    assert not list(check("One[^a].", "a.md", {}, None))


def test_claims_and_sources_that_bear_nothing_are_named_at_their_place() -> None:
    found = faults("One[^used].", ("used", "idle"), ("report",))
    assert [(d.code, d.place.line) for d in found] == [("KV302", 90), ("KV303", 80)]


def test_a_name_means_one_thing() -> None:
    assert [d.code for d in faults("One[^a].", ("a",), ("a",))] == ["KV304"]


def test_a_footnote_written_by_hand_is_refused() -> None:
    found = faults("One[^a].\n\n[^a]: by hand", ("a",))
    assert [(d.code, d.place.line, d.place.column) for d in found] == [("KV306", 3, 1)]


@pytest.mark.parametrize("text", ["\\[^a]", "`[^a]`", "[^]", "[^a b]", "[a^b]", "x[^a]: y"])
def test_what_is_no_reference(text: str) -> None:
    assert footnotes(blank(f"See {text}", 0)) == ()


def test_blanking_keeps_every_offset() -> None:
    text = "---\nid: a\n---\nA `b c` <!-- d\ne --> f\n```\ng\n```\n\n    h\n"
    prose = blank(text, 14)
    assert len(prose) == len(text)
    assert [i for i, c in enumerate(prose) if c == "\n"] == [
        i for i, c in enumerate(text) if c == "\n"
    ]
    assert prose.replace(CODE, "").split() == ["A", "f"]


MARKS = st.sampled_from(
    ["`", "``", "```\n", "~~~", "\n", "\n\n", "    ", "- ", "1. ", "> ", "| ", "|---|", "5 ms",
     "[^a]",
     ". ", "A", "<!--", "-->", "[[", "]]", "](", ")", "#", "---", "===", "\\", "!!! ", ":", "é",
     "\t"]
)  # fmt: skip
TEXTS = st.lists(MARKS, max_size=60).map("".join) | st.text(max_size=100)


@given(TEXTS)
def test_any_text_is_judged(text: str) -> None:
    prose = blank(text, 0)
    assert len(prose) == len(text)
    for unit in units(prose):
        assert 0 <= unit.start <= unit.start + len(unit.text) <= len(text)
    for d in faults(text, ("a",), ("b",)):
        if d.place.line < 80:
            line = text.split("\n")[d.place.line - 1]
            assert 1 <= d.place.column <= d.end_column or len(line) + 1


@given(TEXTS)
def test_a_footnote_in_every_sentence_leaves_no_naked_number(text: str) -> None:
    # The space, since "[^a]:" would begin a footnote's definition.
    cited = text.replace("5 ms", "5 ms[^a] ")
    assert not any("5 ms" in d.message for d in faults(cited) if d.code == "KV305")


@pytest.mark.parametrize(
    "piece",
    [". ", "a. A ", "|a", "| 1 ms |\n", "[[", "](", "](a(a)", "<a", "`", "` `` ", "<!--",
     "<!-- ` -->",
     "[^a", "[^a]", ". [^a]", "\n\n", "    a\n\n", "- ", "> ", "http://", "**", ".", "1. ", "e.g. ",
     "x\n---\n", "\t", "~~~\n", "- a\n    - b\n"],
)  # fmt: skip
def test_time_grows_with_the_length_only(piece: str) -> None:
    def seconds(count: int) -> float:
        text = piece * count
        best = 9e9
        for _ in range(2):
            start = time.process_time()
            faults(text)
            best = min(best, time.process_time() - start)
        return best

    # Eight times the text takes eight times as long, not sixty-four.
    assert seconds(16_000) < 30 * max(seconds(2_000), 0.002)
