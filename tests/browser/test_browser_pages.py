"""Every page in a real browser: no error, no request to another host, readable by all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

AXE = Path(__file__).resolve().parents[2] / "node_modules" / "axe-core" / "axe.min.js"
KINDS = [
    "",
    "gotchas/",
    "gotchas/flashinfer-rejects-large-head-dim/",
    "gotchas/attn-gemma4-head512-falls-back-to-triton/",
    "concepts/",
    "concepts/head-dim/",
    "engines/vllm/",
    "gpus/",
    "severity/blocks-start/",
    "signatures/",
    "find/?q=ValueError",
    "planner/",
    "map/",
    "reference/models/",
    "reference/backends/",
    "reference/backends/vllm-0.33.0/",
    "reference/changes/",
    "reference/gpus/",
    "reference/kernels/",
    "reference/kv-formats/",
    "reference/record/",
    "reference/cli/",
    "reference/codes/",
    "reference/api/",
    "explanation/pool/",
    "explanation/gates/",
    "tutorial/",
    "howto/ci/",
    "404.html",
]
"""One page or two of each kind."""
SHARES = 4
FIRST = "gotchas/flashinfer-rejects-large-head-dim/"


def faults(page: Page, site_url: str) -> list[str]:
    """A list that grows with what goes wrong on a page: errors, and requests to elsewhere."""
    found: list[str] = []
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on("console", lambda m: found.append(m.text) if m.type in ("error", "warning") else None)
    page.on(
        "request",
        lambda r: None if r.url.startswith((site_url, "data:", "blob:")) else found.append(r.url),
    )
    return found


# In shares, so that test processes side by side can each take some.
@pytest.mark.parametrize("share", range(SHARES))
def test_every_page_opens_without_an_error_and_asks_no_other_host(
    page: Page, site_url: str, site_folder: Path, share: int
) -> None:
    every = sorted(p.relative_to(site_folder).as_posix() for p in site_folder.rglob("*.html"))
    paths = every[share::SHARES]
    assert len(paths) > 200 // SHARES
    found = faults(page, site_url)
    bad = {}
    for path in paths:
        answer = page.goto(site_url + path.removesuffix("index.html"))
        assert answer is not None
        if not answer.ok:
            found.append(str(answer.status))
        if found:
            bad[path] = list(found)
            found.clear()
    assert bad == {}


@pytest.fixture(params=[("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)], ids=str)
def look(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    """A page in one of the two schemes, wide or narrow."""
    scheme, width = request.param
    size = {"width": width, "height": 844}
    context = browser.new_context(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
    yield context.new_page()
    context.close()


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed (npm ci)")
def test_no_kind_of_page_has_a_serious_fault_for_those_who_see_or_move_otherwise(
    look: Page, site_url: str
) -> None:
    bad = []
    for path in KINDS:
        look.goto(site_url + path)
        look.evaluate(AXE.read_text("utf-8"))
        answer = look.evaluate("axe.run(document, {resultTypes: ['violations']})")
        bad += [
            (path, fault["id"], fault["nodes"][0]["html"][:120])
            for fault in answer["violations"]
            if fault["impact"] in ("serious", "critical")
        ]
    assert bad == []


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed (npm ci)")
def test_the_map_is_readable_by_all_whatever_it_shows(look: Page, site_url: str) -> None:
    look.goto(f"{site_url}map/?of=flashinfer-rejects-large-head-dim")
    look.locator(".kv-beside .kv-chosen").wait_for()
    look.evaluate(AXE.read_text("utf-8"))
    bad = []
    for state in ("chosen", "narrowed", "titles"):
        if state == "narrowed":
            look.locator(".kv-beside button", has_text="Close").click()
            look.locator(".kv-map select[name=severity]").select_option("slower")
        elif state == "titles":
            look.locator(".kv-map input[value=titles]").check()
        # The header changes its title as one scrolls, and is between two for a moment.
        answer = look.evaluate("axe.run('article', {resultTypes: ['violations']})")
        bad += [
            (state, fault["id"], fault["nodes"][0]["html"][:120])
            for fault in answer["violations"]
            if fault["impact"] in ("serious", "critical")
        ]
        assert look.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, state
    assert bad == []


def test_no_page_is_wider_than_the_screen(look: Page, site_url: str) -> None:
    wide = []
    for path in KINDS:
        look.goto(site_url + path)
        over = look.evaluate("document.documentElement.scrollWidth - innerWidth")
        if over > 0:
            wide.append((path, over))
    assert wide == []


def test_a_page_weighs_less_than_300_kilobytes_before_search_or_worker(
    page: Page, site_url: str, site_folder: Path
) -> None:
    import gzip

    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for path in ("", FIRST):
        asked.clear()
        page.goto("about:blank")
        page.goto(site_url + path, wait_until="networkidle")
        sent = 0
        for url in dict.fromkeys(a for a in asked if a.startswith(site_url)):
            file = site_folder / url.removeprefix(site_url).partition("?")[0]
            body = (file / "index.html" if file.is_dir() else file).read_bytes()
            sent += len(gzip.compress(body))
        assert 20_000 < sent < 300_000, path


@pytest.fixture
def plain(browser: Browser) -> Iterator[Page]:
    """A browser whose scripts are off."""
    context = browser.new_context(java_script_enabled=False)
    yield context.new_page()
    context.close()


def test_without_scripts_a_record_has_its_text_its_evidence_its_graph_and_its_links(
    plain: Page, site_url: str
) -> None:
    plain.goto(site_url + FIRST)
    for part in ("#symptom", "#root-cause", "#workaround", "#evidence", "#linked-from"):
        assert plain.locator(part).is_visible(), part
    graph = plain.locator("figure.kv-graph svg")
    assert graph.is_visible()
    assert graph.locator("a").count() > 1
    graph.locator("a").first.click()
    plain.wait_for_url(f"{site_url}gotchas/*/")
    assert plain.url != site_url + FIRST


def test_without_scripts_error_texts_and_the_map_can_be_read(plain: Page, site_url: str) -> None:
    plain.goto(site_url)
    plain.locator("a.kv-open-search").click()
    plain.wait_for_url(f"{site_url}signatures/")
    assert plain.locator(".kv-signatures li").count() > 100
    plain.goto(f"{site_url}find/")
    assert plain.locator("main noscript a").first.is_visible()
    plain.goto(f"{site_url}map/")
    assert plain.locator("a.kv-chip").count() > 100
    plain.goto(f"{site_url}reference/models/")
    assert plain.locator("#kv-models tbody tr").count() > 100


def test_a_table_is_sorted_by_its_heads_and_filtered_by_words(page: Page, site_url: str) -> None:
    page.goto(f"{site_url}reference/models/")
    rows = page.locator("#kv-models tbody tr")
    count = rows.count()
    heads = page.locator("#kv-models thead button")
    assert heads.count() == 6
    head = page.locator("#kv-models thead th").filter(has_text="token").first
    at = head.evaluate("h => h.cellIndex")

    def values() -> list[float]:
        told = rows.evaluate_all("(rows, at) => rows.map((r) => r.cells[at].dataset.v)", at)
        return [float(v) for v in told if v]

    head.locator("button").press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    rising = values()
    assert len(rising) > 100
    assert rising == sorted(rising)
    head.locator("button").press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert values() == sorted(rising, reverse=True)
    box = page.locator("p.kv-filter input")
    box.fill("qwen3 next")
    shown = rows.locator("visible=true")
    assert 0 < shown.count() < count
    assert all("qwen3-next" in text.lower() for text in shown.all_inner_texts())
