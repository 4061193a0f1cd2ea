"""What programs read: JSON that fits its schema, an Atom feed, llms.txt, Markdown, former ids."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from lxml import etree

if TYPE_CHECKING:
    from tests.site.conftest import Built

pytestmark = pytest.mark.slow

SCHEMA = json.loads(
    (Path(__file__).resolve().parents[2] / "docs" / "schema" / "api.schema.json").read_text("utf-8")
)
ATOM = "{http://www.w3.org/2005/Atom}"
BASE = "https://kb.example/deep/path/"


def validator(kind: str) -> jsonschema.Draft202012Validator:
    """What judges documents of a kind, dates and addresses included."""
    schema = {"$ref": f"#/$defs/{kind}", "$defs": SCHEMA["$defs"]}
    return jsonschema.Draft202012Validator(
        schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )


def documents(site: Built, pattern: str) -> list[Any]:
    """The JSON documents of a site."""
    return [json.loads(p.read_text("utf-8")) for p in sorted(site.folder.glob(pattern))]


@pytest.fixture(params=["base_site", "flat_site", "own_site"])
def site(request: pytest.FixtureRequest) -> Built:
    """Each of the built sites in turn."""
    found: Built = request.getfixturevalue(request.param)
    return found


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize(
    ("pattern", "kind"),
    [
        ("api/v1/gotchas.json", "gotchas"),
        ("api/v1/gotchas/*.json", "gotcha"),
        ("api/v1/graph.json", "graph"),
    ],
)
def test_every_document_fits_the_published_schema(site: Built, pattern: str, kind: str) -> None:
    found = documents(site, pattern)
    assert found
    for document in found:
        assert not [e.message for e in validator(kind).iter_errors(document)]


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"schema_version": 2}, "gotcha"),
        ({"surprise": 1}, "gotcha"),
        ({"severity": "bad"}, "gotcha"),
        ({"claims": [{"name": "a"}]}, "gotcha"),
        ({"updated": "yesterday"}, "gotcha"),
        ({"records": [{"id": "a"}]}, "gotchas"),
        ({"nodes": [{"id": "a"}]}, "graph"),
        ({"edges": [{"source": "a"}]}, "graph"),
    ],
)
def test_the_schema_refuses_what_does_not_fit(
    base_site: Built, change: dict[str, Any], kind: str
) -> None:
    pattern = {"gotcha": "api/v1/gotchas/pool-too-small.json"}.get(kind, f"api/v1/{kind}.json")
    (document,) = documents(base_site, pattern)
    assert validator(kind).is_valid(document)
    assert not validator(kind).is_valid({**document, **change})


def test_a_record_s_document_holds_its_front_matter_its_text_and_its_claims(
    base_site: Built,
) -> None:
    (found,) = documents(base_site, "api/v1/gotchas/pool-too-small.json")
    assert found["url"] == f"{BASE}gotchas/pool-too-small/"
    assert found["updated"] == "2026-11-29"
    assert found["aliases"] == ["old-name", "The Pool"]
    assert found["affects"] == [{"engine": "vllm", "introduced": "0.13.0", "fixed": "0.22.0"}]
    assert found["hits"][0]["on"] == {"gpu": "H100", "engine": "vllm==0.19.1"}
    titles = [s["title"] for s in found["sections"]]
    assert titles == ["Symptom", "Root cause", "Workaround", "Notes", "Claims"]
    assert found["claims"][1] == {
        "name": "per-token", "line": found["claims"][1]["line"],
        "expression": "heads * 1024 / KiB", "expected": "4.0", "got": "4.0", "outcome": "passed",
    }  # fmt: skip


def test_the_list_has_every_record_and_those_that_are_gone_last(base_site: Built) -> None:
    (found,) = documents(base_site, "api/v1/gotchas.json")
    assert [(r["id"], r["status"]) for r in found["records"]] == [
        ("pool-too-small", "active"), ("first-step", "active"), ("second-step", "active"),
        ("gone-by", "superseded"), ("never-true", "withdrawn"),
    ]  # fmt: skip


def test_the_graph_has_links_with_their_sentence_and_typed_relations(base_site: Built) -> None:
    (found,) = documents(base_site, "api/v1/graph.json")
    edges = {(e["source"], e["target"], e["type"]): e for e in found["edges"]}
    said = edges["second-step", "pool-too-small", "wikilink"]
    assert said["sentence"] == "It is told apart from the pool by its log."
    assert said["section"] == {"id": "root-cause", "text": "Root cause"}
    assert ("gone-by", "pool-too-small", "superseded-by") in edges
    nodes = {n["id"]: n for n in found["nodes"]}
    assert nodes["pool-too-small"]["links_in"] == len(
        [e for e in edges if e[1] == "pool-too-small"]
    )


def test_the_feed_is_atom_with_all_that_a_reader_needs(site: Built) -> None:
    root = etree.fromstring((site.folder / "feed.xml").read_bytes())
    assert root.tag == f"{ATOM}feed"
    for parent in (root, *root.findall(f"{ATOM}entry")):
        for name in ("id", "title", "updated"):
            (element,) = parent.findall(f"{ATOM}{name}")
            assert element.text, (parent.tag, name)
        assert parent.findtext(f"{ATOM}updated", "").endswith("T00:00:00Z")
    assert root.find(f"{ATOM}author/{ATOM}name") is not None
    ids = [e.text for e in root.iter(f"{ATOM}id")]
    assert len(set(ids)) == len(ids)
    days = [e.findtext(f"{ATOM}updated", "") for e in root.findall(f"{ATOM}entry")]
    assert days == sorted(days, reverse=True)
    assert root.findtext(f"{ATOM}updated") == days[0]


def test_the_feed_s_links_are_absolute_and_every_page_names_the_feed(base_site: Built) -> None:
    root = etree.fromstring((base_site.folder / "feed.xml").read_bytes())
    links = [e.get("href") for e in root.iter(f"{ATOM}link")]
    assert f"{BASE}gotchas/pool-too-small/" in links
    assert all(link and link.startswith(BASE) for link in links)
    for name, page in base_site.pages.items():
        if name.startswith("gotchas/old-name"):
            continue
        (feed,) = page.xpath("//link[@type='application/atom+xml']/@href")
        expected = "/deep/path/feed.xml" if name == "404.html" else "feed.xml"
        assert (feed if name == "404.html" else base_site.target(name, feed)[0]) == expected


def test_llms_txt_lists_every_record_that_stands_with_its_point(base_site: Built) -> None:
    lines = base_site.text("llms.txt").split("\n")
    assert lines[:3] == ["# A base of ours", "", "> What we learned"]
    listed = [line for line in lines if line.startswith("- [")]
    assert any(
        "gotchas/pool-too-small.md): The engine stops after 12 s, for good." in x for x in listed
    )
    assert not any("gone-by" in line or "never-true" in line for line in listed)


def test_a_record_is_there_as_markdown_with_its_evidence(base_site: Built) -> None:
    text = base_site.text("gotchas/pool-too-small.md")
    assert "[^per-token]: **Computed.** `heads * 1024 / KiB` gives `4.0` (on line" in text
    assert "[^report]: **Read** in [report](<https://example.org/issues/1_a_(b)>)" in text


def test_a_former_id_leads_on_to_the_record(base_site: Built, flat_site: Built) -> None:
    page = base_site.page("gotchas/old-name/index.html")
    (refresh,) = page.xpath("//meta[@http-equiv='refresh']/@content")
    assert refresh == "0; url=../pool-too-small/"
    assert page.xpath("//link[@rel='canonical']/@href") == [f"{BASE}gotchas/pool-too-small/"]
    assert page.xpath("//body//a/@href") == ["../pool-too-small/"]
    assert flat_site.page("gotchas/old-name.html").xpath("//a/@href") == ["pool-too-small.html"]
    # An alias with a space was never an address.
    assert not list(base_site.folder.glob("gotchas/The*"))


def searched(site: Built) -> list[dict[str, Any]]:
    """What the search index holds of each page: address, title, text, anchors."""
    mark = b"pagefind_dcd"  # before the JSON of a fragment
    files = site.folder.glob("pagefind/fragment/*.pf_fragment")
    return [json.loads(gzip.decompress(f.read_bytes()).removeprefix(mark)) for f in files]


def test_a_former_id_is_neither_in_the_sitemap_nor_in_the_search_index(base_site: Built) -> None:
    assert "old-name/" not in base_site.text("sitemap.xml")
    assert not any("old-name" in page["url"] for page in searched(base_site))


def test_search_finds_a_record_by_its_title_its_names_its_sections_and_its_log_line(
    base_site: Built,
) -> None:
    pages = {page["url"]: page for page in searched(base_site)}
    page = pages["/gotchas/pool-too-small/"]
    assert page["meta"]["title"] == "The pool is <too small> & the `engine` stops: *always*"
    # What a find shows of it; none of it is found by itself.
    assert page["meta"]["severity"] == "blocks-start"
    assert page["meta"]["summary"].startswith("The engine stops after 12 s, for good.")
    assert "vllm" in page["meta"]["about"]
    assert "blocks-start" not in page["content"]
    for text in (
        "old-name", "slow-disks", "Ask for less.", "The engine stops after 12 s",
        "ValueError: The pool holds 1024 tokens, and <b>the model</b> asks for 9",
    ):  # fmt: skip
        assert text in page["content"], text
    assert {"am-i-affected", "symptom", "root-cause"} <= {a["id"] for a in page["anchors"]}
    assert "Überblick" in {a["text"] for a in pages["/gotchas/second-step/"]["anchors"]}
    # Evidence, and the marks that lead to it, would be found instead of what they prove.
    assert "the pool is *too small*" not in page["content"]
    assert "¶" not in page["content"]


def test_search_has_a_page_of_each_thing_once(own_site: Built) -> None:
    urls = [page["url"] for page in searched(own_site)]
    assert len(set(urls)) == len(urls)
    assert not any(u.startswith(("/concepts/", "/engines/", "/severity/")) for u in urls)
    assert {"/", "/reference/models/", "/explanation/pool/"} <= set(urls)


def test_of_the_search_only_what_the_site_uses_is_there(own_site: Built) -> None:
    names = {path.name for path in (own_site.folder / "pagefind").glob("*.*")}
    assert {"pagefind.js", "pagefind-entry.json", "wasm.en.pagefind"} <= names
    assert not [name for name in names if "ui" in name or "highlight" in name]
