"""Public bug reports about wiki-links, each with its right outcome in scanner and renderer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kvgate.records.scanner import scan

FENCED = {
    "bash in a fence": "```bash\nif [[ -f x ]]; then\n```\n",
    "toml in a fence": "```toml\n[[outputs.influxdb]]\n```\n",
    "mermaid in a fence": '```mermaid\nid[["Label"]]\n```\n',
    "tildes": "~~~\n[[x]]\n~~~\n",
    "a longer fence around a shorter one": "````md\n```\n[[x]]\n```\n````\n",
    "a fence in a list item": "- item\n\n    ```\n    [[x]]\n    ```\n",
    "a fence in a quote": "> ```\n> [[x]]\n> ```\n",
    "an indented fence with blank lines": "- a\n\n    ```\n    b\n\n    [[x]]\n    ```\n",
    "no final newline": "```\n[[x]]\n```",
}
TEXT = {
    "inline code": "`[[note]]`",
    "inline code of two backticks": "``[[note]]``",
    "inline code over two lines": "`[[note]]\nand [[more]]`",
    "indented code": "text\n\n    [[x]]\n",
    "an escape": "\\[[x]]",
    "an HTML comment": "text <!-- [[x]] --> text",
    "a comment of several lines": "<!--\n[[x]]\n\n[[y]]\n-->\n",
    "HTML code": "<code>[[x]]</code>",
    "HTML pre": "<pre>\n[[x]]\n\n[[y]]\n</pre>\n",
    "a script": "<script>\nlet x = [[y]]\n</script>\n",
    "nothing": "[[]]",
    "a space": "[[ ]]",
    "single brackets": "[winning the award] and array[0][1]",
    "a subscript of two": "array[[0]][[1]]",
    "a matrix": "[[1, 2], [3, 4]]",
    "a list of lists of text": '[["label"]]',
    "mathematics": "$a_{[[i]]}$",
    "a bash test in prose": "if [[ -f x ]]; then",
    "a bash comparison in prose": "[[ $x == y ]] or [[ x == y ]]",
    "a percentage": "[[100%]]",
    "an ordinary link in brackets": "[[docs]](https://example.org)",
    "a numbered citation": "[[1]](https://example.org)",
}
LINKS = {
    "after a line that only looks like a fence": (
        "```pip install x```\n\nthen [[real]]",
        ["real"],
    ),
    "with an alias": ("[[t|a]]", ["t"]),
    "two aliases on a line and a stray end": ("[[t|a]] and [[u|b]] ]]", ["t", "u"]),
    "in a table with an escaped pipe": ("| a | b |\n|---|---|\n| [[t\\|a]] | c |\n", ["t"]),
    "with brackets in its text": ("[[t|see [1]]] and the rest [[u]]", ["t", "u"]),
    "with a percent sign": ("[[100% cache]]", ["100% cache"]),
    "of another script": ("詳細は [[価値]] を", ["価値"]),
    "with umlauts, parentheses and spaces": (
        "[[Überblick]] [[Part (1)]] [[ target ]]",
        ["Überblick", "Part (1)", "target"],
    ),
    "named like a picture": ("[[007.jpg.md]] [[a.png]]", ["007.jpg.md", "a.png"]),
    "beside a footnote": ("[[t]][^1] text[^1]\n\n[^1]: see [[u]]\n", ["t", "u"]),
    "between emphasis": ("**[[t]]** _[[u]]_ *a [[v]] b*", ["t", "u", "v"]),
    "after an escaped backslash": ("\\\\[[t]]", ["t"]),
    "after an escaped exclamation mark": ("\\![[t]]", ["t"]),
    "over a line break in a quote": ("> a [[long\n> name]] b", ["long name"]),
    "in a heading": ("## See [[t]]\n", ["t"]),
    "in a definition list": ("term\n:   see [[t]]\n", ["t"]),
    "in an admonition": ('!!! note "Title [[t]]"\n\n    [[u]]\n', ["t", "u"]),
    "in round brackets": ("([[t]])", ["t"]),
    "of the same page": ("[[#heading]]", [""]),
    "in square brackets": ("[[[t]]]", ["t"]),
}
PROBLEMS = {
    "a raw pipe in a table": ("| a | b |\n|---|---|\n| [[t|a]] | c |\n", "KV220", (3, 3)),
    "a raw pipe in the head of a table": ("| [[t|a]] | b |\n|---|---|---|\n", "KV220", (1, 3)),
    "a link in a link": ("[[A [[B]]]]", "KV221", (1, 5)),
    "a link in an alias": ("[[A|see [[B]]]]", "KV221", (1, 9)),
    "inside an ordinary link": ("[see [[t]] here](u)", "KV222", (1, 6)),
    "inside a reference link": ("[see [[t]] here][r]\n\n[r]: u\n", "KV222", (1, 6)),
    "inside an address": ("[x](http://a/[[t]])", "KV222", (1, 14)),
    "inside an image's text": ("![see [[t]]](u.png)", "KV222", (1, 7)),
    "inside an HTML link": ('<a href="u">[[t]]</a>', "KV222", (1, 13)),
    "an embed": ("![[x]]", "KV224", (1, 2)),
    "stuck to a word": ("see[[x]]", "KV225", (1, 4)),
    "stuck to code": ("`a`[[x]]", "KV225", (1, 4)),
    "stuck to another": ("[[a]][[b]]", "KV225", (1, 6)),
    "without a target": ("[[|label]]", "KV226", (1, 1)),
    "without a label": ("[[target|]]", "KV226", (1, 1)),
    "without a heading": ("[[target#]]", "KV226", (1, 1)),
    "in an HTML block": ("<div>\n[[x]]\n</div>\n", "KV227", (2, 1)),
    "in an HTML attribute": ('<b title="[[x]]">y</b>', "KV227", (1, 11)),
    "an unclosed fence": ("text\n\n```\n[[x]]\n", "KV223", (3, 1)),
    "an unclosed fence at the end": ("text\n\n```", "KV223", (3, 1)),
    "a fence that ends early on GitHub": ("```\na\n````\nb\n```\n", "KV228", (3, 1)),
    "a fence header the site does not take": ("``` py foo=1\na\n", "KV228", (1, 1)),
    "a fence right below indented code": ("text\n\n    code\n```\nx\n```\n", "KV228", (4, 1)),
    "a rule right below a fence": ("```\nx\n```\n---\n", "KV228", (1, 1)),
    "a lone backtick": ("a ` b [[x]]", "KV229", (1, 7)),
    "a markup declaration": ("<![CDATA[ x\n\n[[y]]\n", "KV231", (1, 1)),
}


@pytest.mark.parametrize("text", FENCED.values(), ids=FENCED)
def test_code_in_a_fence_holds_no_link(render: Callable[..., Any], text: str) -> None:
    page = scan(text)
    assert (page.links, page.problems) == ((), ())
    assert render(text).links == []
    assert "kv-link" not in render(text).html


@pytest.mark.parametrize("text", TEXT.values(), ids=TEXT)
def test_what_is_text_stays_text_and_is_not_reported(render: Callable[..., Any], text: str) -> None:
    page = scan(text)
    assert (page.links, page.problems) == ((), ())
    assert render(text).links == []


@pytest.mark.parametrize(("text", "targets"), LINKS.values(), ids=LINKS)
def test_a_link_is_a_link(render: Callable[..., Any], text: str, targets: list[str]) -> None:
    page = scan(text)
    assert [link.target for link in page.links] == targets
    assert page.problems == ()
    assert [target for target, _ in render(text).links] == targets


@pytest.mark.parametrize(("text", "code", "place"), PROBLEMS.values(), ids=PROBLEMS)
def test_what_cannot_be_rendered_is_reported_at_its_place(
    render: Callable[..., Any], text: str, code: str, place: tuple[int, int]
) -> None:
    problem = scan(text, path="a.md").problems[0]
    assert (problem.code, problem.place.line, problem.place.column) == (code, *place)
    assert problem.place.path == "a.md"
    assert problem.hint
    rendered = [target for target, _ in render(text).links]
    assert rendered == [link.target for link in scan(text).links]


def test_a_pipe_outside_a_table_needs_no_backslash_and_gains_none(
    render: Callable[..., Any],
) -> None:
    assert ">a</a>" in render("[[t|a]]").html
    assert ">a</a>" in render("[[t\\|a]]").html
    assert [link.label for link in scan("[[t|a]] [[t\\|a]]").links] == ["a", "a"]


def test_the_label_of_a_table_link_keeps_its_columns(render: Callable[..., Any]) -> None:
    page = render("| a | b |\n|---|---|\n| [[t\\|x]] | y |\n").html
    assert page.count("<td>") == 2
    assert ">x</a></td>" in page
    assert "<td>y</td>" in page


def test_no_anchor_ever_holds_another(render: Callable[..., Any]) -> None:
    for text in ("[see [[t]] here](u)", "[*em* [[t]]](u)", '<a href="u">`c` [[t]]</a>'):
        page = render(text).html
        assert page.count("<a ") == page.count("</a>") == 1


def test_front_matter_holds_no_link() -> None:
    text = '\ufeff---\nrelated: ["[[X]]"]\nicon: "[[icon|alias]]"\n---\n[[real]]'
    assert [(link.target, link.place.line) for link in scan(text).links] == [("real", 5)]


def test_an_error_stands_at_its_line_of_the_file_not_of_the_body() -> None:
    text = "---\nid: x\ntitle: y\n---\n\ntext\n\n![[z]]\n"
    assert str(scan(text, path="gotchas/x.md").problems[0].place) == "gotchas/x.md:8:2"


def test_an_offset_leaves_everything_before_it_out() -> None:
    text = "[[before]]\n[[after]]\n"
    assert [link.place.line for link in scan(text, offset=11).links] == [2]
