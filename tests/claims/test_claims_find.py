"""Finding claims: what counts as an example, where it stands, what it is called, what is wrong."""

from __future__ import annotations

import doctest
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvgate.claims import CODES, find


def page(text: str) -> str:
    return dedent(text).lstrip("\n")


def codes(text: str) -> list[str]:
    return [problem.code for problem in find(text, path="page.md").problems]


def test_an_example_has_its_source_its_output_and_its_place() -> None:
    document = find(
        page("""
        # A page

        ```pycon
        >>> 2 * KiB
        2048
        >>> sum(
        ...     [1, 2]
        ... )
        3
        ```
        """),
        path="gotchas/a.md",
    )
    assert [(e.source, e.want, str(e.place)) for e in document.examples] == [
        ("2 * KiB", "2048", "gotchas/a.md:4:1"),
        ("sum(\n    [1, 2]\n)", "3", "gotchas/a.md:6:1"),
    ]
    assert [e.want_line for e in document.examples] == [5, 9]
    assert document.problems == ()


def test_the_first_line_of_the_text_may_stand_further_down_the_page() -> None:
    document = find("```pycon\n>>> 1\n1\n```\n", path="a.md", first_line=41)
    assert document.examples[0].line == 42


def test_output_ends_at_a_blank_line_a_prompt_and_the_end_of_the_fence() -> None:
    document = find("```pycon\n>>> 1\n1\n>>> 2\n2\n\n>>> 3\n3\n```\n4\n", path="a.md")
    assert [e.want for e in document.examples] == ["1", "2", "3"]


def test_the_closing_fence_is_never_taken_as_output() -> None:
    for fence in ("```", "````", "~~~"):
        assert find(f"{fence}pycon\n>>> 1\n1\n{fence}\n", path="a.md").examples[0].want == "1"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_line_breaks_of_both_kinds_give_the_same_examples(newline: str) -> None:
    text = "Text\n\n```pycon\n>>> [1,\n...  2]  # claim: two\n[1,\n 2]\n```\n".replace(
        "\n", newline
    )
    (example,) = find(text, path="a.md").examples
    assert (example.source, example.want) == ("[1,\n 2]  # claim: two", "[1,\n 2]")
    assert (example.name, example.line) == ("two", 4)


def test_a_fence_in_a_list_item_keeps_its_columns() -> None:
    text = "- item\n\n    ```pycon\n    >>> 1 + x.y()\n    1\n    ```\n"
    (example,) = find(text, path="a.md").examples
    assert (example.place.line, example.place.column) == (4, 5)
    assert example.want == "1"
    assert example.place_of(example.statement.value.right).column == 13  # type: ignore[attr-defined]


def test_a_fence_in_a_quote_is_read_without_the_quote_marks() -> None:
    text = "> ```pycon\n> >>> 1\n> 1\n> ```\n"
    (example,) = find(text, path="a.md").examples
    assert (example.source, example.want, example.place.column) == ("1", "1", 3)


def test_a_page_without_a_final_line_break_keeps_its_last_example() -> None:
    assert find("```pycon\n>>> 1\n1\n```", path="a.md").examples[0].want == "1"


def test_prompts_outside_of_fences_are_prose() -> None:
    assert find(">>> 1\n1\n\n    >>> 2\n", path="a.md").examples == ()


@pytest.mark.parametrize(
    "header",
    ["pycon", "Pycon", '{.pycon title="x"}', "{ .pycon }", "{#a .pycon}", '.pycon title="x"'],
)
def test_the_language_may_be_written_in_each_of_the_renderer_s_ways(header: str) -> None:
    assert len(find(f"```{header}\n>>> 1\n1\n```\n", path="a.md").examples) == 1


def test_columns_count_characters_where_the_syntax_tree_counts_bytes() -> None:
    text = '```pycon\n>>> ("é", "naïve", x.__class__)\n```\n'
    (problem,) = find(text, path="a.md").problems
    assert problem.place.column == text.splitlines()[1].index("x.__class__") + 1


