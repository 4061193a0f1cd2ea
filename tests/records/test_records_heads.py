"""What check and diagnose read of a record is what its front matter says in full."""

from __future__ import annotations

from pathlib import Path

from kvgate.records.heads import heads_in, known
from kvgate.records.loader import load


def test_the_heads_are_those_of_the_records_that_hold() -> None:
    records = load().records
    held = {r.id for r in records.values() if r.front.status in ("active", "draft")}
    assert {head.id for head in known().heads} == held
    for head in known().heads:
        front = records[head.id].front
        assert (head.title, head.severity) == (front.title, front.severity)
        assert head.rule == (front.rule or "")
        assert head.signatures == tuple(s.text for s in front.signatures)
        assert head.engines == frozenset(a.engine for a in front.affects)


def test_a_list_may_stand_as_far_left_as_its_key(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "---\nid: a\nsources:\n- id: s\n  says: no\ntitle: >-\n  two\n  lines\nseverity: slower\n"
        "signatures:\n- text: one\n- text: two\naffects:\n- engine: vllm\nstatus: active\n---\n",
        encoding="utf-8",
    )
    (head,) = heads_in(tmp_path).heads
    assert head.title == "two lines"
    assert head.signatures == ("one", "two")
    assert head.engines == {"vllm"}
