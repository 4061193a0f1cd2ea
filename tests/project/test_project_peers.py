"""The comparison with other calculators: what failed here counts against nobody."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scripts.compare_peers import PEERS, _ask, _cell, _print

PEER = next(p for p in PEERS if "ValueError" in p.refusals)
GIB = 2**30


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ({"bytes": 8 * GIB}, "right"),
        ({"bytes": 8.1 * GIB}, "right"),
        ({"bytes": 8.2 * GIB}, "wrong"),
        ({"bytes": 64 * GIB}, "wrong"),
        ({"failed": "ValueError"}, "refuses"),
        ({"failed": "no figure"}, "refuses"),
        ({"failed": "KeyError"}, "crashes"),
        ({"failed": "no answer"}, "not measured"),
        ({"failed": "OSError"}, "not measured"),
        ({"failed": "ModuleNotFoundError"}, "not measured"),
    ],
)
def test_an_answer_is_of_one_kind(answer: dict[str, Any], kind: str) -> None:
    assert _cell(PEER, answer, 8 * GIB)[0] == kind


def test_a_peer_that_is_not_installed_was_not_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config.json"
    config.write_text("{}", encoding="utf-8")
    absent = replace(PEER, program="import no_such_calculator")
    given = _ask(Path(sys.executable), absent, {"a/b": config})
    assert _cell(absent, given["a/b"], GIB)[0] == "not measured"
    assert "no_such_calculator" in capsys.readouterr().err


def test_the_yardstick_is_not_scored(capsys: pytest.CaptureFixture[str]) -> None:
    _print({"a/b": 8 * GIB}, {PEER: {"a/b": {"bytes": 16 * GIB}}})
    lines = capsys.readouterr().out.splitlines()
    assert "| **right**, of 1 | | 0 |" in lines
    assert "| **wrong**, of 1 | | 1 |" in lines
