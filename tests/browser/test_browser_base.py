"""What every test in the browser rests on: the site is served below a path, and opens."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

pytestmark = pytest.mark.slow


def test_the_front_page_opens_below_a_path_without_an_error(page: Page, site_url: str) -> None:
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", lambda m: said.append(m.text) if m.type == "error" else None)
    answer = page.goto(site_url)
    assert answer is not None
    assert answer.ok
    assert page.locator("h1").count() == 1
    assert said == []
