"""The plugin in a knowledge base of somebody else's: what it adds, refuses and reads again."""

from __future__ import annotations

import gc
import re
import subprocess
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.livereload import LiveReloadServer
from mkdocs.structure.files import Files

if TYPE_CHECKING:
    from tests.site.conftest import Built

pytestmark = pytest.mark.slow

Base = Callable[..., Path]
Text = Callable[..., str]
Mkdocs = Callable[..., "subprocess.CompletedProcess[str]"]


def test_the_theme_s_additions_come_from_the_package(base_site: Built) -> None:
    assert (base_site.folder / "assets" / "kvgate.css").is_file()
    page = base_site.page("gotchas/pool-too-small/index.html")
    assert "../../assets/kvgate.css" in page.xpath("//link[@rel='stylesheet']/@href")


def test_a_second_search_beside_the_site_s_own_is_named(
    base: Base, text: Text, mkdocs: Mkdocs
) -> None:
    folder = base({"pool-too-small.md": text("pool-too-small")}, guide="# Guide\n")
    config = folder / "mkdocs.yml"
    config.write_text(config.read_text("utf-8").replace("plugins:", "plugins:\n  - search"))
    done = mkdocs(folder, "--strict")
    assert done.returncode == 1
    assert "kvgate brings its own search: take 'search' out of the plugins" in done.stderr


def test_a_theme_that_writes_over_addresses_is_named(
    base: Base, text: Text, mkdocs: Mkdocs
) -> None:
    folder = base({"one-thing.md": text("one-thing")}, guide="# Guide\n")
    config = folder / "mkdocs.yml"
    told = config.read_text("utf-8").replace("features: [", "features: [navigation.tracking, ")
    config.write_text(told)
    done = mkdocs(folder, "--strict")
    assert done.returncode == 1
    assert "'navigation.tracking' writes headings over it: take it out" in done.stderr


def test_a_base_can_do_without_search(base: Base, text: Text, mkdocs: Mkdocs) -> None:
    folder = base({"pool-too-small.md": text("pool-too-small")}, guide="# Guide\n")
    config = folder / "mkdocs.yml"
    wanted = config.read_text("utf-8").replace(
        "records: records", "records: records, search: false"
    )
    config.write_text(wanted, encoding="utf-8")
    assert mkdocs(folder, "--strict").returncode == 0
    assert not (folder / "site" / "pagefind").exists()
    assert "kv-search" not in (folder / "site" / "guide" / "index.html").read_text("utf-8")


def test_concepts_come_from_the_folder_s_own_vocabulary(base_site: Built) -> None:
    text = base_site.article("concepts/index.html").text_content()
    assert "Disks that are | slower than <b>thought</b>." in text
    assert (base_site.folder / "concepts" / "lost-packets" / "index.html").is_file()
    # What no record has gets no page.
    assert not (base_site.folder / "concepts" / "never-used").exists()


@pytest.mark.parametrize(
    ("index", "records"),
    [
        ("concepts/slow-disks", ["pool-too-small", "never-true"]),
        ("engines/vllm", ["pool-too-small", "first-step", "second-step", "gone-by"]),
        ("gpus/sm_90", ["pool-too-small"]),
        ("gpus/gfx942", ["pool-too-small"]),
        ("severity/blocks-start", ["pool-too-small"]),
        ("severity/slower", ["first-step", "second-step", "gone-by"]),
    ],
)
def test_an_index_lists_its_records_worst_first(
    base_site: Built, index: str, records: list[str]
) -> None:
    found = base_site.article(f"{index}/index.html").xpath(".//ul//a/@data-kv-id")
    assert found == records
    folder = index.partition("/")[0]
    listed = base_site.article(f"{folder}/index.html").xpath(".//td/a/@href")
    assert f"{index.partition('/')[2]}/" in listed


def test_every_signature_stands_on_one_page_with_its_record(base_site: Built) -> None:
    article = base_site.article("signatures/index.html")
    (code,) = article.xpath(".//li/code")
    assert code.text_content().startswith("The pool holds {int} tokens, and <b>the model</b>")
    assert [v.text for v in code.iter("var")] == ["{int}", "{*}"]
    assert article.xpath(".//a/@data-kv-id") == ["pool-too-small"]


def test_no_navigation_lists_the_records(base_site: Built, flat_site: Built) -> None:
    for site in (base_site, flat_site):
        for name, page in site.pages.items():
            found = page.xpath("//nav[contains(@class, 'md-nav--primary')]//a/@href")
            records = [a for a in found if "pool-too-small" in a]
            assert not records or "pool-too-small" in name, name
        assert "not included in the" not in site.log


