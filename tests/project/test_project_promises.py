"""What is promised is still there; what the page of promises names is so."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROMISED = json.loads((ROOT / "tests" / "golden" / "promised.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "explanation" / "promises.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", PROMISED)
def test_nothing_that_was_promised_has_gone(
    kind: str, program: Callable[[str], ModuleType]
) -> None:
    gone = set(PROMISED[kind]) - set(program("write_promised").promised()[kind])
    assert not gone, "docs/explanation/promises.md says how something goes"


def test_a_promise_that_is_broken_is_seen(program: Callable[[str], ModuleType]) -> None:
    today = program("write_promised").promised()
    assert set(today) == set(PROMISED)
    for kind, example in (
        ("python", "size(kv_cache_memory)"), ("commands", "check --format"), ("codes", "KV305"),
        ("cli.schema.json", "size.kv"), ("cli.schema.json", "kv.bytes_per_token"),
        ("record.schema.json", "severity"), ("api.schema.json", "gotchas.records"),
    ):  # fmt: skip
        assert example in today[kind], example


def test_every_schema_of_json_carries_a_version() -> None:
    schema = json.loads((ROOT / "docs" / "schema" / "cli.schema.json").read_text("utf-8"))
    for document in schema["oneOf"]:
        shape = schema["$defs"][document["$ref"].rpartition("/")[2]]
        assert shape["properties"]["schema_version"]["const"] == 1
        assert "schema_version" in shape["required"]


def test_the_page_names_headings_of_the_changelog_and_codes_that_there_are() -> None:
    from kvgate.records.codes import codes

    settings = tomllib.loads((ROOT / "towncrier.toml").read_text("utf-8"))["tool"]["towncrier"]
    titles = {kind["directory"]: kind["name"] for kind in settings["type"]}
    assert f"*{titles['deprecated']}*" in PAGE
    assert f"*{titles['breaking']}*" in PAGE
    (lost,) = re.findall(r"whose record is gone \(`(KV\d+)`\)", PAGE)
    assert "gone" in codes()[lost].title
