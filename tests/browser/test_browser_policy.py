"""The content security policy in a real browser: it stops what slipped onto a page.

That no page breaks its own policy is seen where every page is opened: the console would say so.
"""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, Route

SLIPPED = '<script>document.title = "it ran"</script><img src="x" onerror="document.title = 1">'


def test_a_browser_runs_no_script_that_slipped_in(
    page: Page, site_url: str, site_folder: Path
) -> None:
    front = (site_folder / "index.html").read_text("utf-8")
    assert front.count("</body>") == 1
    body = front.replace("</body>", f"{SLIPPED}</body>")

    def slip(route: Route) -> None:
        route.fulfill(body=body, content_type="text/html")

    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.route(site_url, slip)
    page.goto(site_url, wait_until="networkidle")
    assert "kvgate" in page.title()
    assert sum("violates" in line or "Refused" in line for line in said) >= 2, said
