"""How a wiki-link looks on a page, and that nothing written in one can act."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html as lxml_html
from markdown import Markdown

from kvgate.records import dialect
from kvgate.records.markdown import WikiLinkExtension, makeExtension
from kvgate.records.rawhtml import RawHtmlAsText
from kvgate.records.resolver import Entry, Heading, Resolver
from kvgate.records.targets import PageLinks, relative

TITLE = 'A <b>"bold"</b> & &lt;title\x07'
RESOLVER = Resolver(
    [
        Entry("mla", TITLE, "gotchas/mla/", ("Latent",), (Heading("て-x", "て x", 2),)),
        Entry("here", "Here", "gotchas/here/", (), (Heading("100%", "All", 2),)),
    ]
)


def render(text: str, *extra: object) -> str:
    links = PageLinks(RESOLVER, source="here", url="gotchas/here/")
    extensions: list[Any] = [*dialect.EXTENSIONS, WikiLinkExtension(links=links), *extra]
    return Markdown(extensions=extensions, extension_configs=dialect.CONFIGS).convert(text)


def anchor(text: str) -> Any:
    (found,) = lxml_html.fromstring(render(text)).iter("a")
    return found


def test_a_link_by_id_shows_the_title_escaped() -> None:
    page = render("[[mla]]")
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    link = anchor("[[mla]]")
    assert link.get("class") == "kv-link"
    assert link.get("href") == "../mla/"
    assert link.get("data-kv-id") == "mla"
    assert link.text_content() == TITLE.replace("\x07", "") or link.text_content() == TITLE


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[[Latent]]", "Latent"),
        ("[[latent]]", "latent"),
        ("[[mla#て x]]", "mla § て x"),
        ("[[#All]]", "All"),
        ("[[mla|the `x` and *y*]]", "the x and *y*"),
        ("[[mla|a \\| b]]", "a | b"),
        ("[[mla|see [1]]]", "see [1]"),
        ("[[mla|R&amp;D]]", "R&D"),
        ("[[mla|two\nlines]]", "two lines"),
        ("[[mla|a < b]]", "a < b"),
    ],
)
def test_what_a_link_shows(text: str, shown: str) -> None:
    assert anchor(text).text_content() == shown


@pytest.mark.parametrize(
    ("text", "href"),
    [
        ("[[mla#て x]]", "../mla/#て-x"),
        ("[[#All]]", "#100%25"),
        ("[[here#All]]", "./#100%25"),
        ("[[Latent]]", "../mla/"),
    ],
)
def test_where_a_link_leads(text: str, href: str) -> None:
    assert anchor(text).get("href") == href


@pytest.mark.parametrize(
    ("url", "base", "address"),
    [
        ("gotchas/a/", "gotchas/b/", "../a/"),
        ("gotchas/a/", "", "gotchas/a/"),
        ("gotchas/a/", "index.html", "gotchas/a/"),
        ("gotchas/a.md", "gotchas/b.md", "a.md"),
        ("gotchas/a.md", "guides/x/y.md", "../../gotchas/a.md"),
        ("", "gotchas/b/", "../../"),
    ],
)
def test_addresses_are_relative_to_the_page(url: str, base: str, address: str) -> None:
    assert relative(url, base) == address


def test_a_dangling_link_is_visible_and_inert() -> None:
    page = render('[[no "such" <page>]] [[nope|the label]] [[mla#nothing]]')
    assert page.count('class="kv-link-missing"') == 2
    assert "<a" not in page
    assert "the label" in page
    assert "no record is called" in page
    assert "has no heading" in page


def test_without_a_resolver_every_link_is_inert() -> None:
    page = Markdown(extensions=[makeExtension()]).convert("[[a]] and [[b|c]]")
    assert page.count("kv-link-missing") == 2


def test_the_extension_has_its_entry_point() -> None:
    page = Markdown(extensions=["kvgate_wikilinks"]).convert("[[a]]")
    assert "kv-link-missing" in page


def test_a_heading_shows_the_link_as_written_so_that_its_id_is_stable() -> None:
    page = render("## See [[mla]]\n")
    assert '<h2 id="see-mla">' in page
    assert ">mla</a>" in page


def test_code_around_and_in_links_stays_code() -> None:
    page = render("`[[mla]]` and [[mla|`--flag` here]]")
    assert "<code>[[mla]]</code>" in page
    assert re.search(r"<a [^>]*><code>--flag</code> here</a>", page)


def test_an_open_fence_is_code_to_its_end() -> None:
    assert "[[mla]]" in render("text\n\n```\n[[mla]]\n")
    page = render("- a\n\n    ```\n    [[mla]]\n\nafter [[mla]]\n")
    assert page.count("kv-link") == 1


def test_a_page_that_would_take_minutes_says_so_instead() -> None:
    for text in ("[" * 50_000, "<a " * 30_000, "# x\n" * 10_000, "> " * 5_000):
        assert "This page cannot be shown" in render(text)


ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "text <b onclick=alert(1)>x</b>",
    "<div markdown onclick=alert(1)>\n\n[[mla]]\n\n</div>",
    "<svg/onload=alert(1)>",
    "<iframe src=//example.org></iframe>",
    "[[<script>alert(1)</script>]]",
    "[[mla|<script>alert(1)</script>]]",
    '[[mla|"><script>alert(1)</script>]]',
    "[[mla#<script>alert(1)</script>]]",
    '[[x" onmouseover="alert(1)]]',
    '<b title="[[mla]]">',
    "<style>*{display:none}</style>",
    "<!-- --><script>alert(1)</script>",
    "<!--x--!><script>alert(1)</script>",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<?php alert(1) ?>",
]
TAGS = frozenset(["p", "a", "span", "code", "div", "strong", "em", "ul", "ol", "li", "h1", "h2"])
TAGS |= {"h3", "h4", "h5", "h6", "br", "sup", "hr", "pre", "blockquote", "img", "dl", "dt", "dd"}
TAGS |= {"table", "thead", "tbody", "tr", "th", "td"}


@pytest.mark.parametrize("text", ATTACKS)
def test_html_of_strangers_is_shown_and_does_nothing(text: str) -> None:
    page = lxml_html.fragment_fromstring(render(text, RawHtmlAsText()), create_parent="main")
    for element in page.iterdescendants():
        assert element.tag in TAGS
        assert not [name for name in element.attrib if name.startswith("on")]


def test_a_comment_stays_hidden_where_html_is_shown() -> None:
    page = render("<!-- secret\n\n[[mla]]\n\n-->\n\ntext <!-- more --> end", RawHtmlAsText())
    assert "secret" not in page
    assert "more" not in page
    assert "kv-link" not in page
    assert "text  end" in page


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.text(alphabet="<>\"'&;/= []|#`\\abonscript!-\n", max_size=60))
def test_no_text_becomes_html_of_its_own(text: str) -> None:
    page = lxml_html.fragment_fromstring(
        render(f"x [[mla|{text}]] [[{text}]] {text}", RawHtmlAsText()), create_parent="main"
    )
    assert {element.tag for element in page.iterdescendants()} <= TAGS
