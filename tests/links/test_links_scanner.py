"""What the scanner tells about a link: its parts, its place, its section and its sentence."""

from __future__ import annotations

from textwrap import dedent

import pytest

from kvgate.records.scanner import WikiLink, scan
from kvgate.records.slugs import slug


def links(text: str) -> tuple[WikiLink, ...]:
    return scan(dedent(text).lstrip("\n")).links


def test_target_heading_and_label_are_plain_text() -> None:
    (link,) = links("[[ Some  name#`x_y` --flag | the `code` and \\*stars\\* ]]")
    assert link.target == "Some name"
    assert link.heading == "x_y --flag"
    assert link.label == "the code and *stars*"


def test_decomposed_letters_are_composed() -> None:
    (link,) = links("[[U\u0308berblick]]")
    assert link.target == "Überblick"


def test_offsets_span_the_link_in_the_source() -> None:
    text = "a [[b|c]] d\n\n> x [[long\n> name|and\n> label]] y\n"
    assert [text[link.start : link.end] for link in scan(text).links] == [
        "[[b|c]]",
        "[[long\n> name|and\n> label]]",
    ]


def test_tabs_count_as_one_column() -> None:
    (link,) = links("- a\n\n\tb [[c]]\n")
    assert (link.place.line, link.place.column) == (3, 4)


def test_a_link_knows_the_heading_it_stands_under() -> None:
    found = links("""
        [[a]]

        # One

        [[b]] text

        ## Two `x`

        - [[c]]
        """)
    assert [link.section.id if link.section else None for link in found] == [None, "one", "two-x"]
    assert found[2].section is not None
    assert found[2].section.text == "Two x"


def test_links_in_footnotes_come_last_and_belong_to_no_section() -> None:
    found = links("# One\n\ntext[^1]\n\n[^1]: [[note]]\n\n# Two\n\n[[end]]\n")
    assert [(link.target, link.section is None) for link in found] == [
        ("end", False),
        ("note", True),
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("It fails. See [[a]] first. Then go on.", "See a first."),
        ("It fails, see [[a|that page]], e.g. when X grows.", None),
        ("vLLM 0.33.0 has it ([[a]]). More.", "vLLM 0.33.0 has it (a)."),
        ("Read `x.y` and *this* [[a|page]][^1] [here](u).", "Read x.y and this page here."),
        ("第一です。[[a]] を見る。第三", "a を見る。"),
        ("`[[no]]` and [[a#b c]]", "[[no]] and a § b c"),
        ("A <b>bold</b> claim: [[a]]!", "A bold claim: a!"),
    ],
)
def test_a_link_knows_the_sentence_around_it(text: str, sentence: str | None) -> None:
    link = next(link for link in links(text) if link.target == "a")
    assert link.sentence == (sentence or "It fails, see that page, e.g. when X grows.")


def test_an_endless_sentence_is_cut_on_both_sides() -> None:
    (link,) = links("word " * 300 + "[[a]]" + " word" * 300)
    assert link.sentence.startswith("… ")
    assert link.sentence.endswith(" …")
    assert len(link.sentence) < 700


def test_links_of_one_paragraph_share_its_number() -> None:
    found = links("[[a]] and\n[[b]]\n\n[[c]]\n")
    assert found[0].paragraph == found[1].paragraph != found[2].paragraph


def test_headings_are_numbered_when_they_come_twice() -> None:
    page = scan("## Fix\n\n## Fix\n\n## fix_1\n\n## ?\n")
    assert [heading.id for heading in page.headings] == ["fix", "fix_1", "fix_2", "_1"]


def test_a_heading_keeps_the_id_it_is_given() -> None:
    page = scan("## Long title {#short}\n\n## Short\n\ntext\n{: #para }\n\n## Para\n")
    assert [heading.id for heading in page.headings] == ["short", "short_1", "para_1"]


def test_slugs_keep_every_script() -> None:
    assert slug("価値") == "価値"
    assert slug("て-sequence") == "て-sequence"
    assert slug("हिन्दी का") == "हिन्दी-का"
    assert slug("Überblick & Co") == slug("U\u0308berblick & Co") == "überblick-co"
    assert slug("`x_y` --flag?") == "x_y-flag"


def test_a_slug_is_its_own_slug() -> None:
    for text in ("Foo & Bar", "a  b", "İstanbul", "--x--", "ﬁne Ǆ ß", "१२"):
        assert slug(slug(text)) == slug(text)


def test_a_page_beyond_reading_is_one_finding() -> None:
    page = scan("> " * 3000 + "[[a]]", path="a.md")
    (problem,) = page.problems
    assert (problem.code, str(problem.place)) == ("KV230", "a.md:1:1")
    assert page.links == ()
