"""A record's page: its head, whether one is affected, its evidence, and what points to it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from lxml.html import HtmlElement

if TYPE_CHECKING:
    from tests.site.conftest import Built

pytestmark = pytest.mark.slow

POOL = "gotchas/pool-too-small/index.html"
STEP = "gotchas/second-step/index.html"


def words(element: HtmlElement) -> str:
    """The text of an element, blanks folded."""
    return " ".join(element.text_content().split())


def below(article: HtmlElement, heading: str) -> list[HtmlElement]:
    """What stands between a heading, by its id, and the next one of its level."""
    (start,) = article.xpath(f".//h2[@id='{heading}']")
    found = []
    for element in start.itersiblings():
        if element.tag == "h2":
            break
        found.append(element)
    return found


def test_the_head_says_how_bad_where_and_how_sure(base_site: Built) -> None:
    (head,) = base_site.article(POOL).xpath(".//*[contains(@class, 'kv-glance')]")
    said = words(head)
    assert "blocks start The engine refuses to start." in said
    assert "In short. Ask for less." in said
    assert "vllm from 0.13.0, fixed in 0.22.0" in said
    assert "sm_90 gfx942" in said
    assert "1 of 1 claims hold 1 source" in said
    assert "verified 2026-11-29: one machine, vllm 0.19.1" in said
    assert "lost-packets slow-disks" in said


def test_a_title_is_shown_letter_for_letter(base_site: Built) -> None:
    title = "The pool is <too small> & the `engine` stops: *always*"
    page = base_site.page(POOL)
    assert base_site.article(POOL).find(".//h1").text_content().rstrip("¶") == title
    assert page.findtext(".//title") == f"{title} - A base of ours"


def test_a_record_says_where_it_stands(base_site: Built) -> None:
    path = base_site.article(POOL).xpath(".//nav[@class='kv-path']/a/@href")
    assert path == ["../", "../../severity/blocks-start/"]


def test_a_page_that_is_shared_elsewhere_brings_its_title_and_point(base_site: Built) -> None:
    page = base_site.page(POOL)
    (title,) = page.xpath("//meta[@property='og:title']/@content")
    (about,) = page.xpath("//meta[@property='og:description']/@content")
    assert title == "The pool is <too small> & the `engine` stops: *always*"
    assert about.startswith("The engine stops after 12 s, for good.")
    (address,) = page.xpath("//meta[@property='og:url']/@content")
    assert address == "https://kb.example/deep/path/gotchas/pool-too-small/"


def test_what_to_read_first_is_a_path_that_begins_with_what_stands_on_nothing(
    base_site: Built,
) -> None:
    (path,) = base_site.article(POOL).xpath(".//*[contains(@class, 'kv-first')]")
    assert path.xpath(".//li/a/@href") == ["../first-step/", "../second-step/"]


def test_a_reader_can_ask_for_themselves_in_a_shell(base_site: Built) -> None:
    article = base_site.article(POOL)
    (command,) = (e.text_content() for e in article.xpath(".//*[contains(@class, 'kv-command')]"))
    assert shlex.split(command) == [
        "kvgate", "check",
        "vllm serve org/model --max-model-len 131072 --hf-overrides '{\"a\": 1}'",
        "--gpu", "H100", "--engine", "vllm==0.19.1",
    ]  # fmt: skip
    said = " ".join(words(e) for e in below(article, "am-i-affected"))
    assert "The pool holds {int} tokens, and <b>the model</b> asks for {*} of them." in said


def test_a_record_that_no_program_can_tell_says_so(base_site: Built) -> None:
    article = base_site.article("gotchas/first-step/index.html")
    said = " ".join(words(e) for e in below(article, "am-i-affected"))
    assert "No program can tell yet" in said


def test_each_footnote_says_what_was_computed_or_read(base_site: Built) -> None:
    article = base_site.article(POOL)
    notes = {e.get("id"): words(e) for e in article.xpath(".//div[@class='footnote']//li")}
    assert list(notes) == ["fn:report", "fn:per-token"]
    assert notes["fn:per-token"].startswith("Computed. heads * 1024 / KiB gives 4.0 (claim on line")
    read = "Read in report (vllm 0.19.1, seen 2026-11-30): the pool is *too small* for <the>"
    assert notes["fn:report"].startswith(f"{read} context_of_it")
    (source,) = article.xpath(".//li[@id='fn:report']//a[text()='report']/@href")
    assert source == "https://example.org/issues/1_a_(b)"


def test_a_computed_footnote_leads_to_its_claim_and_names_its_line(base_site: Built) -> None:
    article = base_site.article(POOL)
    (note,) = article.xpath(".//li[@id='fn:per-token']")
    (anchor,) = note.xpath(".//a[text()='claim']/@href")
    (claim,) = article.xpath(f".//*[@id='{anchor[1:]}']")
    assert "# claim: per-token" in claim.getparent().text_content()
    source = (base_site.folder.parent / "records" / "pool-too-small.md").read_text(encoding="utf-8")
    line = next(i for i, t in enumerate(source.split("\n"), 1) if "claim: per-token" in t)
    assert f"on line {line} of the record" in words(note)


def test_the_theme_shows_footnotes_as_tooltips(base_site: Built) -> None:
    # It does so for a.footnote-ref inside [id^="fnref:"], where the feature is on.
    article = base_site.article(POOL)
    refs = article.xpath(".//sup[starts-with(@id, 'fnref:')]/a[contains(@class, 'footnote-ref')]")
    assert [a.get("href") for a in refs] == ["#fn:report", "#fn:per-token"]
    assert "content.footnote.tooltips" in base_site.text(POOL)


def test_hits_and_misses_stand_in_a_table_with_their_reasons(base_site: Built) -> None:
    (table,) = base_site.article(POOL).xpath(".//*[contains(@class, 'kv-cases')]//tbody")
    rows = [[words(cell) for cell in row] for row in table]
    assert [row[0] for row in rows] == ["yes", "no"]
    assert rows[1] == [
        "no",
        "vllm serve org/model",
        "H100, vllm==0.33.0",
        "the version has the <fix>",
    ]


def test_backlinks_carry_the_sentence_and_the_section(base_site: Built) -> None:
    found = [words(e) for e in below(base_site.article(POOL), "linked-from")]
    assert "What is known as second-step" in found[0]
    assert "It is told apart from the pool by its log. Root cause" in found[0]
    assert "And then some" not in found[0]
    assert "What is known as gone-by names this as superseded by" in found[0]


def test_a_link_in_code_is_no_backlink(base_site: Built) -> None:
    said = " ".join(words(e) for e in below(base_site.article(POOL), "linked-from"))
    assert "first-step" not in said


def test_related_records_are_listed_by_type(base_site: Built) -> None:
    said = " ".join(words(e) for e in below(base_site.article(POOL), "related"))
    assert "prerequisite What is known as second-step" in said
    assert "see also What is known as gone-by" in said


def test_the_graph_around_a_record_has_a_link_for_each_neighbour(base_site: Built) -> None:
    (svg,) = base_site.article(POOL).xpath(".//svg[contains(@aria-label, 'Records')]")
    assert sorted(svg.xpath(".//a/@*[name()='xlink:href']")) == ["../gone-by/", "../second-step/"]
    # The theme's script ends with an error at an a[href] that isn't HTML.
    assert not svg.xpath(".//a/@href")
    assert {"kv-edge-prerequisite", "kv-edge-see-also"} <= {
        c for p in svg.iter("path") for c in p.get("class").split()
    }


def test_the_table_of_contents_has_what_the_site_added_in_the_order_of_the_page(
    base_site: Built,
) -> None:
    for path in (POOL, STEP):
        page = base_site.page(path)
        listed = page.xpath("//nav[contains(@class, 'md-nav--secondary')]//a/@href")
        headings = [f"#{i}" for i in base_site.article(path).xpath(".//h2/@id | .//h3/@id")]
        assert list(dict.fromkeys(listed)) == headings
    assert "#am-i-affected" in headings
    assert "#linked-from" in headings


def test_a_record_s_own_heading_keeps_its_id_and_the_site_s_yields(base_site: Built) -> None:
    article = base_site.article(STEP)
    assert words(article.xpath(".//h3[@id='related']")[0]) == "Related¶"
    assert words(article.xpath(".//h2[@id='related_1']")[0]) == "Related"
    assert words(article.xpath(".//h3[@id='am-i-affected']")[0]) == "Am I affected?¶"
    assert article.xpath(".//h3[@id='überblick']")


def test_wiki_links_show_titles_and_lead_to_pages_and_headings(base_site: Built) -> None:
    found = {
        a.get("href"): words(a)
        for a in base_site.article(POOL).xpath(".//p/a[contains(@class, 'kv-link')]")
    }
    assert found["../second-step/#root-cause"] == "second-step § root-cause"
    guide = base_site.article("guide/index.html").xpath(".//p/a[contains(@class, 'kv-link')]")
    assert [a.get("href") for a in guide] == [
        "../gotchas/pool-too-small/", "../gotchas/pool-too-small/#notes",
    ]  # fmt: skip


def test_the_edit_link_leads_to_the_record_s_file(base_site: Built) -> None:
    (edit,) = base_site.page(POOL).xpath("//a[@rel='edit']/@href")
    assert edit == "https://github.com/us/base/edit/trunk/records/pool-too-small.md"
    assert not base_site.page("gotchas/index.html").xpath("//a[@rel='edit']")


def test_a_reader_can_say_that_a_page_is_wrong(base_site: Built) -> None:
    foot = base_site.article(POOL).xpath(".//p[@class='kv-machine']//a")
    wrong, again, data = (a.get("href") for a in foot)
    for address in (wrong, again):
        assert address.startswith("https://github.com/us/base/issues/new?")
        assert parse_qs(urlsplit(address).query)["title"][0].startswith("pool-too-small: ")
    assert data == "../../api/v1/gotchas/pool-too-small.json"


def test_a_withdrawn_record_is_a_page_with_its_reason_and_no_advice(base_site: Built) -> None:
    path = "gotchas/never-true/index.html"
    said = words(base_site.article(path))
    assert "Withdrawn. Nobody could see it again." in said
    assert "Am I affected?" not in said
    assert base_site.page(path).xpath("//meta[@name='robots']/@content") == ["noindex"]


def test_a_superseded_record_leads_to_its_successor(base_site: Built) -> None:
    (banner,) = base_site.article("gotchas/gone-by/index.html").xpath(".//p[@class='kv-banner']")
    assert "Superseded. It was two things at once. Read" in words(banner)
    assert banner.xpath(".//a/@href") == ["../pool-too-small/"]


def test_a_page_is_described_by_its_symptom_in_plain_text(base_site: Built) -> None:
    (said,) = base_site.page(POOL).xpath("//meta[@name='description']/@content")
    assert (
        said
        == "The engine stops after 12 s, for good. See the notes and What is known as second-step."
    )


def test_every_record_of_this_repository_has_all_its_parts(own_site: Built) -> None:
    pages = [p for p in own_site.pages if p.startswith("gotchas/") and p.count("/") == 2]
    assert len(pages) >= 6
    for path in pages:
        article = own_site.article(path)
        assert article.xpath(".//*[contains(@class, 'kv-glance')]"), path
        bad = "contains(concat(' ', @class, ' '), ' kv-bad ')"
        assert not article.xpath(f".//*[{bad}]"), path
        assert not article.xpath(".//*[contains(@class, 'kv-link-missing')]"), path
        refs = article.xpath(".//a[contains(@class, 'footnote-ref')]/@href")
        assert refs, path
        for ref in refs:
            (note,) = article.xpath(f".//li[@id='{ref[1:]}']")
            assert words(note).startswith(("Computed. ", "Read in ")), (path, ref)
