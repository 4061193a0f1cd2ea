"""Scanner and renderer are two programs; these tests hold them to one reading of every page."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvgate.records.headings import heading_ids
from kvgate.records.rawhtml import RawHtmlAsText
from kvgate.records.scanner import Scan, scan

# Python before 3.11.5 gets pymdown-extensions 12, whose inline highlighter reads two code spans
# that touch otherwise than CommonMark and its successor do.
pytestmark = pytest.mark.skipif(
    int(version("pymdown-extensions").split(".")[0]) < 13,
    reason="pymdown-extensions before 13 reads adjoining code spans otherwise than CommonMark",
)

# Where the renderer itself goes astray there is no right answer, and lint says so.
ASTRAY = {"KV228", "KV230", "KV231"}
thorough = settings(
    max_examples=250,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)


def readable(page: Scan) -> bool:
    return ASTRAY.isdisjoint(problem.code for problem in page.problems)


@thorough
@given(data=st.data())
def test_scanner_and_renderer_see_the_same_links_in_the_same_order(
    render: Callable[..., Any], nasty_pages: st.SearchStrategy[str], data: st.DataObject
) -> None:
    text = data.draw(nasty_pages)
    page = scan(text, offset=0)
    if readable(page):
        assert [(link.target, link.heading) for link in page.links] == render(text).links


@thorough
@given(data=st.data())
def test_they_agree_on_pages_with_markdown_inside_html(
    render: Callable[..., Any], nasty_pages: st.SearchStrategy[str], data: st.DataObject
) -> None:
    text = data.draw(nasty_pages)
    page = scan(text, offset=0, markdown_in_html=True)
    if readable(page):
        rendered = render(text, markdown_in_html=True)
        assert [(link.target, link.heading) for link in page.links] == rendered.links


@thorough
@given(data=st.data())
def test_they_agree_where_html_is_shown_as_text(
    render: Callable[..., Any], nasty_pages: st.SearchStrategy[str], data: st.DataObject
) -> None:
    text = data.draw(nasty_pages)
    page = scan(text, offset=0)
    if readable(page):
        rendered = render(text, RawHtmlAsText())
        assert [(link.target, link.heading) for link in page.links] == rendered.links


@thorough
@given(data=st.data())
def test_heading_ids_are_the_rendered_ones(
    render: Callable[..., Any], nasty_pages: st.SearchStrategy[str], data: st.DataObject
) -> None:
    text = data.draw(nasty_pages)
    page = scan(text, offset=0)
    if readable(page):
        assert list(heading_ids(text)) == render(text).headings
        assert [heading.id for heading in page.headings] == render(text).headings


@thorough
@given(data=st.data())
def test_each_link_stands_where_the_scanner_says(
    nasty_pages: st.SearchStrategy[str], data: st.DataObject
) -> None:
    text = "---\nid: x\n---\n" + data.draw(nasty_pages)
    lines = text.split("\n")
    for link in scan(text).links:
        assert text.startswith("[[", link.start)
        assert text.endswith("]]", 0, link.end)
        assert lines[link.place.line - 1][link.place.column - 1 :].startswith("[[")


@thorough
@given(st.text(alphabet="[]|#`\\!-> \n\t<a1*_:~(){}&é", max_size=120))
def test_no_text_makes_the_scanner_fail(text: str) -> None:
    page = scan(text, path="page.md")
    assert all(problem.place.path == "page.md" for problem in page.problems)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.text(max_size=200))
def test_no_unicode_makes_the_scanner_fail(text: str) -> None:
    scan(f"[[a]] {text} [[b]]")


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_ends_of_every_kind_give_the_same_lines(ending: str) -> None:
    text = "---\nid: x\n---\n\nFirst [[a]]\nthen [[b]].\n\n- [[c]]\n\n\t[[d]]\n".replace(
        "\n", ending
    )
    places = [(link.place.line, link.place.column) for link in scan(text).links]
    assert places == [(5, 7), (6, 6), (8, 3), (10, 2)]
