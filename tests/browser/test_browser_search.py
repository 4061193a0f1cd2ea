"""The search box as a reader uses it: an error pasted whole, parts of names, keys alone."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from kvgate.records.loader import load
from kvgate.records.record import Record
from kvgate.records.schema import Signature

pytestmark = pytest.mark.slow

BOX = "dialog.kv-search input"
OUT = "dialog.kv-search output"
FINDS = f"{OUT} .kv-list a, {OUT} .kv-finds > li > a"


PAUSE = 200  # milliseconds; the box waits for half of it whether more is typed


def ask(page: Page, words: str) -> list[str]:
    """Type into the open box; the addresses of what is found, best first, below the site."""
    page.locator(BOX).fill(words)
    page.clock.run_for(PAUSE)
    page.wait_for_function(
        "([out, words]) => document.querySelector(out).dataset.kvFor === words",
        arg=[OUT, page.locator(BOX).input_value()],
    )
    found: list[str] = page.locator(FINDS).evaluate_all("all => all.map((a) => a.href)")
    return [address.partition("/kvgate/")[2] for address in found]


@pytest.fixture
def box(page: Page, site_url: str) -> Page:
    """The front page with the search open; its clock goes on when `ask` says so."""
    page.clock.install()
    page.goto(site_url)
    page.keyboard.press("/")
    expect(page.locator(BOX)).to_be_focused()
    return page


def signed() -> Iterator[tuple[Record, Signature]]:
    """Every signature of a record that stands."""
    for record in load().records.values():
        if record.front.status not in ("superseded", "withdrawn"):
            for signature in record.front.signatures:
                yield record, signature


def test_a_find_says_what_the_record_is_and_not_the_code_around_a_hit(box: Page) -> None:
    found = ask(box, "head_dim 512 flashinfer")
    assert found[0] == "gotchas/flashinfer-rejects-large-head-dim/"
    first = box.locator(f"{OUT} .kv-finds > li").first
    expect(first).to_have_class("kv-blocks-start")
    expect(first).to_contain_text("blocks start · vllm from 0.13.0")
    expect(first).to_contain_text("--attention-backend FLASHINFER is accepted")
    expect(first).not_to_contain_text("model(")


def test_every_signature_s_line_pasted_whole_finds_its_record_first(box: Page) -> None:
    wrong, count = [], 0
    for record, signature in signed():
        found = ask(box, signature.sample)
        wanted = [f"gotchas/{i}/" for i in (record.id, *signature.also)]
        count += 1
        if not found or found[0] not in wanted:
            wrong.append((signature.sample, found[:1], wanted))
    assert count > 100
    assert wrong == []


def test_every_id_finds_its_record_first(box: Page) -> None:
    ids = sorted(load().records)
    wrong = [i for i in ids[::5] if ask(box, i)[:1] != [f"gotchas/{i}/"]]
    assert wrong == []


@pytest.mark.parametrize(
    ("words", "record"),
    [
        ("head_dim", "flashinfer-rejects-large-head-dim"),
        ("head dim", "flashinfer-rejects-large-head-dim"),
        ("large-head-dim", "flashinfer-rejects-large-head-dim"),
        ("--kv-cache-dtype", "kv-sparse-mla-needs-fp8-ds-mla"),
        ("kv_cache_dtype", "kv-sparse-mla-needs-fp8-ds-mla"),
        ("AttentionBackendEnum.FLASHINFER", "flashinfer-rejects-large-head-dim"),
        ("attentionbackendenum", "flashinfer-rejects-large-head-dim"),
        ("sm_120", "attn-no-kernel-image-sm120"),
    ],
)
def test_a_name_is_found_by_its_parts(box: Page, words: str, record: str) -> None:
    assert f"gotchas/{record}/" in ask(box, words)


def test_words_that_are_nowhere_are_said_to_be_nowhere(box: Page) -> None:
    assert ask(box, "zyzzyva") == []
    expect(box.locator(OUT)).to_contain_text("Nothing has all these words.")


def test_a_sentence_whose_words_no_page_has_all_finds_the_pages_with_its_rare_ones(
    box: Page,
) -> None:
    found = ask(box, "ollama cuts off my prompt at 4096, whatever I do")
    assert found[0] == "gotchas/lcpp-ollama-cuts-the-prompt/"
    expect(box.locator(OUT)).to_contain_text("These have some of them")


def test_oom_is_looked_for_as_the_words_that_pages_have(box: Page) -> None:
    assert "gotchas/mem-sampler-warmup-out-of-memory/" in ask(box, "OOM sampler")


def test_a_signature_is_found_though_the_index_cannot_be_loaded(page: Page, site_url: str) -> None:
    page.route("**/pagefind/**", lambda route: route.abort())
    page.goto(site_url)
    page.keyboard.press("/")
    page.locator(BOX).fill("ValueError: No available memory for the cache blocks.")
    first = page.locator(FINDS).first
    expect(first).to_have_attribute("data-kv-id", "kv-no-memory-for-cache-blocks")
    expect(page.locator(OUT)).to_contain_text("The search index could not be loaded")


def test_words_that_are_no_signature_are_searched_for_from_where_they_were_pasted(
    page: Page, site_url: str
) -> None:
    page.goto(f"{site_url}find/?q={quote('ollama cuts off my prompt at 4096')}")
    page.get_by_role("button", name="Search all pages for its words").click()
    first = page.locator(FINDS).first
    expect(first).to_have_attribute("href", f"{site_url}gotchas/lcpp-ollama-cuts-the-prompt/")


def test_of_a_long_log_the_end_is_looked_through_and_the_page_says_so(
    page: Page, site_url: str
) -> None:
    page.goto(f"{site_url}find/")
    log = "INFO all is well\n" * 20_000 + "ValueError: No available memory for the cache blocks.\n"
    page.locator("[data-kv-find] textarea").evaluate(
        "(box, log) => { box.value = log; box.dispatchEvent(new Event('input')); }", log
    )
    out = page.locator("[data-kv-find] output")
    expect(out.locator("a").first).to_have_attribute("data-kv-id", "kv-no-memory-for-cache-blocks")
    expect(out).to_contain_text("Only the last 200,000 characters of it were looked through.")


def test_what_is_pasted_becomes_text_and_never_markup(box: Page) -> None:
    ask(box, "<img src=x onerror=document.title='run'> head_dim")
    assert box.locator(f"{OUT} img").count() == 0
    assert box.title() != "run"


def test_the_search_is_used_with_keys_alone(box: Page, site_url: str) -> None:
    found = ask(box, "FLASHINFER head size")
    box.keyboard.press("ArrowDown")
    expect(box.locator(FINDS).first).to_be_focused()
    box.keyboard.press("ArrowUp")
    expect(box.locator(BOX)).to_be_focused()
    box.keyboard.press("Escape")
    expect(box.locator(BOX)).to_be_hidden()
    box.keyboard.press("Control+k")
    expect(box.locator(BOX)).to_be_focused()
    box.keyboard.press("Enter")
    box.wait_for_url(site_url + found[0])
    expect(box.locator("h1")).to_be_focused()
    expect(box.locator(BOX)).to_be_hidden()


def test_a_letter_that_opens_the_search_can_be_typed_elsewhere(page: Page, site_url: str) -> None:
    page.goto(site_url)
    area = page.locator("form[data-kv-find] textarea")
    area.press_sequentially("/sf")
    expect(area).to_have_value("/sf")
    expect(page.locator(BOX)).to_be_hidden()


def test_nothing_of_the_search_is_fetched_before_it_is_opened(page: Page, site_url: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(site_url, wait_until="networkidle")
    assert not [a for a in asked if "pagefind" in a or "/api/" in a or "sitemap" in a]
    page.keyboard.press("/")
    ask(page, "head_dim")
    assert [a for a in asked if "pagefind/pagefind.js" in a]


def test_an_error_in_the_address_leads_straight_to_the_only_record_that_fits(
    page: Page, site_url: str
) -> None:
    texts: dict[str, list[str]] = {}
    for record, signature in signed():
        texts.setdefault(signature.sample, []).append(record.id)
    sample = "FlashMLA Dense is only supported on Hopper devices."
    (target,) = next(ids for text, ids in texts.items() if sample in text)
    page.goto(f"{site_url}find/?q={quote(sample)}")
    page.wait_for_url(f"{site_url}gotchas/{target}/")
    expect(page.locator("h1.kv-title")).to_be_visible()


def test_an_error_that_fits_nothing_stays_and_says_so(page: Page, site_url: str) -> None:
    page.goto(f"{site_url}find/?q=nothing%20of%20the%20kind")
    out = page.locator("form[data-kv-find=page] output")
    expect(out).to_contain_text("No signature is in this text.")
