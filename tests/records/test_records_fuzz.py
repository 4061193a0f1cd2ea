"""Any damage to a record gives findings inside the file, never an exception."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvgate.errors import Diagnostic, InputError
from kvgate.records import file
from kvgate.records.lint import lint

SAMPLE = (Path(__file__).parent / "sample_record.md").read_text(encoding="utf-8")
SPLICES = st.sampled_from(
    ["---\n", "\n", "\n\n", "\t", ": ", "- ", "[", "]", "{", "}", '"', "'", "#", "&a", "*a",
     "!x", "|", "> ",
     "```", "~~~\n", "`", "[[", "]]", "[^", "]", "<!--", "-->", "<b>", "12 ms", ">>> ", "... ",
     "\\",
     "é", "\u2028", "\ufeff", "\x00", "\x1b", "...", "%YAML", "null", "status: draft\n",
     "related: 3\n",
     "## Notes\n", "| a |\n|---|\n", "    ", "\r\n", "\r", "\ufdd0", "\x02", "# claim: x",
     "import os"]
)  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """The sample with a few pieces cut out, doubled or spliced in."""
    text = SAMPLE
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        to = min(len(text), at + draw(st.integers(0, 40)))
        piece = draw(SPLICES | st.text(max_size=4) | st.just(text[at:to] * 2))
        text = text[:at] + piece + text[to if draw(st.booleans()) else at :]
    return text


def judged(folder: Path, data: bytes) -> list[Diagnostic]:
    path = folder / "sample-record.md"
    path.write_bytes(data)
    return lint([path])


@given(text=damaged())
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_record_gives_findings_inside_the_file(tmp_path: Path, text: str) -> None:
    found = judged(tmp_path, text.encode("utf-8", "surrogatepass"))
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for d in found:
        assert d.message
        assert 1 <= d.place.line <= len(lines), d
        assert 1 <= d.place.column <= len(lines[d.place.line - 1]) + 2, d


@given(data=st.binary(max_size=400) | st.binary(max_size=60).map(lambda b: SAMPLE.encode() + b))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_judged(tmp_path: Path, data: bytes) -> None:
    found = judged(tmp_path, data)
    if not data.strip():
        assert {d.code for d in found} <= file.UNUSABLE


def test_an_unreadable_vocabulary_or_register_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "sample-record.md").write_text(SAMPLE, encoding="utf-8")
    for name in ("concepts.toml", "ids.txt"):
        (tmp_path / name).write_bytes(b"\xff\xfe")
        with pytest.raises(InputError, match="UTF-8"):
            lint([tmp_path])
        (tmp_path / name).unlink()