def test_a_problem_on_a_continuation_line_stands_on_that_line() -> None:
    text = "```pycon\n>>> [1,\n...  2,\n...  lambda: 1]\n```\n"
    (problem,) = find(text, path="a.md").problems
    assert (problem.place.line, problem.place.column) == (4, 6)


# -- names --------------------------------------------------------------------------------------


def test_a_comment_names_the_claim_and_is_no_part_of_its_code() -> None:
    (example,) = find("```pycon\n>>> 1 + 1  # claim: the-sum\n2\n```\n", path="a.md").examples
    assert (example.name, example.code) == ("the-sum", "1 + 1")


def test_the_name_may_stand_on_any_line_of_an_example() -> None:
    text = "```pycon\n>>> [1,  # claim: first\n...  2]\n[1, 2]\n```\n"
    (example,) = find(text, path="a.md").examples
    assert (example.name, example.code) == ("first", "[1,\n 2]")


@pytest.mark.parametrize(
    "source", ["'# claim: no'", "f'# claim: no'", "'''# claim: no'''", "('a'\n...  '# claim: no')"]
)
def test_text_in_a_string_names_nothing(source: str) -> None:
    document = find(f"```pycon\n>>> {source}\n```\n", path="a.md")
    assert [e.name for e in document.examples] == [""]
    assert document.problems == ()


def test_a_string_that_looks_like_a_name_does_not_hide_the_real_one() -> None:
    text = "```pycon\n>>> '# claim: no'  # claim: yes\n```\n"
    assert find(text, path="a.md").examples[0].name == "yes"


def test_claims_are_found_by_name() -> None:
    text = "```pycon\n>>> a = 1\n>>> a  # claim: one\n1\n>>> a + 1  # claim: two\n2\n```\n"
    document = find(text, path="a.md")
    assert {name: e.code for name, e in document.claims.items()} == {"one": "a", "two": "a + 1"}


# -- what is wrong ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "code", "line", "column"),
    [
        (">>> 1 +\n", "KV310", 2, 8),
        (">>> (1,\n... 2\n", "KV310", 2, 5),
        (">>> x = \n1\n", "KV310", 2, 8),
        (">>> 1\n1\n\n2\n", "KV311", 5, 1),
        ("2\n>>> 1\n1\n", "KV311", 2, 1),
        (">>> # only a comment\n2\n", "KV311", 2, 1),
        (">>> # claim: nothing\n>>> 1\n1\n", "KV315", 2, 1),
        (">>> x = 1  # claim: assigned\n", "KV315", 2, 12),
        (">>> 1  # claim: a\n1\n>>> 2  # claim: a\n2\n", "KV316", 4, 1),
        (">>> 1  # claim: Not_A_Name\n1\n", "KV317", 2, 8),
        (">>> 1  # claim:\n1\n", "KV317", 2, 8),
        (">>> 1  # Claims : two words\n1\n", "KV317", 2, 8),
        (">>> [1,  # claim: a\n...  2]  # claim: b\n[1, 2]\n", "KV317", 3, 10),
        (">>>1\n1\n", "KV318", 2, 1),
        (">>> [1,\n...2]\n[1, 2]\n", "KV318", 3, 1),
        ("  >>> 1\n1\n", "KV318", 3, 1),
        ("  >>> [1,\n... 2]\n", "KV318", 3, 1),
        (">>> 1; 2\n", "KV320", 2, 8),
        (">>> 'a\u202eb'\n", "KV310", 2, 7),
        (">>> 'a\x00b'\n", "KV310", 2, 7),
        (">>> '" + "a" * 10_001 + "'\n", "KV319", 2, 1),
    ],
)
def test_each_problem_is_told_at_its_line_and_column(
    lines: str, code: str, line: int, column: int
) -> None:
    problems = find(f"```pycon\n{lines}```\n", path="a.md").problems
    assert (code, line, column) in [(p.code, p.place.line, p.place.column) for p in problems]


