"""Files that can't be records: one reason each, at its place, and never a traceback."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvgate.errors import Diagnostic, InputError
from kvgate.records import file
from kvgate.records.lint import lint
from kvgate.records.loader import load


def fault(folder: Path, name: str = "a.md") -> Diagnostic:
    found = file.read(folder / name, folder, name)
    assert isinstance(found, Diagnostic)
    assert found.code in file.UNUSABLE
    assert found.hint
    return found


@pytest.mark.parametrize(
    ("data", "code", "line", "column"),
    [
        (b"", "KV105", 1, 1),
        (b" \r\n\t\n", "KV105", 1, 1),
        (b"\xef\xbb\xbf", "KV105", 1, 1),
        (b"ok\r\nna\xefve", "KV106", 2, 3),
        ("é\nü".encode() + b"\xff", "KV106", 2, 2),
        ("---\n".encode("utf-16"), "KV106", 1, 1),
        (b"ab\n\ncd\0e", "KV107", 3, 3),
        (b"ab\r\rcd\0e", "KV107", 3, 3),
        (b"x" * (file.LARGEST + 1), "KV104", 1, 1),
    ],
)
def test_bytes_that_are_no_record(
    tmp_path: Path, data: bytes, code: str, line: int, column: int
) -> None:
    (tmp_path / "a.md").write_bytes(data)
    found = fault(tmp_path)
    assert (found.code, found.place.line, found.place.column) == (code, line, column)


def test_a_huge_file_is_refused_by_its_size_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "a.md").open("wb") as f:
        f.truncate(50 * 2**20)
    monkeypatch.setattr(Path, "open", lambda *a, **k: pytest.fail("it was opened"))
    found = fault(tmp_path)
    assert found.code == "KV104"
    assert "50.0 MiB" in found.message


def test_a_file_that_grows_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.md").write_bytes(b"x" * 100)
    monkeypatch.setattr(file, "LARGEST", 50)
    real = Path.stat

    def small(self: Path, **options: bool) -> os.stat_result:
        values = list(real(self, **options))
        values[6] = 10
        return os.stat_result(values)

    monkeypatch.setattr(Path, "stat", small)
    assert fault(tmp_path).code == "KV104"


def test_a_folder_named_like_a_record_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "x.md").mkdir()
    assert "folder" in fault(tmp_path, "x.md").message
    assert [d.code for d in lint([tmp_path])] == ["KV102"]
    assert [d.code for d in lint([tmp_path / "x.md"])] == ["KV102"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.md")
    assert fault(tmp_path).code == "KV102"


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    inside = tmp_path / "records"
    inside.mkdir()
    (inside / "a.md").symlink_to("../secret")
    assert fault(inside).code == "KV103"


def test_a_link_inside_the_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("text")
    (tmp_path / "a.md").symlink_to("b.md")
    assert file.read(tmp_path / "a.md", tmp_path) == "text"


@pytest.mark.parametrize("target", ["a.md", "nowhere.md"])
def test_a_link_to_nothing_or_to_itself_is_said(tmp_path: Path, target: str) -> None:
    (tmp_path / "a.md").symlink_to(target)
    assert fault(tmp_path).code in ("KV101", "KV103")


def test_a_file_that_may_not_be_read_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.md").write_text("text")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    found = fault(tmp_path)
    assert found.code == "KV101"
    assert "denied" in found.message


def test_a_byte_order_mark_and_windows_line_ends_are_taken(tmp_path: Path, sample: str) -> None:
    data = b"\xef\xbb\xbf" + sample.replace("\n", "\r\n").encode()
    (tmp_path / "sample-record.md").write_bytes(data)
    assert not lint([tmp_path])
    assert load(tmp_path).records["sample-record"].page.text == sample


def test_a_faulty_file_does_not_hide_the_others(tmp_path: Path, sample: str) -> None:
    (tmp_path / "sample-record.md").write_text(sample, encoding="utf-8")
    (tmp_path / "empty.md").write_text("")
    (tmp_path / "nul.md").write_bytes(b"\0")
    library = load(tmp_path)
    assert list(library.records) == ["sample-record"]
    assert [d.code for d in library.diagnostics] == ["KV105", "KV107"]


@pytest.mark.parametrize("path", ["nowhere", "nowhere/a.md"])
def test_a_path_that_isn_t_there_is_an_input_error(tmp_path: Path, path: str) -> None:
    with pytest.raises(InputError) as error:
        lint([tmp_path / path])
    assert error.value.hint


def test_a_folder_without_records_is_never_green(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Records\n")
    with pytest.raises(InputError, match="no record"):
        lint([tmp_path])


@given(data=st.binary(max_size=300))
def test_any_bytes_are_a_text_or_a_reason(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    folder = tmp_path_factory.mktemp("bytes")
    (folder / "a.md").write_bytes(data)
    found = file.read(folder / "a.md", folder)
    if isinstance(found, str):
        assert "\r" not in found
        assert "\0" not in found
    else:
        assert found.code in file.UNUSABLE
