"""Fixing a page: only outputs that moved are rewritten, and the rest stays byte for byte."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvgate.claims import Report, find, fix, fixable, run
from kvgate.errors import InputError


def refuse(word: object) -> int:
    raise InputError(f"no {word}")


class Odd:
    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


Odd.__module__ = "kvgate.fake"
NAMES = {"KiB": 1024, "refuse": refuse, "odd": Odd}


def ran(text: str) -> Report:
    return run(find(text, path="page.md"), NAMES)


def fixed(text: str) -> str:
    return fix(text, ran(text))


def changed_lines(old: str, new: str) -> list[str]:
    lines = difflib.ndiff(old.splitlines(keepends=True), new.splitlines(keepends=True))
    return [line for line in lines if line[0] in "+-"]


PAGE = """# Title

Some prose with `>>> 1` in it.

```pycon
>>> a = 3 * KiB
>>> a  # claim: bytes
3072
>>> [a,
...  a + 1]
[3072, 3073]
```

- item

    ```pycon
    >>> a / 2
    1536.0
    ```

> ~~~pycon
> >>> {"b", "a"}
> {'a', 'b'}
> ~~~
"""


def test_a_page_that_is_right_stays_as_it_is() -> None:
    assert ran(PAGE).ok
    assert fixed(PAGE) == PAGE


def test_each_output_that_moved_is_rewritten_in_its_place() -> None:
    old = PAGE.replace("= 3 * KiB", "= 2 * KiB")
    new = fixed(old)
    assert changed_lines(old, new) == [
        "- 3072\n",
        "+ 2048\n",
        "- [3072, 3073]\n",
        "+ [2048, 2049]\n",
        "-     1536.0\n",
        "+     1024.0\n",
    ]
    assert ran(new).ok


def test_indentation_and_quote_marks_are_kept() -> None:
    old = PAGE.replace("1536.0", "1").replace("> {'a', 'b'}", "> {'b', 'a'}")
    assert fixed(old) == PAGE


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_line_breaks_are_kept(newline: str) -> None:
    right = PAGE.replace("\n", newline)
    assert fixed(right.replace("3072" + newline, "1" + newline)) == right


def test_an_output_of_several_lines_becomes_the_one_line_there_is() -> None:
    old = "```pycon\n>>> [1, 2,\n...  3]\n[1,\n 2]\n>>> 4\n4\n```\n"
    assert fixed(old) == "```pycon\n>>> [1, 2,\n...  3]\n[1, 2, 3]\n>>> 4\n4\n```\n"


def test_an_output_that_only_wraps_otherwise_is_left_alone() -> None:
    text = "```pycon\n>>> [1, 2]\n[1,\n 2]\n```\n"
    assert fixed(text) == text


def test_a_missing_output_is_written() -> None:
    old = "> ```pycon\n> >>> [1,\n> ...  2]  # claim: x\n>\n> >>> 3\n> ```\n"
    new = "> ```pycon\n> >>> [1,\n> ...  2]  # claim: x\n> [1, 2]\n>\n> >>> 3\n> 3\n> ```\n"
    assert fixed(old) == new


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_page_may_end_with_the_output(end: str) -> None:
    assert fixed(f"```pycon\n>>> 1\n2{end}") == f"```pycon\n>>> 1\n1{end}"
    assert fixed("```pycon\r\n>>> 1") == "```pycon\r\n>>> 1\r\n1"


@pytest.mark.parametrize(
    "example",
    [
        ">>> refuse(1)\n5\n",
        ">>> 1 / 0\n5\n",
        ">>> 2 ** 10 ** 9\n5\n",
        ">>> refuse(1)\nInputError: no 2\n",
        ">>> 5\nInputError: no 5\n",
        ">>> None\n5\n",
        ">>> a = 5\n5\n",
        ">>> nothing\n5\n",
    ],
)
def test_an_example_that_gives_no_value_or_another_kind_is_for_a_person(example: str) -> None:
    text = f"```pycon\n{example}>>> 2\n3\n```\n"
    found = ran(text)
    assert [fixable(result) for result in found.results] == [False, True]
    assert fix(text, found) == text.replace("\n3\n", "\n2\n")


def test_nothing_is_rewritten_on_a_page_that_may_not_run() -> None:
    text = "```pycon\n>>> 1\n2\n>>> lambda: 1\n```\n"
    assert fixed(text) == text


def test_a_page_that_changed_meanwhile_is_not_rewritten() -> None:
    report = ran(PAGE.replace("3072\n", "1\n"))
    with pytest.raises(InputError, match="changed since"):
        fix(PAGE, report)
    with pytest.raises(InputError, match="changed since"):
        fix("", report)


@pytest.mark.parametrize("text", ["a\n\nb", ">>> 1", "... 1", ""])
def test_an_output_that_would_be_read_as_something_else_is_left_alone(text: str) -> None:
    page = f"```pycon\n>>> odd({text!r})\n1\n```\n"
    assert fixed(page) == page


@pytest.mark.parametrize("text", ["```", "  x\n```\ny", "x "])
def test_an_output_that_would_break_the_page_is_not_written(text: str) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        fixed(f"```pycon\n>>> odd({text!r})\n1\n```\n")


def test_an_output_of_more_lines_is_written_with_the_same_indentation() -> None:
    page = "- x\n\n    ```pycon\n    >>> odd('a\\nb')\n    1\n    ```\n"
    assert fixed(page) == page.replace("    1\n", "    a\n    b\n")
    assert ran(fixed(page)).ok


EXAMPLES = st.lists(
    st.tuples(
        st.sampled_from(["1 + 1", "[1,\n...  2]", "'é'", "{'b', 'a'}", "refuse(1)", "x"]),
        st.sampled_from(["", "2\n", "[1, 2]\n", "[1,\n 2]\n", "old\n", "InputError: no 1\n", "\n"]),
    ),
    min_size=1,
    max_size=6,
)  # fmt: skip
FRAMES = st.sampled_from([("", "```"), ("> ", "~~~"), ("    ", "````")])


@settings(max_examples=200, deadline=None)
@given(EXAMPLES, FRAMES, st.sampled_from(["\n", "\r\n"]))
def test_a_fixed_page_differs_in_moved_outputs_only_and_fixing_it_again_changes_nothing(
    examples: list[tuple[str, str]], frame: tuple[str, str], newline: str
) -> None:
    prefix, marker = frame
    body = "".join(f">>> {source}\n{want}" for source, want in examples)
    lines = f"{marker}pycon\n{body}{marker}".split("\n")
    above = "- item\n\n" if prefix == "    " else "Text\n\n"
    page = (above + "\n".join(prefix + line for line in lines) + "\n").replace("\n", newline)
    before = ran(page)
    new = fix(page, before)
    after = ran(new)
    assert fix(new, after) == new
    assert not any(fixable(result) for result in after.results)
    assert [r.example.source for r in after.results] == [r.example.source for r in before.results]
    kept = [r.expected for r in before.results if not fixable(r)]
    assert [
        r.expected for r, b in zip(after.results, before.results, strict=True) if not fixable(b)
    ] == kept
    assert new.count(newline) == new.count("\n")
