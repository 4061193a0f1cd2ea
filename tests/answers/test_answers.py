"""An answer of the lower floors that moves is noticed, whatever else looks at it."""

from __future__ import annotations

import json

import pytest

from tests.answers.approve import FILE
from tests.answers.questions import digest, groups

APPROVED = json.loads(FILE.read_text(encoding="utf-8"))
HINT = "look at what your change moved; if it was meant: python -m tests.answers.approve"


# By what was approved, so that a group that is gone is noticed too.
@pytest.mark.parametrize("group", APPROVED)
def test_no_answer_moved_unnoticed(group: str) -> None:
    assert digest(group) == APPROVED[group], HINT


def test_every_group_of_questions_is_approved() -> None:
    assert set(groups()) == set(APPROVED), HINT
