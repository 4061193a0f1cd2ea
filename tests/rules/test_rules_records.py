"""Every record's hits and misses, through reader, plan and rule, as ``kvgate check`` would go."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from kvgate.architecture import model as released
from kvgate.manifests import read_deployments
from kvgate.plan import Plan, plan
from kvgate.records.loader import load
from kvgate.records.record import Record
from kvgate.records.schema import Deployment
from kvgate.rules import Finding, rule
from kvgate.units import GiB

ROOT = Path(__file__).resolve().parents[2] / "gotchas"


@cache
def _records() -> dict[str, Record]:
    return {i: r for i, r in load(ROOT).records.items() if r.front.rule is not None}


def _cases(kind: str) -> list[tuple[str, int]]:
    return [
        (i, n) for i, r in sorted(_records().items()) for n in range(len(getattr(r.front, kind)))
    ]


def _plans(case: Deployment) -> list[Plan]:
    if case.file is not None:
        path = ROOT / case.file
        text, name, folder = path.read_text(encoding="utf-8"), case.file, path.parent
    else:
        text, name, folder = case.run or "", "<command line>", None
    on = case.on
    memory = round(on.kv_cache_memory * GiB) if on.kv_cache_memory is not None else None
    arch = released(on.model) if on.model is not None else None
    engine = on.engine.replace("==b", "==") if on.engine is not None else None
    return [
        plan(one, gpu=on.gpu, model=arch, kv_cache_memory=memory)
        for one in read_deployments(text, name, engine=engine, folder=folder)
    ]


@pytest.mark.parametrize(("record", "index"), _cases("hits"))
def test_a_hit_of_a_record_is_found_by_its_rule(record: str, index: int) -> None:
    front = _records()[record].front
    verdicts = [rule(front.rule or "")(made) for made in _plans(front.hits[index])]
    found = [v for v in verdicts if isinstance(v, Finding)]
    assert found, verdicts
    assert all(v.message for v in found)


@pytest.mark.parametrize(("record", "index"), _cases("misses"))
def test_a_miss_of_a_record_is_left_alone_by_its_rule(record: str, index: int) -> None:
    front = _records()[record].front
    verdicts = [rule(front.rule or "")(made) for made in _plans(front.misses[index])]
    assert verdicts
    assert not [v for v in verdicts if v is not None], "a miss is decided, not open"


def test_every_record_with_a_rule_has_a_hit_and_a_miss() -> None:
    bare = [i for i, r in _records().items() if not r.front.hits or not r.front.misses]
    assert not bare
