"""What a hostile record says in the site's data: it stays a text in each of the forms."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from xml.etree import ElementTree

import pytest
from jinja2 import DictLoader, Environment
from lxml import html
from markdown import Markdown

from kvgate.site import api
from kvgate.site.addresses import Addresses
from kvgate.site.book import Book, read_book
from kvgate.site.feed import atom
from kvgate.site.llms import llms
from kvgate.site.record_page import RecordPage
from kvgate.site.searching import of_record
from tests.site.conftest import CONCEPTS, record

ROOT = Path(__file__).resolve().parents[2]
ADDRESSES = Addresses(base="https://kb.example/")
TITLES = [
    # Whatever a title may hold: other controls, ends of lines and directions are refused.
    '</title><script>alert(1)</script> & "it\'s" ]]>',
    "a](https://evil.example/) [click](javascript:alert(1)",
    "![x](https://evil.example/p.png) <https://evil.example/>",
    "ends in a backslash\\",
    "## Data `code` *x* _y_ | z",
    "&quot; onload=&#34;x&quot;",
]
TEXT = (
    "<script>alert(2)</script> ]]> &quot; [a](javascript:alert(1)) ![p](https://evil.example/p.png)"
    " \x1b[31m \x08 \x0b \x9b31m \ufffe \u202edetrevni"
    "\n## Data\n- [evil](https://evil.example/)"
)


MAKES_ELEMENTS = re.compile(
    r"(?:inner|outer)HTML\s*\+?=|insertAdjacentHTML|document\.write|setHTMLUnsafe|\beval\("
    r"|new Function\b|createContextualFragment"
)
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe]")


def book(folder: Path, *titles: str) -> Book:
    folder.mkdir(exist_ok=True)
    (folder / "concepts.toml").write_text(CONCEPTS, encoding="utf-8")
    for number, title in enumerate(titles):
        text = record(f"evil-{number}", title, symptom=TEXT, front="fix: '</script>]]>'")
        (folder / f"evil-{number}.md").write_text(text, encoding="utf-8")
    found = read_book(folder)
    assert len(found.records) == len(titles)
    return found


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Book:
    return book(tmp_path_factory.mktemp("evil"), *TITLES)


def test_the_feed_is_well_formed_and_says_the_titles_as_they_are(evil: Book) -> None:
    feed = ElementTree.fromstring(atom(evil, ADDRESSES, title="<b> & ]]>"))
    atom_ = "{http://www.w3.org/2005/Atom}"
    assert {e.findtext(f"{atom_}title") for e in feed.iter(f"{atom_}entry")} == {
        evil.title(r.id) for r in evil.records
    }
    assert {e.tag.removeprefix(atom_) for e in feed.iter()} == {
        "feed", "id", "title", "updated", "generator", "author", "name", "link", "entry",
        "category", "summary",
    }  # fmt: skip
    assert not STEERS.search("".join(map(str, feed.itertext())))
    assert {e.get("type") for e in feed.iter(f"{atom_}summary")} == {"text"}
    assert all(
        e.get("href", "").startswith("https://kb.example/") for e in feed.iter(f"{atom_}link")
    )


def test_a_title_is_one_link_of_llms_txt_and_nothing_else(evil: Book) -> None:
    text = llms(evil, ADDRESSES, title="Ours", description="")
    entries = [line for line in text.split("\n") if line.startswith("- [")]
    assert len(entries) == len(TITLES) + 3
    assert text.count("\n## Data\n") == 1
    assert len(text.splitlines()) == text.count("\n")
    for line in entries:
        tree = html.fromstring(Markdown().convert(line))
        links = [a.get("href", "") for a in tree.iter("a")]
        assert len(links) == 1, line
        assert links[0].startswith("https://kb.example/")
        assert not STEERS.search(line)
        assert not [e.tag for e in tree.iter("img", "script")], line


def test_the_json_holds_the_texts_and_is_json(evil: Book) -> None:
    for one in evil.records:
        short = api.summary(evil, one, ADDRESSES)
        said = json.loads(json.dumps(api.gotcha(evil, one, short), default=str))
        assert said["title"] == one.title
        assert said["url"].startswith("https://kb.example/gotchas/evil-")


def test_search_is_given_the_texts_and_no_elements_of_theirs(evil: Book) -> None:
    for one in evil.records:
        page = RecordPage("", "", "<p>text</p>", "", (), ())
        tree = html.document_fromstring(of_record(one, page, "x/").html)
        assert {e.tag for e in tree.iter()} <= {
            "html", "head", "title", "body", "h1", "h2", "p", "code",
        }  # fmt: skip
        assert tree.findtext(".//title") == one.title


def test_the_preview_s_meta_hold_the_title_and_the_point_as_values(evil: Book) -> None:
    """The theme's block as a page of a record gets it; MkDocs' environment escapes nothing."""
    theme = (ROOT / "kvgate/site/theme/main.html").read_text(encoding="utf-8")
    base = "<html><head>{% block extrahead %}{% endblock %}</head><body>b</body></html>"
    environment = Environment(loader=DictLoader({"base.html": base, "main.html": theme}))
    environment.filters["url"] = str
    config = {"site_name": '"><script>x</script>', "site_url": "https://kb.example/", "extra": {}}
    for one in evil.records:
        # As the plugin gives them to a page.
        meta = {
            "title": escape(one.title, quote=False),
            "description": escape(evil.summaries[one.id]),
        }
        page = {"meta": meta, "title": "", "canonical_url": "https://kb.example/x/"}
        text = environment.get_template("main.html").render(page=page, config=config)
        tree = html.document_fromstring(text)
        said = {m.get("property"): m.get("content") for m in tree.iter("meta")}
        assert said["og:title"] == one.title
        assert said["og:description"] == evil.summaries[one.id]
        assert {e.tag for e in tree.iter()} == {"html", "head", "link", "meta", "body"}
        assert set().union(*(m.keys() for m in tree.iter("meta"))) == {"property", "content"}


def test_the_site_s_scripts_make_no_elements_of_text() -> None:
    """What search and the planner show of a record is put there as text."""
    scripts = sorted((ROOT / "kvgate/site/theme").rglob("*.js"))
    assert scripts
    for path in scripts:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"insertAdjacentHTML|outerHTML\s*=|document\.write|\beval\(", text), (
            path
        )
