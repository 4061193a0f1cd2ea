"""What others make of a page: feed readers, crawlers, previews in a chat, GitHub's issue forms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from lxml import etree
from ruamel.yaml import YAML

if TYPE_CHECKING:
    from tests.site.conftest import Built

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
HERE = "https://kvgate.github.io/kvgate/"


def test_a_feed_reader_finds_the_feed_as_it_looks_for_one(base_site: Built) -> None:
    # Readers take the one word `alternate`; some compare the attribute as a whole.
    for name, page in base_site.pages.items():
        if page.xpath("//meta[@http-equiv='refresh']"):
            continue
        (rel,) = page.xpath("//link[@type='application/atom+xml']/@rel")
        assert rel == "alternate", name


def test_the_sitemap_lists_every_page_that_search_engines_may_take_and_no_other(
    own_site: Built,
) -> None:
    root = etree.fromstring((own_site.folder / "sitemap.xml").read_bytes())
    listed = {place.text or "" for place in root.iterfind("{*}url/{*}loc")}
    hidden = "//meta[@http-equiv='refresh' or (@name='robots' and contains(@content, 'noindex'))]"
    pages = {
        HERE + name.removesuffix("index.html")
        for name, page in own_site.pages.items()
        if name != "404.html" and not page.xpath(hidden)
    }
    assert len(listed) > 200
    assert listed == pages


def test_every_page_says_what_a_preview_elsewhere_shows(own_site: Built) -> None:
    for name, page in own_site.pages.items():
        if name == "404.html" or page.xpath("//meta[@http-equiv='refresh']"):
            continue
        said = dict(
            zip(
                page.xpath("//meta[starts-with(@property, 'og:')]/@property"),
                page.xpath("//meta[starts-with(@property, 'og:')]/@content"),
                strict=True,
            )
        )
        assert said["og:title"].strip(), name
        assert said["og:url"] == HERE + name.removesuffix("index.html")
        assert said["og:url"] == page.xpath("//link[@rel='canonical']/@href")[0]
        assert said["og:type"] == ("website" if name == "index.html" else "article")
        picture = own_site.folder / said["og:image"].removeprefix(HERE)
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert page.xpath("//meta[@name='twitter:card']/@content") == ["summary_large_image"]
        if name.startswith("gotchas/"):
            assert said["og:description"].strip(), name


def test_the_form_that_a_record_opens_has_the_fields_that_its_address_fills(
    own_site: Built,
) -> None:
    seen = set()
    for name, page in own_site.pages.items():
        for address in page.xpath("//article//p[@class='kv-machine']/a/@href"):
            if "issues/new" not in address:
                continue
            asked = {key: values[0] for key, values in parse_qs(urlsplit(address).query).items()}
            file = ROOT / ".github" / "ISSUE_TEMPLATE" / asked.pop("template")
            form = YAML(typ="safe", pure=True).load(file.read_text("utf-8"))
            fields = {part["id"]: part for part in form["body"] if part["type"] != "markdown"}
            # Those two are GitHub's own; a form leaves out what it has no field for.
            assert asked.pop("title")
            assert asked.pop("body")
            assert set(asked) <= set(fields), name
            assert asked["id"] == name.split("/")[1]
            assert asked["what"] in fields["what"]["attributes"]["options"]
            assert len(address) < 2000
            seen.add(asked["what"])
    assert len(seen) == 2


def test_a_page_of_a_concept_begins_with_what_its_records_build_on(base_site: Built) -> None:
    article = base_site.article("concepts/slow-disks/index.html")
    assert article.xpath(".//nav[@class='kv-path']/a/@href") == ["../../gotchas/", "../"]
    first = article.xpath(".//ol[@class='kv-order']/li/a/@data-kv-id")
    # first-step stands on nothing, second-step on it, pool-too-small on both.
    assert first == ["first-step", "second-step"]
    counts = [li.text_content() for li in article.xpath(".//ol[@class='kv-order']/li/span")]
    assert all("build" in count for count in counts)
    ids = [h.get("id") for h in article.iter("h2")]
    assert ids == ["read-first", "all"]
    assert article.xpath(".//a[contains(@href, 'map/?concept=slow-disks')]")


def test_a_page_whose_records_build_on_nothing_has_no_such_path(base_site: Built) -> None:
    article = base_site.article("severity/surprise/index.html")
    assert not article.xpath(".//ol[@class='kv-order']")
    assert not list(article.iter("h2"))
