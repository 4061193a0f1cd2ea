"""Fences: where they stand, what their code is, and that the renderer takes the same ones."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown import Markdown
from pymdownx.superfences import highlight_validator  # type: ignore[import-untyped]

from kvgate.claims.fences import candidates, close_fences, fences, header_is_fence
from kvgate.records import dialect


def bodies(text: str) -> list[str]:
    return [fence.code(text).removesuffix("\n") for fence in fences(text)]


def shown(text: str) -> list[str]:
    """The code that superfences hands to its formatter and that the page really shows."""
    codes: list[str] = []

    def formatter(source: str, *args: Any, **kwargs: Any) -> str:
        codes.append(source)
        return f"<b>F{len(codes) - 1}</b>"

    fence = {"name": "*", "class": "x", "format": formatter, "validator": highlight_validator}
    md = Markdown(
        extensions=[*dialect.BLOCKS, "pymdownx.superfences"],
        extension_configs={"pymdownx.superfences": {"custom_fences": [fence]}},
    )
    page = re.sub("<!--.*?-->", "", md.convert(text), flags=re.DOTALL)
    return [codes[int(number)] for number in re.findall(r"<b>F(\d+)</b>", page)]


def test_a_fence_has_its_header_its_body_and_its_line() -> None:
    text = 'intro\n\n```pycon title="x"\n>>> 1\n1\n```\nafter\n'
    (fence,) = fences(text)
    assert (fence.info, fence.language, fence.line, fence.indent) == (
        'pycon title="x"',
        "pycon",
        3,
        0,
    )
    assert fence.closed
    assert text[fence.body_start : fence.body_end] == ">>> 1\n1\n"
    assert text[fence.start : fence.end] == '```pycon title="x"\n>>> 1\n1\n```'
    assert [(line.text, line.line, text[line.start]) for line in fence.lines(text)] == [
        (">>> 1", 4, ">"),
        ("1", 5, "1"),
    ]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("~~~\nx\n~~~\n", "x\n"),
        ("````\n```\nx\n```\n````\n", "```\nx\n```\n"),
        ("```\nx\n```", "x\n"),
        ("- a\n\n    ```\n    x\n\n      y\n    ```\n", "x\n\n  y\n"),
        ("1. a\n    - b\n\n        ```\n        x\n        ```\n", "x\n"),
        ("> ```\n> x\n> ```\n", "x\n"),
        ("> > ```\n> > x\n> > ```\n", "x\n"),
        ("!!! note\n\n    ```\n    x\n    ```\n", "x\n"),
        ("[^1]:\n    text\n\n    ```\n    x\n    ```\n\nuse[^1]\n", "x\n"),
        ("```\r\nx\r\n```\r\n", "x\n"),
        ("```\rx\r```\r", "x\n"),
        ("-\ta\n\n\t```\n\t\tx\n\t```\n", "    x\n"),
        ("```\n```\n", ""),
        ("``` {.python .numbers}\nx\n```\n", "x\n"),
        ('```py hl_lines="1 2" linenums="1"\nx\n```\n', "x\n"),
        ("text\n```\nx\n```\nmore\n", "x\n"),
    ],
)
def test_the_body_is_the_code_alone(text: str, code: str) -> None:
    assert [fence.code(text) for fence in fences(text)] == [code]
    assert shown(text) == [code.removesuffix("\n")]


@pytest.mark.parametrize(
    "text",
    [
        "```pip install x```\n",
        "text ``` text\n```foo bar=1\n",
        "`` ` ``\n",
        "text\n\n    ```\n    x\n    ```\n",
        "- a\n\n        ```\n        x\n        ```\n",
        "<!--\n```pycon\n>>> 1\n2\n```\n-->\n",
        "# Heading\n    ```\n    x\n    ```\n",
    ],
)
def test_what_only_looks_like_a_fence_is_none(text: str) -> None:
    assert bodies(text) == []
    assert shown(text) == []


def test_a_comment_sign_inside_a_fence_ends_no_comment() -> None:
    text = "<!--\n```\n-->\n```\n-->\n\n```\nx\n```\n"
    assert bodies(text) == ["x"]


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("```\nx\n", "x\n"),
        ("```\nx", "x\n"),
        ("```\nx\n````\n~~~\n", "x\n````\n~~~\n"),
        ("- a\n\n    ```\n    x\nb\n", "x\n"),
        ("> ```\n> x\n\nb\n", "x\n\n"),
    ],
)
def test_a_fence_that_nobody_closes_runs_to_the_end_of_what_holds_it(text: str, body: str) -> None:
    (fence,) = fences(text)
    assert not fence.closed
    assert fence.end == fence.body_end
    assert fence.code(text) == body


def test_closing_the_open_fences_leaves_a_closed_page_alone() -> None:
    text = "```\nx\n```\n"
    assert close_fences(text) is text
    assert close_fences("```\nx") == "```\nx\n```\n\n"
    assert close_fences("- a\n\n    ```\n    x\nb\n") == "- a\n\n    ```\n    x\n    ```\n\nb\n"


@pytest.mark.parametrize(
    ("header", "is_fence"),
    [
        ("", True),
        ("py", True),
        (" py", True),
        (".py", True),
        ("c++", True),
        ('py title="a b"', True),
        ('title="a"', True),
        ("{.py}", True),
        ("py {.x #y}", True),
        ("py foo", False),
        ('py foo="1"', False),
        ('hl_lines="x"', False),
        ("py`x", False),
        ('title="a" b', False),
        ("{ hl_lines }", False),
    ],
)
def test_headers_are_taken_as_the_renderer_takes_them(header: str, is_fence: bool) -> None:
    assert header_is_fence(header) is is_fence
    assert bool(shown(f"```{header}\nx\n```\n")) is is_fence


# Headings, rules and quotes stand in blocks of their own, and there are no definition lists: else
# Python-Markdown's blocks begin where no reader sees it, and there is no right answer.
LINES = ["", "", "", "text", "- item", "    - nested", "1. one", "    para", "    ", "```", "```"]
LINES += [
    "~~~",
    "````",
    "    ```",
    "    ```",
    "  ```",
    "```py",
    "~~~py",
    "    ~~~~",
    "\t```",
    "   ```",
]
LINES += ["        ```", "<!-- c -->", "```pip install x```", "``` {.py}", "``` py foo", "~~~~~"]
LINES += ["text ```x", "!!! note", "\n# H\n", "\n* * *\n", "\n> text\n", "\n> ```\n> a\n> ```\n"]


@settings(
    max_examples=400,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.lists(st.sampled_from(LINES), max_size=12))
def test_the_renderer_shows_the_same_fences(lines: list[str]) -> None:
    text = close_fences("\n".join(lines).lstrip(" \t\n"))
    assert all(fence.closed for fence in candidates(text))
    assert bodies(text) == shown(text)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text(alphabet="`~ >\n\tx-{}=\"'.", max_size=80))
def test_fences_never_overlap_and_lie_in_the_text(text: str) -> None:
    at = 0
    for fence in candidates(text):
        assert at <= fence.start < fence.body_start <= fence.body_end <= fence.end <= len(text)
        at = fence.end


@pytest.mark.parametrize(
    "text",
    [
        "```\n" * 50_000,
        "```py x\n~~~\n" * 20_000,
        "- a\n\n" + "    ```\n    x\n    ```\n\n" * 10_000,
        "`" * 200_000,
        "> " * 50_000 + "```\n",
        "``` " + 'title="1" ' * 20_000 + "!",
        '``` hl_lines="' + "1 " * 50_000 + 'x"',
        "<!--\n" * 50_000 + "```\n```\n",
        "\n" * 200_000 + "```\n```",
    ],
)
def test_no_page_takes_long(text: str) -> None:
    begun = time.process_time()
    fences(text)
    assert time.process_time() - begun < 5
