"""What is deprecated: each entry is complete, its users are told, and nothing changes for them."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

import kvgate
from kvgate import deprecation
from kvgate.cli import main
from kvgate.deprecation import DEPRECATED, Deprecated, DeprecatedWarning
from kvgate.records.record import read_record

ROOT = Path(__file__).resolve().parents[2]
PROMISED = json.loads((ROOT / "tests" / "golden" / "promised.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "explanation" / "promises.md").read_text(encoding="utf-8")
# As promised.json calls them; a form of "json" is in one of two documents.
KINDS = {
    "commands": ("commands",),
    "python": ("python",),
    "record": ("record.schema.json",),
    "json": ("cli.schema.json", "api.schema.json"),
}
# Made up of forms that there are, so that all but the table is as it will be.
MADE_UP = (
    Deprecated("commands", "explain --help", "explain -h", "0.1.0", "0.3.0"),
    Deprecated("commands", "show", "search", "0.1.0", "0.3.0"),
    Deprecated("record", "severity", "concepts", "0.1.0", "0.3.0"),
    Deprecated("record", "affects.introduced", "affects.fixed", "0.1.0", "0.3.0"),
    Deprecated("python", "size(kv_cache_dtype)", "size(engine)", "0.1.0", "0.3.0"),
)


def faults(one: Deprecated, current: str = kvgate.__version__) -> Iterator[str]:
    """What is wrong with an entry: the promise of docs/explanation/promises.md, word for word."""
    if one.kind not in KINDS:
        yield f"no kind is called {one.kind!r}"
        return
    known = {name for document in KINDS[one.kind] for name in PROMISED[document]}
    # --help is click's own, and so in no list of ours.
    known |= {f"{name} {word}" for name in PROMISED["commands"] for word in ("-h", "--help")}
    for form in (one.name, one.instead):
        if form not in known:
            yield f"{form} is no form of {one.kind}; run scripts/write_promised.py?"
    since, until, now = Version(one.since), Version(one.until), Version(current)
    if since > now:
        yield f"{one.instead} comes with {since}, after this release"
    if until <= now:
        yield f"{one.name} was to be gone by {until}"
    if since.major == 0 and (until.major, until.minor) < (0, since.minor + 2) and not until.major:
        yield "two minor versions lie between a new form and the end of the old one"
    if since.major and until.major <= since.major:
        yield "from 1.0 on a form goes with a new major version only"
    if one.kind in ("record", "json") and not any(
        _flagged(json.loads((ROOT / "docs" / "schema" / document).read_text("utf-8")), one.name)
        for document in KINDS[one.kind]
    ):
        yield f"the schema doesn't say deprecated: true of {one.name}"


def _flagged(schema: dict[str, Any], name: str) -> bool:
    """Whether a schema marks the key of that dotted name, wherever its first part is defined."""
    first, *rest = name.split(".")
    shapes = [schema["$defs"].get(first, {}), schema]
    for part in (first, *rest) if first not in schema["$defs"] else rest:
        found = [s["properties"][part] for s in shapes if part in s.get("properties", {})]
        if any(f.get("deprecated") for f in found) and part == name.split(".")[-1]:
            return True
        shapes = [i for f in found for i in (f, f.get("items", {}), *f.get("anyOf", ()))]
        shapes = [schema["$defs"].get(s.get("$ref", "").rpartition("/")[2], s) for s in shapes]
    return False


def test_what_is_deprecated_keeps_the_promise() -> None:
    for one in DEPRECATED:
        assert list(faults(one)) == []
        assert f"`{one.name}`" in PAGE, one
        assert f"`{one.instead}`" in PAGE, one


def test_the_page_says_that_nothing_is_deprecated_while_nothing_is() -> None:
    assert ("Nothing is deprecated today." in PAGE) is (not DEPRECATED)


@pytest.mark.parametrize(
    ("kind", "name", "instead", "since", "until", "says"),
    [
        ("commands", "check --gpu", "check --engine", "0.1.0", "0.3.0", ""),
        ("commands", "check --gone", "check --engine", "0.1.0", "0.3.0", "--gone is no form"),
        ("commands", "check --gpu", "", "0.1.0", "0.3.0", " is no form"),
        ("commands", "check --gpu", "check --engine", "0.1.0", "0.2.0", "two minor versions"),
        ("commands", "check --gpu", "check --engine", "0.2.0", "0.9.0", "after this release"),
        ("commands", "check --gpu", "check --engine", "0.0.1", "0.1.0", "was to be gone"),
        ("commands", "check --gpu", "check --engine", "1.0.0", "1.9.0", "a new major version"),
        ("flags", "check --gpu", "check --engine", "0.1.0", "0.3.0", "no kind"),
        ("json", "size.kv", "size.pool", "0.1.0", "0.3.0", "deprecated: true"),
        ("record", "severity", "concepts", "0.1.0", "0.3.0", "deprecated: true"),
    ],
)
def test_an_entry_that_breaks_the_promise_is_refused(
    kind: str, name: str, instead: str, since: str, until: str, says: str
) -> None:
    found = " / ".join(faults(Deprecated(kind, name, instead, since, until)))
    assert bool(found) is bool(says)
    assert says in found


def test_a_key_that_its_schema_marks_is_found() -> None:
    schema = json.loads((ROOT / "docs" / "schema" / "cli.schema.json").read_text("utf-8"))
    schema["$defs"]["size"]["properties"]["kv"]["deprecated"] = True
    assert _flagged(schema, "size.kv")
    assert not _flagged(schema, "size.pool")
    record = json.loads((ROOT / "docs" / "schema" / "record.schema.json").read_text("utf-8"))
    record["properties"]["severity"]["deprecated"] = True
    assert _flagged(record, "severity")
    assert not _flagged(record, "concepts")


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deprecation, "DEPRECATED", MADE_UP)


def asked(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["kvgate", *arguments])
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # as it is outside of tests
        with pytest.raises(SystemExit) as end:
            main()
    said = capsys.readouterr()
    return int(end.value.code or 0), said.out, said.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["explain", "--help"], ["explain --help goes with kvgate 0.3.0; use explain -h"]),
        (["explain", "-h"], []),
        (
            ["show", "flashinfer-rejects-large-head-dim"],
            ["show goes with kvgate 0.3.0; use search"],
        ),
        (["explain", "KV305", "--", "--help"], []),
    ],
)
def test_who_uses_an_old_form_is_told_on_standard_error_and_gets_the_same(
    arguments: list[str], told: list[str],
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    before = asked(arguments, monkeypatch, capsys)
    monkeypatch.setattr(deprecation, "DEPRECATED", MADE_UP)
    code, out, err = asked(arguments, monkeypatch, capsys)
    assert (code, out) == before[:2]
    lines = [line for line in err.split("\n") if "deprecated" in line]
    assert lines == [f"kvgate: deprecated: {text}" for text in told]
    assert err.replace("".join(f"{line}\n" for line in lines), "") == before[2]


@pytest.mark.usefixtures("made_up")
def test_a_record_s_old_key_is_told_at_its_place_and_read() -> None:
    path = ROOT / "gotchas" / "flashinfer-rejects-large-head-dim.md"
    with pytest.warns(DeprecatedWarning) as told:
        draft = read_record(path.read_text(encoding="utf-8"), "a.md")
    assert draft.record is not None
    said = [str(one.message) for one in told]
    assert any(re.match(r"a\.md:\d+:\d+: severity goes with kvgate 0\.3\.0", s) for s in said)
    assert any("affects.introduced goes" in s for s in said) is ("introduced:" in path.read_text())


@pytest.mark.usefixtures("made_up")
def test_a_function_tells_of_an_old_parameter_where_it_is_called() -> None:
    def size(kv_cache_dtype: str = "") -> str:
        if kv_cache_dtype:
            deprecation.told("python", "size(kv_cache_dtype)")
        return kv_cache_dtype or "auto"

    with pytest.warns(DeprecatedWarning, match=r"use size\(engine\)") as told:
        assert size("fp8") == "fp8"
    assert Path(told[0].filename) == Path(__file__)
    assert size() == "auto"


def test_nothing_is_told_of_what_stays() -> None:
    deprecation.told("commands", "check --gpu")  # a warning would be an error here
