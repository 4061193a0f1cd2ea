"""Ids are permanent: one record each, never lost, never used again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kvgate.errors import Diagnostic, InputError
from kvgate.records.lint import lint
from kvgate.records.register import FILE, add_ids, read_register

Linter = Callable[..., list[Diagnostic]]


def named(sample: str, name: str, *, aliases: str = "") -> str:
    """The sample under another id, with a signature and a title of its own."""
    text = sample.replace("id: sample-record", f"id: {name}").replace(
        "The pool", f"The {name} pool"
    )
    text = text.replace("title: A made-up", f"title: {name}, a made-up")
    return text.replace("aliases: [Sample, old-sample]", f"aliases: [{aliases}]")


def test_records_with_ids_of_their_own_are_fine(sample: str, lint_texts: Linter) -> None:
    assert lint_texts(one=named(sample, "one"), two=named(sample, "two")) == []


def test_an_id_is_the_file_s_name(sample: str, lint_texts: Linter) -> None:
    [fault] = lint_texts(other=sample)
    assert (fault.code, str(fault.place)) == ("KV131", "other.md:3:5")
    assert "sample-record.md" in fault.hint
    assert "id: other" in fault.hint


def test_an_id_belongs_to_one_file(sample: str, lint_texts: Linter) -> None:
    found = lint_texts(one=named(sample, "one"), two=named(sample, "one"))
    assert ("KV132", "two.md") in {(d.code, d.place.path) for d in found}


def test_an_alias_is_nobody_s_id(sample: str, lint_texts: Linter) -> None:
    found = lint_texts(one=named(sample, "one", aliases="x, Two"), two=named(sample, "two"))
    assert ("KV206", 33, 14) in {(d.code, d.place.line, d.place.column) for d in found}


def test_a_deleted_record_is_missed(tmp_path: Path, sample: str) -> None:
    (tmp_path / "one.md").write_text(named(sample, "one"), encoding="utf-8")
    (tmp_path / FILE).write_text("# ids\none\nwas-here\n")
    [fault] = lint([tmp_path])
    assert (fault.code, fault.place.line) == ("KV135", 3)
    assert fault.place.path.endswith(FILE)
    assert "withdrawn" in fault.hint


def test_a_renamed_record_keeps_its_old_id_as_an_alias(tmp_path: Path, sample: str) -> None:
    text = named(sample, "one", aliases="was-here")
    (tmp_path / "one.md").write_text(text, encoding="utf-8")
    (tmp_path / FILE).write_text("one\nwas-here\n")
    assert lint([tmp_path]) == []


def test_a_withdrawn_record_is_a_tombstone(tmp_path: Path) -> None:
    text = (
        "---\nschema_version: 1\nid: was-here\ntitle: It was never true\nconcepts: [mla]\n"
        "severity: surprise\nstatus: withdrawn\nreason: it was a misreading of the log\n---\n"
    )
    (tmp_path / "was-here.md").write_text(text)
    (tmp_path / FILE).write_text("was-here\n")
    assert lint([tmp_path]) == []


def test_a_broken_record_isn_t_called_deleted(tmp_path: Path, sample: str) -> None:
    (tmp_path / "one.md").write_text(sample.replace("id: sample-record", "id: [", 1))
    (tmp_path / FILE).write_text("one\n")
    assert "KV135" not in {d.code for d in lint([tmp_path])}


def test_a_record_that_the_register_does_not_hold_is_told_and_what_to_add(
    tmp_path: Path, sample: str
) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.md").write_text(named(sample, name), encoding="utf-8")
    assert "KV139" not in {d.code for d in lint([tmp_path])}  # a folder may do without
    (tmp_path / FILE).write_text("one\n")
    [fault] = [d for d in lint([tmp_path]) if d.code == "KV139"]
    assert (fault.place.line, fault.place.column) == (3, 5)
    assert Path(fault.place.path).name == "two.md"
    assert "add the line two to ids.txt" in fault.hint


def test_ids_are_added_in_order_and_only_once(tmp_path: Path) -> None:
    path = tmp_path / FILE
    assert add_ids(path, ["b", "a"]) == ("a", "b")
    assert add_ids(path, ["a", "c"]) == ("c",)
    assert list(read_register(path)) == ["a", "b", "c"]
    assert add_ids(path, ["a"]) == ()
    assert [p.name for p in tmp_path.iterdir()] == [FILE]


def test_an_interrupted_write_leaves_the_old_register(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / FILE
    add_ids(path, ["a"])
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(InputError, match="No space left"):
        add_ids(path, ["b"])
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [FILE]


@pytest.mark.parametrize(
    ("path", "says"), [("gone.yml", "no such file"), ("../out.yml", "outside"), ("d", "no such")]
)
def test_a_file_that_a_hit_names_is_there(
    tmp_path: Path, sample: str, path: str, says: str
) -> None:
    folder = tmp_path / "records"
    (folder / "d").mkdir(parents=True)
    (tmp_path / "out.yml").write_text("x")
    (folder / "in.yml").write_text("x")
    run = "run: vllm serve org/model --max-model-len 131072"
    record = folder / "sample-record.md"
    record.write_text(sample.replace(run, f"file: {path}"), encoding="utf-8")
    [fault] = lint([folder])
    assert (fault.code, fault.place.line, fault.place.column) == ("KV138", 19, 11)
    assert says in fault.message
    record.write_text(sample.replace(run, "file: in.yml"), encoding="utf-8")
    assert lint([folder]) == []
