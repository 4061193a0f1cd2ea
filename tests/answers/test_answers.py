"""An answer of the lower floors that moves is noticed, whatever else looks at it."""

from __future__ import annotations

import json

import pytest

from tests.answers.approve import FILE
from tests.answers.questions import digests

KINDS = ("config", "rows", "vllm", "sglang", "size", "cells")


@pytest.mark.parametrize("kind", KINDS)
def test_no_answer_moved_unnoticed(kind: str) -> None:
    approved = json.loads(FILE.read_text(encoding="utf-8"))
    now = digests(kind)
    kept = {name: digest for name, digest in approved.items() if name.startswith(f"{kind} ")}
    moved = sorted(name for name in now | kept if now.get(name) != kept.get(name))
    hint = "look at what your change moved; if it was meant: python -m tests.answers.approve"
    assert not moved, f"{hint}\n{moved}"


def test_every_kind_of_question_is_approved() -> None:
    approved = json.loads(FILE.read_text(encoding="utf-8"))
    assert {name.partition(" ")[0] for name in approved} == set(KINDS)
