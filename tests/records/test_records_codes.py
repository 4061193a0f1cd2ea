"""One list of all codes: each that the source uses is in it, and each in it is used."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from kvgate.errors import InputError
from kvgate.records.codes import code, codes

PACKAGE = Path(__file__).resolve().parents[2] / "kvgate"
_CODE = re.compile(r"""["'](KV[0-9]{3})["']""")


@cache
def used() -> dict[str, set[str]]:
    """Each code in the Python source, with the modules that name it."""
    found: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for name in _CODE.findall(path.read_text(encoding="utf-8")):
            found.setdefault(name, set()).add(path.relative_to(PACKAGE).as_posix())
    return found


def test_every_code_that_the_source_uses_is_explained() -> None:
    unknown = {name: where for name, where in used().items() if name not in codes()}
    assert not unknown, f"add them to kvgate/records/codes.toml: {unknown}"


def test_every_code_is_used_outside_its_table() -> None:
    tables = {"records/linkcodes.py", "claims/codes.py", "deployment/problems.py"}
    assert [name for name in codes() if not used().get(name, set()) - tables] == []


def test_every_code_says_what_it_is_why_and_what_to_do() -> None:
    for name, entry in codes().items():
        for words in (entry.title, entry.why, entry.do):
            assert len(words) > 8, name
        assert entry.why.endswith("."), name
        assert entry.do.endswith("."), name
        assert not entry.title.endswith("."), name


def test_a_code_is_found_whatever_its_letter_case() -> None:
    assert code(" kv305 ").title == "a quantity without a footnote"
    with pytest.raises(InputError, match="KV3055") as error:
        code("KV3055")
    assert "KV305" in error.value.hint