def test_a_hand_written_page_can_ask_for_a_block(base_site: Built) -> None:
    article = base_site.article("guide/index.html")
    found = article.xpath(".//ul[contains(@class, 'kv-list')]//a/@data-kv-id")
    assert found == ["pool-too-small", "second-step"]


@pytest.mark.parametrize(
    ("record", "says"),
    [
        (
            {"cause": "See [[nowhere-at-all]]."},
            r"records/one-thing\.md:\d+:\d+: KV200 .*'nowhere-at-all'",
        ),
        ({"cause": "Now 3 GiB."}, r"records/one-thing\.md:\d+:\d+: KV305 .*'3 GiB'"),
        ({"severity": "blocks_start"}, r"records/one-thing\.md:\d+:11: KV\d+ "),
        ({"concepts": "[lost-packet]"}, r"records/one-thing\.md:\d+:12: KV128 .*'lost-packet'"),
    ],
)
def test_a_strict_build_ends_at_what_lint_finds_with_the_page_s_line(
    base: Base, text: Text, mkdocs: Mkdocs, record: dict[str, str], says: str
) -> None:
    done = mkdocs(
        base({"one-thing.md": text("one-thing", **record)}, guide="# Guide\n"), "--strict"
    )
    assert done.returncode != 0
    assert re.search(says, done.stderr), done.stderr
    assert "Traceback" not in done.stderr


def test_a_strict_build_ends_at_a_claim_that_is_off_by_one_with_the_page_s_line(
    base: Base, text: Text, mkdocs: Mkdocs
) -> None:
    source = text("one-thing").replace("\n4.0\n", "\n5.0\n")
    line = next(i for i, t in enumerate(source.split("\n"), 1) if "claim: per-token" in t)
    done = mkdocs(base({"one-thing.md": source}, guide="# Guide\n"), "--strict")
    assert done.returncode != 0
    assert f"records/one-thing.md:{line}:1: KV330" in done.stderr
    assert re.search(r"5\.0.*4\.0|4\.0.*5\.0", done.stderr, re.DOTALL)


@pytest.mark.parametrize(
    ("guide", "says"),
    [
        (
            "# Guide\n\nSee [[one-thin]].\n",
            "handbook/guide.md:3:5: KV200 no record is called 'one-thin'",
        ),
        ("---\ntitle: x\n---\n\n[[one-thing#nothing]]\n", "handbook/guide.md:5:1: KV201"),
        (
            "# Guide\n\n<!-- kvgate: wurst -->\n",
            "handbook/guide.md:3:1: KV001 no block is called 'wurst'",
        ),
    ],
)
def test_a_strict_build_ends_at_a_hand_written_page_s_mistake(
    base: Base, text: Text, mkdocs: Mkdocs, guide: str, says: str
) -> None:
    done = mkdocs(base({"one-thing.md": text("one-thing")}, guide=guide), "--strict")
    assert done.returncode != 0
    assert says in done.stderr


def test_an_ordinary_build_goes_on_and_shows_what_is_wrong(
    base: Base, text: Text, mkdocs: Mkdocs
) -> None:
    source = text("one-thing", cause="See [[nowhere-at-all]].").replace("\n4.0\n", "\n5.0\n")
    folder = base({"one-thing.md": source}, guide="# Guide\n")
    done = mkdocs(folder)
    assert done.returncode == 0
    page = (folder / "site" / "gotchas" / "one-thing" / "index.html").read_text("utf-8")
    assert "0 of 1 claims hold" in page
    assert "Computed, and no longer so." in page
    assert 'class="kv-link-missing" title="no record is called &#x27;nowhere' in page or (
        "kv-link-missing" in page
    )


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("gone", "records:1:1: the records can't be read"),
        ("empty", "the folder holds no record"),
        ("file", "the records can't be read"),
        ("vocabulary", "concepts.toml:1:"),
    ],
)
def test_a_folder_that_cannot_be_read_is_one_clean_error(
    base: Base, text: Text, mkdocs: Mkdocs, damage: str, says: str
) -> None:
    folder = base({"one-thing.md": text("one-thing")})
    records = folder / "records"
    if damage == "vocabulary":
        (records / "concepts.toml").write_text("not toml at all", encoding="utf-8")
    else:
        for path in records.iterdir():
            path.unlink()
    if damage in ("gone", "file"):
        records.rmdir()
    if damage == "file":
        records.write_text("", encoding="utf-8")
    done = mkdocs(folder)
    assert done.returncode != 0
    errors = [line for line in done.stderr.split("\n") if line.startswith("ERROR")]
    assert len(errors) == 1, done.stderr
    assert says in errors[0]
    assert "Traceback" not in done.stderr
    assert not (folder / "site" / "gotchas").exists()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("empty.md", b""),
        ("utf16.md", "---\nid: x\n---\n".encode("utf-16")),
        ("nul.md", b"---\nid: nul\n---\n\0"),
        ("latin.md", b"---\nid: latin\ntitle: \xe9\n---\n"),
        ("deep.md", b"---\nid: deep\n---\n" + b"> " * 3000 + b"x\n"),
        ("bomb.md", b"a: &a [x,x,x,x]\nb: &b [*a,*a,*a]\nc: [*b,*b]\n"),
        ("links.md", b"---\nid: links\n---\n\n" + b"[[a]] " * 10_000 + b"\n"),
    ],
)
def test_a_record_that_nobody_could_read_does_not_stop_the_site(
    base: Base, text: Text, mkdocs: Mkdocs, name: str, data: bytes
) -> None:
    folder = base({"one-thing.md": text("one-thing")}, guide="# Guide\n")
    (folder / "records" / name).write_bytes(data)
    done = mkdocs(folder)
    assert done.returncode == 0, done.stderr
    assert f"records/{name}:" in done.stderr
    assert "Traceback" not in done.stderr
    assert (folder / "site" / "gotchas" / "one-thing" / "index.html").is_file()


