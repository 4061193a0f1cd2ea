"""What stands in the repository: no path of anybody's machine, and fragments of known kinds."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_BINARY = {".png", ".ico", ".woff2", ".gz", ".whl"}


def files() -> Iterator[Path]:
    """The files that git knows, or would with the next commit."""
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        pytest.skip("this is no git checkout")
    for name in filter(None, done.stdout.split("\0")):
        path = ROOT / name
        if path.is_file() and path.suffix not in _BINARY:
            yield path


def test_no_file_names_a_path_of_this_machine() -> None:
    if len(ROOT.parts) < 3:
        pytest.skip("the checkout's path is a single word")
    machine = {str(ROOT), sys.prefix}
    found = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in files()
        for word in machine
        if word in path.read_text(encoding="utf-8", errors="replace")
    ]
    assert not found


def test_text_files_end_with_a_line_and_have_plain_line_ends() -> None:
    for path in files():
        data = path.read_bytes()
        if path.suffix in (".py", ".toml", ".md", ".yml", ".yaml", ".txt"):
            assert b"\r" not in data, path
            assert not data or data.endswith(b"\n"), path


def test_every_change_fragment_is_of_a_kind_that_the_changelog_has() -> None:
    settings = tomllib.loads((ROOT / "towncrier.toml").read_text("utf-8"))["tool"]["towncrier"]
    kinds = {kind["directory"] for kind in settings["type"]}
    folder = ROOT / settings["directory"]
    for path in folder.glob("*"):
        if path.name in (*settings["ignore"], ".gitignore"):
            continue
        issue, kind, suffix = path.name.rsplit(".", 2)
        assert suffix == "md", path.name
        assert kind in kinds, path.name
        assert issue.isdigit() or issue.startswith("+"), path.name
        assert path.read_text(encoding="utf-8").strip(), path.name
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert all(f"`{kind}`" in readme for kind in kinds)
    assert settings["start_string"] in (ROOT / settings["filename"]).read_text(encoding="utf-8")


def test_the_changelog_of_a_release_is_made_of_the_fragments(tmp_path: Path) -> None:
    pytest.importorskip("towncrier", reason="towncrier isn't installed here")
    done = subprocess.run(
        [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9.9",
         "--config", str(ROOT / "towncrier.toml"), "--dir", str(ROOT)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "## 9.9.9" in done.stdout


def test_contributing_fits_one_page() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
