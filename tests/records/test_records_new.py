"""A new record lints from its first minute."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvgate.diagnose.signature import Signature
from kvgate.errors import InputError
from kvgate.records.lint import lint
from kvgate.records.loader import load
from kvgate.records.new import NewRecord, create, record_text, signature_of
from kvgate.records.register import FILE, read_register

DAY = datetime.date(2026, 11, 30)


def new(**values: object) -> NewRecord:
    given: dict[str, object] = {
        "id": "a-new-record",
        "title": "Something happens that nobody expects",
        "concepts": ("mla",),
        "severity": "surprise",
        "seen": DAY,
    }
    return NewRecord(**(given | values))  # type: ignore[arg-type]


FULL = new(
    title='It says "no": and stops # here',
    engine="vllm",
    introduced="0.20",
    fixed="0.21.0",
    sample="(EngineCore pid=3) ERROR 11-30 12:00:01 [core.py:9] ValueError: {'a': 1} needs 3.5 GiB",
    source="https://github.com/org/project/issues/1",
    symptom="It stops.",
)


@pytest.mark.parametrize("record", [new(), FULL], ids=["least", "most"])
def test_a_new_record_lints(tmp_path: Path, record: NewRecord) -> None:
    path = create(tmp_path, record)
    assert path.name == "a-new-record.md"
    assert lint([tmp_path]) == []
    assert list(read_register(tmp_path / FILE)) == ["a-new-record"]
    front = load(tmp_path).records["a-new-record"].front
    assert front.title == record.title
    assert front.status == "draft"


def test_a_new_record_among_others_lints(tmp_path: Path, sample: str) -> None:
    (tmp_path / "sample-record.md").write_text(sample, encoding="utf-8")
    create(tmp_path, new())
    assert [d for d in lint([tmp_path]) if "a-new" in d.place.path] == []


def test_what_was_given_is_in_it() -> None:
    text = record_text(FULL)
    assert 'introduced: "0.20"' in text
    assert "It stops.[^report]" in text
    assert "ValueError: {{'a': {int}}} needs {num} GiB" in text


def test_every_bad_value_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        create(tmp_path, new(id="Bad Id", title="short", severity="bad", engine="vlm"))
    for words in ("id", "title", "severity", "engine"):
        assert words in error.value.message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("before", ["file", "register"])
def test_an_id_is_never_used_again(tmp_path: Path, before: str) -> None:
    if before == "file":
        (tmp_path / "a-new-record.md").write_text("mine")
    else:
        (tmp_path / FILE).write_text("a-new-record\n")
    with pytest.raises(InputError, match="used before"):
        create(tmp_path, new())
    if before == "file":
        assert (tmp_path / "a-new-record.md").read_text() == "mine"


def test_a_folder_that_isn_t_there_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="can't be written"):
        create(tmp_path / "nowhere", new())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("KV cache needs 3.5 GiB, 2 blocks", "KV cache needs {num} GiB, {int} blocks"),
        ("ERROR 11-30 12:00:01 [core.py:7] It failed", "It failed"),
        ("It needs 8.0. There are 7.", "It needs {num}. There are {int}."),
        ("vllm 0.33.0 refuses", "vllm 0.33.0 refuses"),
        ("cannot open <path> of <host>", "cannot open {*} of {*}"),
        ("no kernel for sm_120 at 0xdeadbeef", "no kernel for sm_120 at {word}"),
        ("cannot open /root/models/x of head_dim 256", "cannot open {word} of head_dim {int}"),
        ("{'a': 'b'} is not fp8_e4m3", "{{'a': 'b'}} is not fp8_e4m3"),
    ],
)
def test_a_log_line_becomes_a_signature(line: str, expected: str) -> None:
    assert signature_of(line) == expected


@given(st.text(min_size=1, max_size=120))
def test_a_signature_matches_the_line_it_was_made_of(line: str) -> None:
    from kvgate.diagnose.logtext import clean, strip_prefix

    text = strip_prefix(clean(line))
    made = signature_of(line)
    assert Signature(made).find(text) or not Signature(made).weight


TITLES = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Zl", "Zp"]),
    min_size=14,
    max_size=60,
)


@given(TITLES.map(lambda t: t.strip()).filter(lambda t: len(t) >= 12))
def test_any_title_is_written_so_that_it_is_read_back(title: str) -> None:
    from kvgate.records.record import read_record

    record = read_record(record_text(new(title=title)), "a-new-record.md").record
    assert record is not None
    assert record.title == title


def test_of_two_runs_with_one_text_the_id_belongs_to_the_one_that_registers_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each may find the record before its line is there, as a killed run leaves it.
    create(tmp_path, new())
    before = (tmp_path / "a-new-record.md").read_bytes()
    monkeypatch.setattr("kvgate.records.register.read_register", lambda _: {})
    monkeypatch.setattr("kvgate.records.register.add_ids", lambda *_: ())
    with pytest.raises(InputError, match="used before"):
        create(tmp_path, new())
    assert (tmp_path / "a-new-record.md").read_bytes() == before
