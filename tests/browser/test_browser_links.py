"""Links that are felt: previews, pages that change in place, the graph, the map."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

pytestmark = pytest.mark.slow

RECORD = "gotchas/attn-gemma4-head512-falls-back-to-triton/"
LINK = "article p a[data-kv-id], article li a[data-kv-id]"
CARD = "#kv-preview"
SHOWN = ".kv-map li:not(.kv-off) > a.kv-chip"


def test_a_preview_comes_within_50_ms_once_its_record_was_read(page: Page, site_url: str) -> None:
    page.goto(site_url + RECORD)
    link = page.locator(LINK).first
    link.scroll_into_view_if_needed()
    link.hover()
    expect(page.locator(CARD)).to_be_visible()
    page.mouse.move(0, 0)
    expect(page.locator(CARD)).to_have_count(0)
    # From the moment that the pointer's rest counts as a wish to the card on the page.
    spent = page.evaluate(
        """async (where) => {
          const link = document.querySelector(where);
          const all = [];
          for (let turn = 0; turn < 5; turn += 1) {
            link.blur();
            const start = performance.now();
            link.focus({focusVisible: true});
            while (!document.querySelector("#kv-preview")) {
              await new Promise((go) => setTimeout(go, 1));
              if (performance.now() - start > 2000) break;
            }
            all.push(performance.now() - start);
          }
          return Math.min(...all);
        }""",
        LINK,
    )
    assert spent < 50


def test_a_preview_says_what_the_record_is(page: Page, site_url: str) -> None:
    page.goto(site_url + RECORD)
    link = page.locator(LINK).first
    link.hover()
    card = page.locator(CARD)
    expect(card).to_contain_text(link.text_content() or "?")
    assert link.get_attribute("aria-describedby") == "kv-preview"
    assert card.get_attribute("role") == "tooltip"
    box = card.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 1280


def test_keys_show_a_preview_and_take_it_away(page: Page, site_url: str) -> None:
    page.goto(site_url + RECORD)
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('[data-kv-id]')"):
            break
    expect(page.locator(CARD)).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(CARD)).to_have_count(0)


@pytest.fixture
def finger(browser: Browser) -> Iterator[Page]:
    """A telephone."""
    size = {"width": 390, "height": 844}
    context = browser.new_context(viewport=size, has_touch=True)  # type: ignore[arg-type]
    yield context.new_page()
    context.close()


def test_a_finger_that_rests_on_a_link_shows_its_preview_and_a_tap_follows_it(
    finger: Page, site_url: str
) -> None:
    finger.goto(site_url + RECORD)
    link = finger.locator(LINK).first
    link.scroll_into_view_if_needed()
    # Of its first line: a link that wraps may not begin where its box does.
    box = link.evaluate("link => link.getClientRects()[0].toJSON()")
    devtools = finger.context.new_cdp_session(finger)
    point = {"x": box["x"] + 8, "y": box["y"] + 8}
    devtools.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
    expect(finger.locator(CARD)).to_be_visible()
    devtools.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    # The theme writes the heading that is read into the address.
    assert finger.url.partition("#")[0] == site_url + RECORD
    target = link.get_attribute("data-kv-id")
    finger.touchscreen.tap(4, 300)
    expect(finger.locator(CARD)).to_have_count(0)
    finger.touchscreen.tap(point["x"], point["y"])
    finger.wait_for_url(f"{site_url}gotchas/{target}/**")


def test_the_next_page_comes_in_place_and_everything_on_it_works(page: Page, site_url: str) -> None:
    found: list[str] = []
    page.on("pageerror", lambda error: found.append(str(error)))
    page.goto(site_url)
    page.evaluate("window.alive = true")
    page.locator("nav.md-tabs a", has_text="Models").click()
    page.wait_for_url(f"{site_url}reference/models/")
    expect(page.locator("h1")).to_have_text("Models¶")
    assert page.title().startswith("Models")
    assert page.evaluate("window.alive")
    expect(page.locator("#kv-models thead button").first).to_be_visible()
    page.locator("nav.md-tabs a", has_text="Gotchas").click()
    page.wait_for_url(f"{site_url}gotchas/")
    page.locator("article .kv-list a").nth(3).click()
    expect(page.locator("h1.kv-title")).to_be_visible()
    # A preview asks for its document below the site's root, from wherever the reader came.
    page.locator("article .kv-related a[data-kv-id], article p a[data-kv-id]").first.hover()
    expect(page.locator(CARD)).to_be_visible()
    assert page.evaluate("window.alive")
    assert page.locator("link[rel=canonical]").get_attribute("href") == (
        "https://kvgate.github.io/kvgate/" + page.url.removeprefix(site_url)
    )
    assert found == []


def test_back_and_forward_show_the_page_and_the_place_on_it(page: Page, site_url: str) -> None:
    page.goto(f"{site_url}gotchas/")
    page.evaluate("window.alive = true")
    page.evaluate("scrollTo(0, 900)")
    page.wait_for_function("() => history.state?.y === 900")
    link = page.locator("article .kv-list a").nth(14)
    target = link.get_attribute("data-kv-id")
    link.evaluate("link => link.click()")
    page.wait_for_url(f"{site_url}gotchas/{target}/")
    assert page.evaluate("scrollY") == 0
    page.go_back()
    page.wait_for_url(f"{site_url}gotchas/")
    page.wait_for_function("() => scrollY === 900")
    page.go_forward()
    expect(page.locator("h1.kv-title")).to_be_visible()
    assert page.evaluate("window.alive")


def test_an_anchor_on_another_page_is_scrolled_to(page: Page, site_url: str) -> None:
    page.goto(site_url + RECORD)
    page.evaluate(
        "url => { const a = document.createElement('a'); a.href = url; a.id = 'there';"
        " document.querySelector('article').prepend(a); a.textContent = 'there'; }",
        f"{site_url}reference/codes/#kv301",
    )
    page.locator("#there").click()
    page.wait_for_url(f"{site_url}reference/codes/#kv301")
    page.wait_for_function("() => scrollY > 200")


def test_what_is_no_page_is_left_to_the_browser(page: Page, site_url: str) -> None:
    page.goto(site_url + RECORD)
    page.locator(".kv-machine a", has_text="JSON").click()
    page.wait_for_url(f"{site_url}api/v1/**")
    page.goto(f"{site_url}gotchas/")
    page.evaluate("document.querySelector('.kv-list a').setAttribute('href', '../not/there/')")
    page.locator(".kv-list a").first.click()
    page.wait_for_url(f"{site_url}not/there/")


def test_the_graph_around_a_record_is_walked_with_keys(page: Page, site_url: str) -> None:
    page.goto(site_url + RECORD)
    node = page.locator("figure.kv-graph a").first
    target = node.get_attribute("data-kv-id")
    node.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site_url}gotchas/{target}/")


def test_the_map_is_filtered_and_read_with_keys(page: Page, site_url: str) -> None:
    page.goto(f"{site_url}map/")
    engine = page.locator(".kv-map select[name=engine]")
    engine.focus()
    page.keyboard.type("sglang")
    expect(page.locator(".kv-map li.kv-off").first).to_be_attached()
    shown = page.locator(SHOWN)
    engines = shown.evaluate_all("all => all.map((chip) => chip.dataset.engine.split(' '))")
    assert 5 < len(engines) < page.locator("a.kv-chip").count()
    assert all("sglang" in each for each in engines)
    assert page.locator(".kv-beside li").count() == min(len(engines), 40)
    # One stop for all points, then arrows; those that the filter left out are passed over.
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('a.kv-chip')"):
            break
    walked = []
    for key in ("ArrowRight", "ArrowDown", "ArrowUp", "ArrowLeft", "End"):
        page.keyboard.press(key)
        walked.append(page.evaluate("document.activeElement.dataset.kvId"))
    known = shown.evaluate_all("all => all.map((chip) => chip.dataset.kvId)")
    assert walked[0] == known[1]
    assert walked[1] not in known[:2]
    assert walked[4] == known[-1]
    assert set(walked) <= set(known)
    expect(page.locator(".kv-map.kv-lit")).to_have_count(1)
    expect(page.locator(".kv-beside .kv-chosen a")).to_have_attribute("data-kv-id", known[-1])
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site_url}gotchas/{known[-1]}/")


@pytest.mark.parametrize(
    ("name", "value"), [("severity", "slower"), ("concept", "head-dim"), ("gpu", "sm_90")]
)
def test_the_map_is_narrowed_down_by_each_of_its_choices(
    page: Page, site_url: str, name: str, value: str
) -> None:
    page.goto(f"{site_url}map/")
    page.locator(f".kv-map select[name={name}]").select_option(value)
    chips = page.locator("a.kv-chip")
    held = chips.evaluate_all(f"all => all.map((chip) => chip.dataset.{name}.split(' '))")
    wanted = sum(value in each for each in held)
    assert 0 < wanted < len(held)
    shown = page.locator(SHOWN)
    assert shown.count() == wanted
    expect(page.locator(".kv-map output")).to_have_text(f"{wanted} of {len(held)} records")
    assert f"{name}={value}" in page.url
    page.locator(".kv-map input[value=titles]").check()
    assert page.locator("a.kv-chip:visible").count() == wanted
    page.locator(".kv-map button[type=reset]").click()
    expect(page.locator(".kv-map output")).to_contain_text(f"{len(held)} of")
    assert page.url == f"{site_url}map/"


def test_the_first_click_on_a_point_tells_of_it_and_the_next_one_opens_it(
    page: Page, finger: Page, site_url: str
) -> None:
    for reader in (page, finger):
        reader.goto(f"{site_url}map/")
        point = reader.locator("a.kv-chip").nth(30)
        act = point.tap if reader is finger else point.click
        act()
        target = point.get_attribute("data-kv-id")
        chosen = reader.locator(".kv-beside .kv-chosen a")
        expect(chosen).to_have_attribute("data-kv-id", target or "?")
        expect(chosen).to_be_in_viewport()
        assert reader.url.startswith(f"{site_url}map/")
        act()
        reader.wait_for_url(f"{site_url}gotchas/{target}/**")


def test_the_map_shows_what_is_around_a_record_and_draws_every_link(
    page: Page, site_url: str
) -> None:
    page.goto(site_url + RECORD)
    page.locator("a", has_text="Two steps around it, on the map").click()
    page.wait_for_url(f"{site_url}map/?of=*")
    everything = page.locator("a.kv-chip").count()
    shown = page.locator(SHOWN).count()
    assert 2 < shown < everything
    expect(page.locator(".kv-beside .kv-chosen")).to_be_visible()
    page.locator(".kv-map input[name=links]").check()
    assert page.locator(".kv-lines path").count() >= shown - 1
    page.locator(".kv-map button[type=reset]").click()
    page.locator(".kv-map input[name=words]").fill("triton")
    page.locator(".kv-map input[name=links]").check()
    assert 0 < page.locator(SHOWN).count() < everything
    expect(page.locator(".kv-map output")).to_contain_text(f"of {everything} records")
    page.locator(".kv-map input[name=words]").fill("")
    assert page.locator(".kv-lines path").count() > everything


def test_two_releases_are_compared_and_the_address_says_which(page: Page, site_url: str) -> None:
    page.goto(f"{site_url}reference/changes/?engine=vllm&from=0.13.0&to=0.33.0")
    out = page.locator(".kv-changes")
    expect(out).to_contain_text("heads of 512: the choice is FLASH_ATTN")
    page.locator("[data-kv-compare] select[name=engine]").select_option("sglang")
    expect(out).to_contain_text("Flags (")
    assert "engine=sglang" in page.url
