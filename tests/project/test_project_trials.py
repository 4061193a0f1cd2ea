"""The hits and misses of our own records: each rule reports and leaves alone what they say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kvgate.cli.trial import cases, engine_of, plans, tried
from kvgate.errors import InputError
from kvgate.records.loader import Library, load
from kvgate.records.schema import Hit, On


@pytest.fixture(scope="module")
def library() -> Library:
    return load()


def test_every_rule_reports_its_hits_and_leaves_its_misses_alone(library: Library) -> None:
    found = [d for r in library.records.values() for d in tried(r, library.folder)]
    assert not found, "\n".join(map(str, found))


def test_every_record_with_a_rule_has_a_hit_and_a_miss(library: Library) -> None:
    lacking = [
        record.id
        for record in library.records.values()
        if record.front.status == "active"
        and record.front.rule
        and not (record.front.hits and record.front.misses)
    ]
    assert not lacking


def test_a_hit_that_the_rule_leaves_alone_is_found_at_its_line(library: Library) -> None:
    record = library.records["flashinfer-rejects-large-head-dim"]
    front = record.front
    turned = front.model_copy(update={"hits": front.misses, "misses": front.hits})
    found = list(tried(replace(record, front=turned), library.folder))
    assert {d.code for d in found} == {"KV453"}
    assert len(found) == len(front.hits) + len(front.misses)
    assert [d.place for d in found] == [place for _, place, _ in cases(record)]


def test_a_file_is_read_from_below_the_records_only(tmp_path: Path) -> None:
    folder = tmp_path / "gotchas"
    folder.mkdir()
    text = "services:\n  a:\n    image: vllm/vllm-openai:v0.33.0\n    command: Qwen/Qwen3-8B\n"
    (folder / "compose.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "outside.yaml").write_text(text, encoding="utf-8")
    (folder / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    case = Hit(file="compose.yaml", on=On(gpu="H100"))
    (plan,) = plans(case, folder)
    assert (plan.deployment.model, plan.release and str(plan.release.asked)) == (
        "Qwen/Qwen3-8B",
        "0.33.0",
    )
    assert engine_of(case, folder) == "vllm"
    with pytest.raises(InputError, match="outside"):
        plans(Hit(file="link.yaml"), folder)
    with pytest.raises(InputError, match="cannot be read"):
        plans(Hit(file="nothing.yaml"), folder)


def test_what_a_case_says_of_its_machine_reaches_the_plan(tmp_path: Path) -> None:
    on = On(gpu="H100", engine="vllm==0.33.0", model="Qwen/Qwen3-8B", kv_cache_memory=8)
    (plan,) = plans(Hit(run="vllm serve /models/mine", on=on), tmp_path)
    assert plan.arch is not None
    assert plan.arch.id == "Qwen/Qwen3-8B"
    assert plan.gpu is not None
    (other,) = plans(Hit(run="vllm serve /models/mine", on=on), tmp_path, engine="vllm==0.26.0")
    assert str(other.release and other.release.asked) == "0.26.0"