def test_a_fence_without_examples_is_a_problem() -> None:
    assert codes("```pycon\n```\n") == ["KV312"]
    assert codes("```pycon\n>>> # a comment\n```\n") == ["KV312"]
    assert codes("```pycon\nIn [1]: 1 + 1\n```\n") == ["KV312", "KV311"]


def test_an_unclosed_fence_is_a_problem_whatever_its_language() -> None:
    assert codes("```pycon\n>>> 1\n1\n") == ["KV313"]
    assert codes("```yaml\na: 1\n") == ["KV313"]


@pytest.mark.parametrize("language", ["python", "py", "python3", "doctest", "", "ipython"])
def test_prompts_in_another_fence_are_told_to_be_unchecked(language: str) -> None:
    text = f"Text\n\n```{language}\n# a comment\n>>> 1 + 1\n3\n```\n"
    (problem,) = find(text, path="a.md").problems
    assert (problem.code, problem.place.line, problem.place.column) == ("KV314", 5, 1)


@pytest.mark.parametrize("fence", ["python\nx = 1", "pytb\n>>> 1", "text\n>>> 1", "sh\n>>> x"])
def test_fences_that_promise_nothing_are_left_alone(fence: str) -> None:
    assert codes(f"```{fence}\n```\n") == []


def test_a_forgotten_continuation_prompt_is_hinted_at() -> None:
    (problem,) = find("```pycon\n>>> sum([1,\n2])\n3\n```\n", path="a.md").problems
    assert problem.code == "KV310"
    assert "..." in problem.hint


def test_all_problems_of_a_page_are_told_at_once_in_the_order_of_its_lines() -> None:
    text = "```pycon\n>>> 1 +\n>>> lambda: 1\n>>> eval('1')\n\nstray\n```\n```pycon\n```\n"
    problems = find(text, path="a.md").problems
    assert [p.code for p in problems] == ["KV310", "KV320", "KV321", "KV311", "KV312"]
    assert [p.place.line for p in problems] == sorted(p.place.line for p in problems)


def test_every_problem_has_a_code_that_is_explained() -> None:
    assert all(code.startswith("KV3") and "KV310" <= code <= "KV399" for code in CODES)
    assert all(text and text[0].islower() for text in CODES.values())


def test_too_many_examples_on_a_page_are_refused() -> None:
    document = find("```pycon\n" + ">>> 1\n1\n" * 5_001 + "```\n", path="a.md")
    assert [p.code for p in document.problems] == ["KV319"]
    assert not document.runnable


# -- like doctest -------------------------------------------------------------------------------

LINES = st.lists(
    st.sampled_from([
        ">>> 1", ">>> [1,", "...  2]", ">>> x", "1", "[1, 2]", "", "  ", "text", ">>> # note",
        "... # note", ">>> 'a b'", "    1", ">>> (", "... )", "...", ">>>",
    ]),
    max_size=14,
)  # fmt: skip


@given(LINES)
def test_prompts_are_read_as_doctest_reads_them(lines: list[str]) -> None:
    body = "".join(f"{line}\n" for line in lines)
    ours = find(f"```pycon\n{body}```\n", path="a.md")
    refused = [p.place.line for p in ours.problems if p.code in ("KV310", "KV320")]
    theirs = [
        (example.source.rstrip(), example.want.rstrip(), example.lineno + 2)
        for example in doctest.DocTestParser().get_examples(body)
        if _has_code(example) and not any(_within(example, line) for line in refused)
    ]
    assert [(e.source, e.want, e.line) for e in ours.examples] == theirs


def _has_code(example: doctest.Example) -> bool:
    lines = [line.strip() for line in example.source.split("\n")]
    return any(line and not line.startswith("#") for line in lines)


def _within(example: doctest.Example, line: int) -> bool:
    first = example.lineno + 2
    return first <= line < first + example.source.count("\n")
