"""kvgate's own records: what the linter asks of any folder, and what it can't ask."""

from __future__ import annotations

from pathlib import Path

from kvgate.records.home import records_home
from kvgate.records.loader import load
from kvgate.records.register import FILE, read_register


def test_every_published_id_is_in_the_register() -> None:
    register = read_register(records_home() / FILE)
    missing = [
        record.id
        for record in load().records.values()
        if record.front.status != "draft" and record.id not in register
    ]
    assert not missing, f"add to {records_home() / FILE}: {', '.join(missing)}"


def test_the_register_is_in_order() -> None:
    ids = list(read_register(records_home() / FILE))
    assert ids == sorted(ids)


def test_every_id_of_the_register_is_still_here() -> None:
    held = {path.stem for path in records_home().glob("*.md")}
    aliases = {a for record in load().records.values() for a in record.front.aliases}
    assert set(read_register(records_home() / FILE)) <= held | aliases


def test_the_records_of_the_seed_are_here() -> None:
    ids = {Path(draft.path).stem for draft in load().drafts}
    assert ids >= {
        "ctx-gotcha-long-context-kernel-gate-by-sm-generation",
        "ctx-kv-cache-gib-at-claimed-context",
        "ctx-long-context-attention-kernel-matrix",
        "flashinfer-rejects-large-head-dim",
        "attn-mla-kernel-support-matrix",
        "ctx-fp8-kv-cache-long-context-accuracy",
    }