def test_a_record_s_file_is_watched_and_read_again(base: Base, text: Text) -> None:
    folder = base({"one-thing.md": text("one-thing", "The first title of it")})
    config = load_config(str(folder / "mkdocs.yml"))
    watched: list[str] = []

    class Server(LiveReloadServer):
        def __init__(self) -> None:
            """Nothing is served."""

        def watch(self, path: str, func: object = None, *, recursive: bool = True) -> None:
            watched.append(path)

    config.plugins.on_config(config)
    config.plugins["kvgate"].on_serve(Server(), config=config, builder=print)
    assert [Path(path).resolve() for path in watched] == [(folder / "records").resolve()]
    path = "gotchas/one-thing.md"
    before = config.plugins.on_files(Files([]), config=config).get_file_from_path(path)
    (folder / "records" / "one-thing.md").write_text(
        text("one-thing", "The second title of it"), encoding="utf-8"
    )
    (folder / "records" / "another-thing.md").write_text(text("another-thing"), encoding="utf-8")
    again = config.plugins.on_files(Files([]), config=config)
    assert before is not None
    assert "# The first title of it" in before.content_string
    assert "# The second title of it" in (again.get_file_from_path(path) or before).content_string
    assert again.get_file_from_path("gotchas/another-thing.md") is not None


@pytest.fixture
def thawed() -> Iterator[None]:
    """A build freezes its book; the tests after this one are to be collected as ever."""
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("thawed")
def test_a_preview_lets_go_of_its_former_builds(base: Base, text: Text) -> None:
    folder = base({"one-thing.md": text("one-thing")}, guide="# Guide\n")
    builds: list[weakref.ref[object]] = []
    for _ in range(3):
        config = load_config(str(folder / "mkdocs.yml"))
        build(config)
        builds.append(weakref.ref(config))
        del config
    assert builds[0]() is None


def test_a_page_of_the_docs_folder_yields_to_the_record_of_its_name(
    base: Base, text: Text, mkdocs: Mkdocs
) -> None:
    folder = base({"one-thing.md": text("one-thing")}, guide="# Guide\n")
    (folder / "handbook" / "gotchas").mkdir()
    (folder / "handbook" / "gotchas" / "one-thing.md").write_text("# An old page\n", "utf-8")
    assert mkdocs(folder).returncode == 0
    page = (folder / "site" / "gotchas" / "one-thing" / "index.html").read_text("utf-8")
    assert "What is known as one-thing" in page


def test_nothing_of_one_record_leaks_into_the_next(base: Base, text: Text, mkdocs: Mkdocs) -> None:
    leaking = (
        "The word KV and [a link][there].\n\n*[KV]: leaked\n\n[there]: https://leaked.example\n\n"
        "### Twice\n\n### Twice"
    )
    plain = "The word KV and [a link][there].\n\n### Twice\n\n### Twice"
    records = {
        "a-thing.md": text("a-thing", notes=plain),
        "b-thing.md": text("b-thing", notes=leaking),
        "c-thing.md": text("c-thing", notes=plain),
    }
    folder = base(records, guide="# Guide\n")
    assert mkdocs(folder).returncode == 0
    pages = {
        name: (folder / "site" / "gotchas" / name / "index.html").read_text("utf-8")
        for name in ("a-thing", "b-thing", "c-thing")
    }
    assert "leaked" in pages["b-thing"]
    assert "leaked" not in pages["a-thing"] + pages["c-thing"]
    same = pages["a-thing"].replace("a-thing", "c-thing")
    assert (
        same[same.find("<article") : same.find("</article")]
        == (
            pages["c-thing"][pages["c-thing"].find("<article") : pages["c-thing"].find("</article")]
        )
    )
