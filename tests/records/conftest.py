"""A record that has every part, and the linter over texts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from kvgate.errors import Diagnostic
from kvgate.records.lint import lint

# A deadline per example measures how busy the machine is.
settings.register_profile("records", deadline=None)
settings.load_profile("records")

Linter = Callable[..., list[Diagnostic]]


@pytest.fixture(scope="session")
def sample() -> str:
    """The text of a record without faults."""
    return (Path(__file__).parent / "sample_record.md").read_text(encoding="utf-8")


@pytest.fixture
def lint_texts(tmp_path: Path) -> Linter:
    """Lint texts as files of one folder, by file name; places carry the file's name alone."""

    def run(**files: str) -> list[Diagnostic]:
        for name, text in files.items():
            (tmp_path / f"{name.replace('_', '-')}.md").write_text(text, encoding="utf-8")
        found = lint([tmp_path])
        return [
            Diagnostic(
                d.code,
                type(d.place)(Path(d.place.path).name, d.place.line, d.place.column),
                d.message,
                d.hint,
                d.end_column,
            )
            for d in found
            if d.code != "KV214"  # copies of the sample know nothing of each other
        ]

    return run
