"""The linter as a whole: one list of all that is wrong, in order, each at its place."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kvgate.errors import Diagnostic, InputError
from kvgate.records.lint import lint
from kvgate.records.loader import load

Linter = Callable[..., list[Diagnostic]]


def test_a_record_without_faults_has_no_findings(sample: str, lint_texts: Linter) -> None:
    assert lint_texts(sample_record=sample) == []


def test_faults_of_every_kind_come_in_one_list_in_order(sample: str, lint_texts: Linter) -> None:
    text = sample
    for old, new in (
        ("concepts: [long-context, kv-sizing]", "concepts: [long-contxt, kv-sizing]"),
        ("severity: blocks-start", "severity: blocks-strat"),
        ("after 12 s[^report].", "after 12 s[^reprot]."),
        ("4 MiB[^short]", "4 MiB"),
        ("## Workaround", "## Work-around"),
        ("See [the section", "See [[nowhere]] and [the section"),
        (">>> heads = 4", ">>> import os"),
    ):
        assert old in text, old
        text = text.replace(old, new)
    found = lint_texts(sample_record=text)
    codes = [d.code for d in found]
    assert {"KV128", "KV123", "KV301", "KV302", "KV303", "KV305", "KV141"} <= set(codes)
    assert any(code.startswith(("KV31", "KV32")) for code in codes)
    assert [d.place for d in found] == sorted(d.place for d in found)
    for d in found:
        assert d.message
        assert d.place.path == "sample-record.md"
        assert d.place.line > 1 or d.place.column >= 1


@pytest.mark.parametrize(
    ("old", "new", "code", "line"),
    [
        ("kv-sizing]", "kv-sizng]", "KV128", 5),
        ("4.0 KiB[^per-token]", "4.0 KiB", "KV302", 60),
        ("12 s[^report]", "12 s", "KV303", 26),
        ("# claim: short", "# claim: report", "KV304", 62),
    ],
)
def test_a_fault_stands_at_its_line(
    sample: str, lint_texts: Linter, old: str, new: str, code: str, line: int
) -> None:
    assert old in sample
    found = lint_texts(sample_record=sample.replace(old, new))
    assert (code, line) in {(d.code, d.place.line) for d in found}


def test_an_unknown_rule_is_named_where_the_rules_are_known(tmp_path: Path, sample: str) -> None:
    (tmp_path / "sample-record.md").write_text(sample, encoding="utf-8")
    assert lint([tmp_path], rules=["made_up_rule"]) == []
    [fault] = lint([tmp_path], rules=["made_up_rules"])
    assert fault.code == "KV155"
    assert "made_up_rules" in fault.hint


def test_a_file_is_judged_among_its_neighbours_and_only_it_is_reported(
    tmp_path: Path, sample: str
) -> None:
    (tmp_path / "sample-record.md").write_text(sample, encoding="utf-8")
    (tmp_path / "other.md").write_text(sample, encoding="utf-8")
    found = lint([tmp_path / "other.md"])
    assert {Path(d.place.path).name for d in found} == {"other.md"}
    assert {d.code for d in found} == {"KV131", "KV132"}
    assert lint([tmp_path / "sample-record.md"]) == []


def test_a_folder_s_own_vocabulary_counts(tmp_path: Path, sample: str) -> None:
    (tmp_path / "sample-record.md").write_text(sample, encoding="utf-8")
    (tmp_path / "concepts.toml").write_text('[a]\nlong-context = "Long."\n')
    [fault] = lint([tmp_path])
    assert fault.code == "KV128"
    assert "kv-sizing" in fault.message


def test_several_folders_are_linted_each_on_its_own(tmp_path: Path, sample: str) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "sample-record.md").write_text(sample, encoding="utf-8")
    assert lint([tmp_path / "a", tmp_path / "b"]) == []


def test_a_record_is_found_by_id_and_alias(tmp_path: Path, sample: str) -> None:
    (tmp_path / "sample-record.md").write_text(sample, encoding="utf-8")
    library = load(tmp_path)
    assert library.find("SAMPLE-record").id == library.find("old-sample").id == "sample-record"
    with pytest.raises(InputError, match="sample-recrd"):
        library.find("sample-recrd")


def test_places_of_the_front_matter_are_known_after_loading(tmp_path: Path, sample: str) -> None:
    (tmp_path / "sample-record.md").write_text(sample, encoding="utf-8")
    record = load(tmp_path).records["sample-record"]
    place = record.place("misses", 0, "on", "gpu")
    line = sample.split("\n")[place.line - 1]
    assert line[place.column - 1 :].startswith("H100")
    assert record.page.place_at(sample.index("TP4")).column > 1
    assert record.page.section("Notes").startswith("See [the section above]")
    assert record.affects("vllm", "0.19.1")
    assert not record.affects("vllm", "0.22.0")
    assert record.affects("llama.cpp", "b7001")
    assert set(record.claims.claims) == {"per-token", "short"}


def test_scripts_and_html_in_a_record_are_text_to_the_linter(
    sample: str, lint_texts: Linter
) -> None:
    text = sample.replace("Nothing else is said.", '<script>alert("5 ms")</script> <b onclick="x">')
    assert {d.code for d in lint_texts(sample_record=text)} <= {"KV305", "KV231"}


@pytest.mark.parametrize(
    "paragraph",
    [
        "[[sample-record]] " * 10_000,
        "[^report] " * 10_000,
        "12 s[^report], " * 10_000,
        "*" * 50_000,
        "[" * 50_000,
        "> " * 5_000 + "x",
        "- " * 5_000 + "x",
        "| a " * 10_000,
        "`" * 50_000,
        "<" * 50_000,
        "<!-- " * 10_000,
    ],
    ids=lambda text: text[:6].strip(),
)
def test_a_monstrous_paragraph_is_judged_in_bounded_time(
    sample: str, lint_texts: Linter, paragraph: str
) -> None:
    text = sample.replace("Nothing else is said.", paragraph)
    start = time.process_time()
    lint_texts(sample_record=text)
    assert time.process_time() - start < 20


def test_many_records_are_linted_in_linear_time(tmp_path: Path, sample: str) -> None:
    def seconds(count: int) -> float:
        folder = tmp_path / str(count)
        folder.mkdir()
        for n in range(count):
            text = sample
            for old, new in (
                ("id: sample-record", f"id: r{n}"),
                ("[Sample, old-sample]", "[]"),
                ("The pool", f"The pool of r{n} here"),
                ("A made-up", f"r{n} is a made-up"),
                ("See [the section", f"See [[r{(n + 1) % count}]], [the section"),
            ):
                text = text.replace(old, new)
            (folder / f"r{n}.md").write_text(text, encoding="utf-8")
        start = time.process_time()
        assert lint([folder]) == []
        return time.process_time() - start

    seconds(20)  # what is imported and compiled once
    # Eight times the records take eight times as long, not sixty-four.
    assert seconds(480) < 24 * seconds(60)
