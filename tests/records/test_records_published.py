"""The published JSON Schema: up to date, and of one mind with the reader."""

from __future__ import annotations

import datetime
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kvgate.records import frontmatter, yaml
from kvgate.records.home import records_home
from kvgate.records.published import record_schema

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "write_schema.py"
VALIDATOR = jsonschema.Draft202012Validator(record_schema())


def plain(value: Any) -> Any:
    """Values as JSON has them."""
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value.isoformat() if isinstance(value, datetime.date) else value


def values(text: str) -> Any:
    ends = frontmatter.split(text)
    assert ends
    tree, _ = yaml.parse(text[4 : ends[0]], "a.md")
    assert tree is not None
    return plain(tree.value())


def test_the_file_in_docs_is_the_model_s() -> None:
    published = json.loads((ROOT / "docs/schema/record.schema.json").read_text(encoding="utf-8"))
    assert published == record_schema()


def test_the_script_writes_it_and_finds_drift(tmp_path: Path) -> None:
    def run(*arguments: str) -> int:
        call = [sys.executable, str(SCRIPT), "--target", str(tmp_path / "s.json"), *arguments]
        return subprocess.run(call, capture_output=True, check=False).returncode

    assert run("--check") == 1
    assert run() == 0
    assert run("--check") == 0
    (tmp_path / "s.json").write_text("{}")
    assert run("--check") == 1


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(record_schema())


def test_every_record_of_ours_keeps_to_it() -> None:
    for path in sorted(records_home().glob("*.md")):
        text = path.read_text(encoding="utf-8")
        if not frontmatter.parse(text, path.name).found:
            assert list(VALIDATOR.iter_errors(values(text))) == [], path


def test_the_sample_keeps_to_it(sample: str) -> None:
    assert list(VALIDATOR.iter_errors(values(sample))) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("severity:", "severty:"),
        ("blocks-start", "block"),
        ("id: sample-record", "id: Sample"),
        ("title: A made-up gotcha that shows every part of a record", "title: short"),
        ("https://", "http://"),
        ("    says: the pool is too small for the context\n", ""),
        ("status: active", "status: superseded"),
        ("status: active", "status: active\nreason: none"),
        ("    fixed:", '    last_affected: "0.21.0"\n    fixed:'),
        ("    because: the version has the fix\n", ""),
        ("  - run: vllm serve org/model\n", "  - file: a.yml\n    run: vllm serve org/model\n"),
        ("rule: made_up_rule\n", ""),
        ("[long-context, kv-sizing]", "[mla, mla]"),
        ('"0.13.0"', "0.13"),
        ("schema_version: 1", "schema_version: 2"),
    ],
)
def test_what_the_reader_refuses_it_refuses(sample: str, old: str, new: str) -> None:
    text = sample.replace(old, new, 1)
    assert text != sample
    assert frontmatter.parse(text, "a.md").found
    assert list(VALIDATOR.iter_errors(values(text)))


def test_patterns_are_those_of_every_language() -> None:
    """No escape that a Unicode regular expression of JavaScript refuses."""

    def patterns(node: Any) -> list[str]:
        if isinstance(node, list):
            return [p for item in node for p in patterns(item)]
        if isinstance(node, dict):
            own = [node["pattern"]] if isinstance(node.get("pattern"), str) else []
            return own + [p for item in node.values() for p in patterns(item)]
        return []

    found = patterns(record_schema())
    assert found
    for pattern in found:
        escaped = set(re.findall(r"\\(.)", pattern))
        assert escaped <= set("\\[]sdw.|^$*+?(){}/"), pattern
