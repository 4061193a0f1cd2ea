"""The search index is whole, or the build says that it isn't."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvgate.site.searching import of_page, write_index

PAGES = [of_page("One", "<p>Some words.</p>", "one/"), of_page("Two", "<p>Others.</p>", "")]


def program(folder: Path, monkeypatch: pytest.MonkeyPatch, lines: str) -> None:
    """Put a program of these shell lines in the place of Pagefind's."""
    path = folder / "pagefind"
    path.write_text(f"#!/bin/sh\n{lines}\n", encoding="utf-8")
    path.chmod(0o755)
    monkeypatch.setenv("PAGEFIND_BINARY_PATH", str(path))


def test_an_index_has_all_files_that_a_reader_loads(tmp_path: Path) -> None:
    write_index(PAGES, tmp_path / "out")
    names = {p.name for p in (tmp_path / "out").iterdir()}
    assert {"pagefind-entry.json", "pagefind.js", "fragment", "index"} <= names
    assert len(list((tmp_path / "out" / "fragment").iterdir())) == len(PAGES)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('mkdir -p "$4"; : > "$4/pagefind-entry.json"', "empty or missing: pagefind-entry.json"),
        (
            'mkdir -p "$4"; echo {} > "$4/pagefind-entry.json"; : > "$4/a.pf_meta"',
            "empty or missing: a.pf_meta",
        ),
        ("exit 0", "empty or missing: pagefind-entry.json"),
        ("echo no room >&2; exit 1", "no room"),
    ],
)
def test_an_index_that_was_not_written_whole_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str, said: str
) -> None:
    program(tmp_path, monkeypatch, lines)
    with pytest.raises(RuntimeError, match=said):
        write_index(PAGES, tmp_path / "out")


def test_a_folder_s_own_settings_for_pagefind_have_no_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pagefind.toml").write_text('glob = "nothing"\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    write_index(PAGES, Path("out"))
    assert len(list((tmp_path / "out" / "fragment").iterdir())) == len(PAGES)
