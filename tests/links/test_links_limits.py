"""Bounds: what grows, grows in proportion; what was made to hurt is refused before it does."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from kvgate.records.scanner import scan

# Time of this process alone, and bounds ten times what an idle machine needs: these tests tell
# proportional from quadratic, not fast from slow. `make bench` tells the latter.


def seconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


MANY = {
    "links in a paragraph": (" ".join(f"[[r{i}|the label]]" for i in range(10_000)), 10_000),
    "links in a list": ("".join(f"- [[r{i}]]\n" for i in range(5_000)), 5_000),
    "paragraphs": ("".join(f"[[r{i}]] x\n\n" for i in range(5_000)), 5_000),
    "table rows": ("| a | b |\n|---|---|\n" + "| [[a\\|b]] | `c` |\n" * 4_000, 4_000),
    "fences": ("```\nx\n```\n\n[[a]]\n\n" * 3_000, 3_000),
    "footnotes": ("".join(f"\n[^{i}]: [[b]]\n" for i in range(2_000)), 2_000),
    "comments": ("<!-- a -->\n\n[[x]]\n\n" * 3_000, 3_000),
    "HTML tags": ("<b>[[x]]</b> " * 4_000, 0),
    "open brackets": ("[[" * 100_000, 0),
    "open links": ("[[a|" * 30_000, 0),
    "open links with brackets": ("[[a|" + "[x]" * 30_000, 0),
    "links stuck together": ("[[a]]" * 10_000, 1),
    "backticks": ("`" * 50_000 + " [[a]]", 1),
    "backticks by turns": ("` `` " * 15_000 + "[[a]]", 1),
    "backticks of all lengths": ("".join("`" * i + " " for i in range(500)) + "[[a]]", 1),
    "backslashes": ("\\" * 50_000 + "[[a]]", 1),
    "angle brackets": ("<" * 50_000 + "[[a]]", 1),
    "open comments": ("<!--" * 20_000 + "[[a]]", 1),
    "emphasis": ("*a **b " * 10_000 + "[[a]]", 1),
    "nested lists": ("".join("    " * i + "- x\n" for i in range(30)) + "\n[[a]]", 1),
}


@pytest.mark.parametrize(("text", "links"), MANY.values(), ids=MANY)
def test_ten_thousands_of_anything_are_read_in_seconds(text: str, links: int) -> None:
    found = []
    assert seconds(lambda: found.append(scan(text))) < 15
    if links:
        assert len(found[0].links) == links


TOO_MUCH = {
    "quotes in quotes": "> " * 3_000 + "[[a]]",
    "lists in lists": "- " * 300 + "[[a]]",
    "lists below lists": "".join("    " * i + "- x\n" for i in range(400)),
    "tags that never end": "<a " * 30_000,
    "headings without blank lines": "# x\n" * 10_000,
    "rules without blank lines": "---\nx\n" * 10_000,
    "brackets around brackets": "[" * 20_000 + "]" * 20_000,
    "addresses that never end": "[a]( " * 20_000,
    "one footnote": "[^a] " * 5_000 + "\n\n[^a]: x\n",
    "a page of megabytes": "x" * 2_000_001,
}


@pytest.mark.parametrize("text", TOO_MUCH.values(), ids=TOO_MUCH)
def test_what_the_renderer_would_choke_on_is_a_finding(text: str) -> None:
    found = []
    assert seconds(lambda: found.append(scan(text, path="a.md"))) < 15
    assert [problem.code for problem in found[0].problems] == ["KV230"]
    assert found[0].problems[0].hint


def test_twice_the_links_take_about_twice_the_time() -> None:
    def work(links: int) -> Callable[[], object]:
        text = " ".join(f"[[r{i}|the label]] and `code`" for i in range(links))
        return lambda: scan(text)

    work(100)()
    least = min(seconds(work(4_000)) for _ in range(3))
    assert min(seconds(work(8_000)) for _ in range(3)) < 3.2 * least
