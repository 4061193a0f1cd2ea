"""Sentences at a terminal and in a pipe."""

from __future__ import annotations

import sys

import pytest

from kvgate.cli.terminal import wrapped

TEXT = "a sentence about --kv-cache-dtype that is longer than a narrow terminal is wide"


@pytest.mark.parametrize("columns", [30, 40, 80])
def test_a_terminal_gets_whole_words_below_each_other(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = wrapped(TEXT, 4).split("\n")
    assert len(lines) > 1
    assert all(line.startswith("    ") and len(line) <= columns for line in lines)
    assert " ".join(line.strip() for line in lines) == TEXT


def test_a_pipe_gets_one_line() -> None:
    assert wrapped(TEXT, 4) == f"    {TEXT}"
