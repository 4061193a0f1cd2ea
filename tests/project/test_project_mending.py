"""`kvgate lint --fix`: what has one answer only is mended, everything else is left to a person."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvgate.records.mending import mend
from kvgate.records.record import read_record

ROOT = Path(__file__).resolve().parents[2]
OWN = sorted((ROOT / "gotchas").glob("*.md"))

BROKEN = """\
---
id: a-record
title: Something happens that nobody expects
concepts: [mla]
severity: surprise
affects:
  - engine: vllm
    introduced: 0.20
    fixed: 1
status: draft
---

## Symptom

| a | b |
|---|---|
| [[#notes|x]] | `[[y|z]]` and [[#notes|w]] |

Text [[#notes|stays]] as it is.

## Root cause

Why.

## Workaround

What.

## Notes

More.
"""
MENDED = (
    BROKEN.replace("---\nid", "---\nschema_version: 1\nid")
    .replace("0.20", '"0.20"')
    .replace("fixed: 1", 'fixed: "1"')
    .replace("| [[#notes|x]]", r"| [[#notes\|x]]")
    .replace("[[#notes|w]]", r"[[#notes\|w]]")
)


def codes(text: str) -> set[str]:
    draft = read_record(text, "a-record.md")
    found = [*draft.found, *(draft.page.scan.problems if draft.page else ())]
    return {d.code for d in found}


def test_what_has_one_answer_is_mended_and_the_rest_is_as_it_was() -> None:
    assert {"KV122", "KV124", "KV220"} <= codes(BROKEN)
    mended = mend(BROKEN, "a-record.md")
    assert re.sub(r"`\[\[y\\?\|z\]\]`", "", mended) == re.sub(r"`\[\[y\|z\]\]`", "", MENDED)
    assert not codes(mended) & {"KV122", "KV124", "KV220"}


def test_mending_twice_changes_nothing_more() -> None:
    mended = mend(BROKEN, "a-record.md")
    assert mend(mended, "a-record.md") == mended


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_and_the_byte_order_mark_stay(end: str) -> None:
    text = "\ufeff" + BROKEN.replace("\n", end)
    assert mend(text, "a.md") == "\ufeff" + mend(BROKEN, "a.md").replace("\n", end)


def test_a_file_with_two_kinds_of_line_ends_keeps_both() -> None:
    text = BROKEN.replace("status: draft\n", "status: draft\r\n")
    mended = mend(text, "a.md")
    assert "status: draft\r\n" in mended
    assert mended.count("\r\n") == 1


@pytest.mark.parametrize("path", OWN, ids=lambda p: p.stem)
def test_a_record_without_faults_is_returned_as_it_is(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert mend(text, path.name) == text


@pytest.mark.parametrize(
    "text",
    ["", "\n", "no front matter", "---\n", "---\n---\n", "---\n- a\n---\n", "---\na: &x 1\n---\n",
     "---\na: [1\n---\n", "---\ntitle: |\n  1\n---\n", "---\naffects: [{introduced: 1}]\n---"],
)  # fmt: skip
def test_a_broken_text_is_no_error(text: str) -> None:
    mend(text, "a.md")


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_only_insertions_are_made_whatever_stands_in_the_text(data: st.DataObject) -> None:
    pieces = BROKEN.split("\n")
    noise = st.sampled_from(["\u2028", "\x85", "\t", "|", "[[", "]]", "\\", "'", '"', "0.5", "`"])
    for _ in range(data.draw(st.integers(0, 6))):
        at = data.draw(st.integers(0, len(pieces) - 1))
        column = data.draw(st.integers(0, len(pieces[at])))
        pieces[at] = pieces[at][:column] + data.draw(noise) + pieces[at][column:]
    text = "\n".join(pieces)
    letters = iter(mend(text, "a.md"))
    assert all(letter in letters for letter in text), "something was taken away"


def kvgate(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = str(Path(sys.executable).parent / "kvgate")
    return subprocess.run([command, *arguments], capture_output=True, text=True, check=False)


def test_the_command_shows_a_diff_and_writes_only_when_told_to(tmp_path: Path) -> None:
    record = tmp_path / "a-record.md"
    record.write_bytes(BROKEN.replace("\n", "\r\n").encode())
    shown = kvgate("lint", str(record), "--fix")
    assert shown.returncode == 1
    assert '+    introduced: "0.20"' in shown.stdout
    assert "KV124" in shown.stdout
    assert record.read_bytes() == BROKEN.replace("\n", "\r\n").encode()
    written = kvgate("lint", str(tmp_path), "--fix", "--write")
    assert "KV124" not in written.stdout.replace(shown.stdout, "")
    assert record.read_bytes() == mend(BROKEN, "a.md").replace("\n", "\r\n").encode()
    again = kvgate("lint", str(tmp_path), "--fix", "--write")
    assert again.returncode == 0, again.stdout


def test_write_without_fix_and_a_diff_in_another_form_are_wrong_calls() -> None:
    for arguments in (["--write"], ["--fix", "--format", "json"]):
        done = kvgate("lint", *arguments)
        assert done.returncode == 2
        assert "--fix" in done.stderr
