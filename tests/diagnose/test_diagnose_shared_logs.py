"""The shared logs, each of which must name its record first."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kvgate.diagnose import diagnose
from kvgate.records.heads import known

INPUTS = Path(__file__).resolve().parents[2] / "../shared/cases/inputs"
LOGS = sorted(path.stem for path in INPUTS.glob("log-*.txt"))


@pytest.mark.parametrize("name", LOGS or [pytest.param("", id="none")])
def test_a_shared_log_names_its_record_first(name: str) -> None:
    if not name:
        pytest.skip("the shared facts are not beside this checkout")
    head, log = re.split(
        r"^---\n", (INPUTS / f"{name}.txt").read_text("utf-8"), maxsplit=1, flags=re.MULTILINE
    )
    expected = re.search(r"^# expected: (\S+)", head, re.MULTILINE)
    assert expected is not None
    records = known()
    answer = diagnose([log], records.signatures, records.texts, records.suspects)
    assert answer.matches
    assert answer.matches[0].id == expected[1]
