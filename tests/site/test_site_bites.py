"""Where a record bites: what the strip says is what the rule says, and it is never out of date."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kvgate.deployment import deployments
from kvgate.plan import plan
from kvgate.records.loader import load
from kvgate.rules import Finding, rule
from kvgate.site import bites
from kvgate.site.bites import Bites, Row, Strip, strip

if TYPE_CHECKING:
    from tests.site.conftest import Built

GEMMA = "attn-gemma4-head512-falls-back-to-triton"


def cell(made: Strip, generation: str, version: str) -> str:
    """What a strip says of one release on one generation."""
    at = made.versions.index(version)
    (row,) = [row for row in made.rows if generation in row.generations]
    for says, _, _, count in row.runs:
        if at < count:
            return says
        at -= count
    raise AssertionError(version)


def test_a_strip_says_what_the_rule_says_of_each_release_and_generation() -> None:
    record = load().records[GEMMA]
    made = strip(record)
    assert made is not None
    assert made.command == record.front.hits[0].run
    assert sum(len(row.generations) for row in made.rows) == len(bites.GENERATIONS)
    assert record.front.rule
    for version, card, generation in (
        ("0.33.0", "RTX PRO 6000", "sm_120"),
        ("0.33.0", "H200", "sm_90"),
        ("0.20.2", "H200", "sm_90"),
        ("0.26.0", "GB300", "sm_103"),
        ("0.33.0", "GB300", "sm_103"),
    ):
        (asked,) = deployments(made.command, engine=f"vllm=={version}")
        said = rule(record.front.rule)(plan(replace(asked, gpu=card), gpu=card))
        wanted = "bites" if isinstance(said, Finding) else "doesn't"
        assert cell(made, generation, version) == wanted, (version, card)
    assert {says for row in made.rows for says, *_ in row.runs} >= {"bites", "doesn't"}


def test_the_runs_of_a_row_cover_every_release_once() -> None:
    made = strip(load().records[GEMMA])
    assert made is not None
    for row in made.rows:
        assert sum(count for *_, count in row.runs) == len(made.versions)
        assert row.runs[0][1] == made.versions[0]
        assert row.runs[-1][2] == made.versions[-1]


def test_a_record_without_a_rule_has_no_strip() -> None:
    without = [r for r in load().records.values() if r.front.rule is None]
    assert without
    assert strip(without[0]) is None


def test_strips_are_kept_until_the_code_or_the_catalogue_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = load().records[GEMMA]
    made = Strip("vllm", "vllm serve x", ("0.33.0",), (Row(("sm_90",), (("bites", "a", "b", 1),)),))
    asked: list[str] = []

    def work(record: object) -> Strip:
        asked.append("")
        return made

    monkeypatch.setattr(bites, "strip", work)
    file = tmp_path / "cache" / "bites.json"
    for expected in (1, 1):
        kept = Bites(file)
        assert kept.of(record) == made
        kept.keep()
        assert len(asked) == expected
    other = json.loads(file.read_text("utf-8"))
    other["digest"] = "another"
    file.write_text(json.dumps(other), encoding="utf-8")
    assert Bites(file).of(record) == made
    assert len(asked) == 2
    file.write_text("no JSON", encoding="utf-8")
    assert Bites(file).of(record) == made
    assert len(asked) == 3


@pytest.mark.slow
def test_a_page_shows_the_strip_in_words_too(own_site: Built) -> None:
    table = own_site.article(f"gotchas/{GEMMA}/index.html").xpath(
        ".//table[contains(@class, 'kv-strip')]"
    )[0]
    assert [th.text_content() for th in table.xpath(".//thead//th")][-1] == "33"
    rows = {tr.xpath("string(th)"): tr for tr in table.xpath(".//tbody/tr")}
    (hopper,) = [tr for name, tr in rows.items() if "sm_90" in name]
    assert any("bites" in t for t in hopper.xpath("td/@title"))
    assert any("doesn't" in t for t in hopper.xpath("td/@title"))
    assert (
        len(own_site.page("gotchas/index.html").xpath("//table[contains(@class, 'kv-strip')]")) == 0
    )
