"""Every address on every page leads somewhere, and none to another host by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from lxml.html import HtmlElement

if TYPE_CHECKING:
    from tests.site.conftest import Built

pytestmark = pytest.mark.slow

XLINK = "xlink:href"
SITES = ("base_site", "flat_site", "own_site")


@pytest.fixture(params=SITES)
def site(request: pytest.FixtureRequest) -> Built:
    """Each of the built sites in turn."""
    found: Built = request.getfixturevalue(request.param)
    return found


def addresses(page: HtmlElement) -> Iterator[tuple[HtmlElement, str]]:
    """Every address on a page with the element that has it."""
    for element in page.iter():
        for name in ("href", "src", XLINK, "action", "data", "poster"):
            value = element.get(name)
            if value is not None:
                yield element, value


def fetches(element: HtmlElement) -> bool:
    """Whether a browser asks for the address of an element without being told to."""
    if element.tag == "link":
        rels = set((element.get("rel") or "").split())
        return bool(rels - {"canonical", "alternate", "prev", "next", "edit"})
    return element.tag not in ("a", "area", "form")


def test_no_page_asks_another_host_for_anything(site: Built) -> None:
    asked = [
        (name, address)
        for name, page in site.pages.items()
        for element, address in addresses(page)
        if fetches(element)
        and (urlsplit(address).netloc or urlsplit(address).scheme not in ("", "data"))
    ]
    assert not asked


def test_no_style_sheet_asks_another_host_for_anything(site: Built) -> None:
    sheets = {p.name: p.read_text(encoding="utf-8") for p in site.folder.rglob("*.css")}
    asked = [
        (name, address)
        for name, text in sheets.items()
        for address in re.findall(r"(?:url\(|@import)\s*[\"']?([^\"')\s]+)", text)
        if not address.startswith(("data:", "#")) and re.match(r"[a-z]+:|//", address)
    ]
    assert sheets
    assert not asked


def test_nothing_on_a_page_makes_the_script_of_the_theme_ask_another_host(site: Built) -> None:
    # It asks GitHub about a repository in a [data-md-component=source], and a package host for a
    # drawing library where there is a .mermaid.
    for name, page in site.pages.items():
        assert not page.xpath("//*[@data-md-component='source']"), name
        assert not page.xpath("//*[contains(concat(' ', @class, ' '), ' mermaid ')]"), name


def test_our_own_scripts_name_no_host(site: Built) -> None:
    for path in (site.folder / "assets").glob("*.js"):
        assert not re.search(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}", path.read_text("utf-8")), path


def test_every_address_within_the_site_leads_to_a_file_and_an_anchor(site: Built) -> None:
    ids: dict[str, set[str]] = {}
    lost = []
    for name, page in site.pages.items():
        if name == "404.html":  # its addresses begin at the root of the host: it may be anywhere
            continue
        for _, address in addresses(page):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            file, anchor = site.target(name, address)
            if not (site.folder / file).is_file():
                lost.append((name, address))
            elif anchor and file.endswith(".html"):
                if file not in ids:
                    ids[file] = {*site.page(file).xpath("//@id"), *site.page(file).xpath("//@name")}
                # What stands behind the # of the planner's address is what the form holds.
                if file == "planner/index.html" and "=" in anchor:
                    continue
                if anchor not in ids[file] and not anchor.startswith("__"):
                    lost.append((name, address))
    assert not lost


def test_no_page_has_an_id_twice(site: Built) -> None:
    for name, page in site.pages.items():
        ids = page.xpath("//@id")
        assert sorted(set(ids)) == sorted(ids), name


def test_the_page_for_lost_readers_begins_at_the_site_s_own_path(base_site: Built) -> None:
    found = [
        a
        for e, a in addresses(base_site.page("404.html"))
        if not a.startswith(("#", "https://", "data:")) and e.tag != "base"
    ]
    assert found
    assert all(a.startswith("/deep/path/") for a in found), found


def test_the_only_absolute_addresses_of_the_site_are_for_those_outside_it(base_site: Built) -> None:
    for name, page in base_site.pages.items():
        own = [e for e, a in addresses(page) if a.startswith("https://kb.example/")]
        assert all(e.get("rel") == "canonical" for e in own), name
