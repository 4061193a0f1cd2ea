"""The content security policy: what a page says it may do covers what it does, and no more."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from lxml.html import HtmlElement

if TYPE_CHECKING:
    from tests.site.conftest import Built

META = "//meta[@http-equiv='Content-Security-Policy']"
INLINE = "//script[not(@src)][not(@type) or @type='module']"


def rules(page: HtmlElement) -> dict[str, set[str]]:
    """The directives of a page's one policy."""
    (meta,) = page.xpath(META)
    parts = [part.split() for part in meta.get("content").split(";")]
    return {name: set(values) for name, *values in parts}


def digest(script: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(script.encode()).digest()).decode()}'"


@pytest.mark.slow
def test_each_page_has_a_policy_that_covers_what_is_on_it_and_nothing_else(
    own_site: Built,
) -> None:
    signs = 0
    for path, page in own_site.pages.items():
        if page.xpath("//meta[@http-equiv='refresh']"):
            assert not page.xpath("//script | //style | //link[@rel='stylesheet']"), path
            signs += 1  # a sign at a former address: it holds nothing that could run
            continue
        allowed = rules(page)
        inline = {digest(script.text or "") for script in page.xpath(INLINE)}
        hashes = {value for value in allowed["script-src"] if value.startswith("'sha256-")}
        assert inline <= hashes, path
        assert allowed["script-src"] - hashes == {"'self'", "'wasm-unsafe-eval'"}, path
        assert len(hashes) <= 4, path
        assert allowed["default-src"] == {"'none'"}, path
        assert allowed["style-src"] == allowed["worker-src"] == {"'self'"}, path
        assert not page.xpath("//style | //*[@style] | //base | //iframe | //object"), path
        for element in page.iter():
            assert not [name for name in element.attrib if name.startswith("on")], path
            if element.tag in ("script", "img", "source"):
                address = urlsplit(element.get("src") or "")
                assert not address.netloc, path
                assert address.scheme in ("", "data")
        # What stands before the policy isn't under it.
        (meta,) = page.xpath(META)
        assert not meta.xpath("preceding::script | preceding::link[@rel='stylesheet']"), path
    assert len(own_site.pages) - signs > 100


@pytest.mark.slow
def test_a_script_is_not_allowed_by_being_on_the_page(
    base: Callable[..., Path], mkdocs: Callable[..., subprocess.CompletedProcess[str]],
    text: Callable[..., str],
) -> None:  # fmt: skip
    guide = "# Guide\n\n<script>alert(1)</script>\n\n<b onclick='x()' style='top:0'>b</b>\n"
    folder = base({"first-step.md": text("first-step")}, guide=guide)
    config = folder / "mkdocs.yml"
    config.write_text(
        config.read_text(encoding="utf-8").replace(
            "{records: records}", "{records: records, policy: true}"
        ),
        encoding="utf-8",
    )
    assert mkdocs(folder).returncode == 0
    from lxml import html

    page = html.fromstring((folder / "site" / "guide" / "index.html").read_bytes())
    assert page.xpath("//script[text()='alert(1)']")
    assert digest("alert(1)") not in rules(page)["script-src"]


@pytest.mark.slow
def test_a_base_that_does_not_ask_has_no_policy(base_site: Built) -> None:
    assert not any(page.xpath(META) for page in base_site.pages.values())
