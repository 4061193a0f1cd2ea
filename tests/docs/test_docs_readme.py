"""The README: two screens, with pictures that the program made of itself."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from tests.docs.conftest import ROOT, fences

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_fits_two_screens() -> None:
    assert len(README.splitlines()) <= 100


def test_every_file_that_it_links_to_is_there() -> None:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (ROOT / target).exists(), f"{page.name}: {target}"


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of its own is POSIX")
def test_the_picture_of_the_terminal_is_what_the_program_prints() -> None:
    path = ROOT / "scripts" / "make_pictures.py"
    spec = importlib.util.spec_from_file_location("make_pictures", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    svg = (ROOT / "docs" / "pictures" / "terminal.svg").read_text(encoding="utf-8")
    assert module.terminal() == svg, "run scripts/make_pictures.py"
    assert "http" not in re.sub(r'xmlns="[^"]*"|<!--.*?-->', "", svg), "it fetches nothing"


def test_the_comparison_names_the_command_that_makes_it() -> None:
    (command,) = re.findall(r"`(scripts/compare_peers\.py[^`]*)`", README)
    script = ROOT / command.split()[0]
    assert script.is_file()
    for option in re.findall(r"--[\w-]+", command):
        assert f'"{option}"' in script.read_text(encoding="utf-8")


def test_every_page_is_in_the_navigation_and_every_command_has_a_how_to_or_is_plain() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    for page in (ROOT / "docs").rglob("*.md"):
        if page.parent.name != "codes" or page.name == "index.md":
            assert page.relative_to(ROOT / "docs").as_posix() in nav, page
    told = "".join(
        fence.text for path in (ROOT / "docs").rglob("*.md") for fence in fences(Path(path))
    )
    for command in ("size", "check", "diagnose", "new", "lint", "claims", "stale", "mcp"):
        assert f"kvgate {command}" in told, command
