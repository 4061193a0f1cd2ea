"""A front matter against its schema: every error, at its place, with what to do."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvgate.catalog.engines import ENGINES
from kvgate.errors import Diagnostic
from kvgate.records import fields, frontmatter, validation
from kvgate.records.schema import FrontMatter


def changed(text: str, old: str, new: str) -> str:
    assert old in text, old
    return text.replace(old, new, 1)


def faults(text: str) -> list[Diagnostic]:
    return list(frontmatter.parse(text, "a.md").found)


def test_the_sample_keeps_to_the_schema(sample: str) -> None:
    parsed = frontmatter.parse(sample, "a.md")
    assert parsed.found == ()
    assert parsed.model is not None
    assert parsed.model.id == "sample-record"
    assert parsed.model.misses[0].on.engine == "vllm==0.33.0"
    assert str(parsed.model.ranges[0]) == "vllm from 0.13.0, fixed in 0.22.0"
    assert sample.split("\n")[parsed.body_line :][0] == "## Symptom"


def test_a_model_can_t_be_changed(sample: str) -> None:
    model = frontmatter.parse(sample, "a.md").model
    assert model is not None
    with pytest.raises(ValueError, match="frozen"):
        model.title = "Another title for it"


@pytest.mark.parametrize(
    ("old", "new", "code", "says", "hint"),
    [
        ("severity:", "severty:", "KV121", "severty", "did you mean 'severity'"),
        ("    fixed:", "    fixd:", "KV121", "fixd", "did you mean 'fixed'"),
        ("on: {gpu", "on: {gpus", "KV121", "gpus", "did you mean 'gpu'"),
        ("blocks-start", "block-start", "KV123", "block-start", "did you mean 'blocks-start'"),
        ("engine: vllm\n", "engine: vlm\n", "KV123", "affects[1].engine", "did you mean 'vllm'"),
        ("status: active", "status: actve", "KV123", "actve", "did you mean 'active'"),
        ("schema_version: 1", "schema_version: 2", "KV123", "the number 2", "1"),
        ('"0.22.0"', "0.20", "KV124", "the number 0.20", '"0.20"'),
        ("title: A", "title: true #", "KV124", "the truth value true", '"true"'),
        ("concepts: [long-context, kv-sizing]", "concepts: mla", "KV124", "a list", "[one, two]"),
        ("on: {gpu: H100, engine: vllm==0.19.1}", "on: H100", "KV124", "a mapping", "key: value"),
        ("    at: vllm 0.19.1", "    at: [a]", "KV124", "a list", "one text"),
        ("title: A", "title: #", "KV124", "title has no value", "remove the key"),
        ("[long-context, kv-sizing]", "[long-context, ~]", "KV124", "an empty item", "remove"),
        ("id: sample-record", "id: Sample_Record", "KV125", "id can't be", "small letters"),
        ("https://github", "http://github", "KV125", "url can't be", "https://"),
        ("seen: 2026-11-30", "seen: 2026-13-01", "KV125", "not a date", "2026-11-30"),
        ("seen: 2026-11-30", "seen: 20261130", "KV125", "not a date", "2026-11-30"),
        ('"0.13.0"', '"0.13.x"', "KV125", "not a version", "0.22.0"),
        ("vllm==0.33.0", "vllm 0.33.0", "KV125", "names no version", "=="),
        ("vllm==0.33.0", "vlm==0.33.0", "KV129", "unknown engine", "did you mean 'vllm'"),
        ("gpu: H100", "gpu: H101", "KV129", "unknown GPU", "H100"),
        ("gpus: [sm_90", "gpus: [sm_91", "KV129", "sm_91", "sm_90"),
        ("gpus: [sm_90", "gpus: [H100", "KV129", "H100", "H100 is sm_90"),
        ("fix: Ask for less context.", "fix: ''", "KV127", "at least 1", "What to do"),
        ("title: A made-up", "title: A\n# made-up", "KV127", "at least 12", "sentence"),
        ("[long-context, kv-sizing]", "[mla, mla]", "KV127", "listed twice", "once"),
        ("fix: Ask for", 'fix: " Ask for less "\n#', "KV125", "begins or ends", "remove"),
        ("fix: Ask for less context.", "fix: |\n  Ask\n  for\n", "KV125", "line", "one line"),
        ("    fixed:", '    last_affected: "0.21.0"\n    fixed:', "KV126", "exclude", "fixed"),
        ('fixed: "0.22.0"', 'fixed: "0.12.0"', "KV137", "not after introduced", ""),
        ("llama.cpp\n    introduced: b7000", 'vllm\n    introduced: "0.21.0"',
         "KV137", "overlap", "part"),
        ("    because: the version has the fix\n", "", "KV122", "because", "not hit"),
        ("  - run: vllm serve org/model\n", "  - because: x\n", "KV126", "run or file", "command"),
        ("  - run: vllm serve org/model\n", "  - file: /etc/x\n", "KV125", "file", "below"),
        ("rule: made_up_rule\n", "", "KV126", "hits and no rule", "function"),
        ("status: active", "status: superseded", "KV126", "its reason", "reason"),
        ("status: active", "status: superseded\nreason: it moved", "KV126", "successor", "related"),
        ("status: active", "status: withdrawn", "KV126", "its reason", "reason"),
        ("status: active", "status: active\nreason: none", "KV126", "gives a reason", "superseded"),
        ("old-sample", "sample-record", "KV127", "own id", "remove"),
        ("aliases: [Sample", "aliases: ['a|b'", "KV125", "aliases", "without"),
    ],
)  # fmt: skip
def test_each_fault_is_named_with_what_to_do(
    sample: str, old: str, new: str, code: str, says: str, hint: str
) -> None:
    text = changed(sample, old, new)
    found = [d for d in faults(text) if d.code == code]
    assert any(says in d.message and hint in d.hint for d in found), faults(text)
    assert frontmatter.parse(text, "a.md").model is None


def test_every_fault_of_a_file_is_reported_at_once_and_where_it_stands(sample: str) -> None:
    text = sample
    for old, new in (
        ("severity:", "severty:"),
        ('"0.22.0"', "0.22"),
        ("gpu: H100", "gpu: H1000"),
        ("    says: the pool is too small for the context\n", ""),
        ("date: 2026-11-30", "date: yesterday"),
        ("fix: Ask for less context.", "fix: a\nfix: b"),
    ):
        text = changed(text, old, new)
    lines = text.split("\n")

    def place(needle: str, nth: int = 0) -> tuple[int, int]:
        hits = [(n, line.index(needle)) for n, line in enumerate(lines, 1) if needle in line]
        return hits[nth][0], hits[nth][1] + 1

    found = {(d.code, d.place.line, d.place.column) for d in faults(text)}
    assert found == {
        ("KV113", *place("fix: b")),
        ("KV121", *place("severty")),
        ("KV122", *place("schema_version")),
        ("KV124", *(place("fixed: 0.22")[0], place("fixed: 0.22")[1] + 7)),
        ("KV129", *place("H1000")),
        ("KV122", *place("id: report")),
        ("KV125", *place("yesterday")),
    }


def test_the_end_of_a_bad_value_is_known(sample: str) -> None:
    [fault] = faults(changed(sample, "blocks-start", "blocked"))
    line = sample.split("\n")[fault.place.line - 1].replace("blocks-start", "blocked")
    assert line[fault.place.column - 1 : fault.end_column - 1] == "blocked"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "KV108"),
        ("# A title\n", "KV108"),
        ("\n---\nid: a\n---\n", "KV108"),
        ("---\nid: a\n", "KV109"),
        ("---\n---\n\n## Symptom\n", "KV122"),
        ("---\n# only a comment\n---\n", "KV122"),
        ("---\n- a\n- b\n---\n", "KV124"),
        ("---\njust words\n---\n", "KV124"),
    ],
)
def test_what_is_no_front_matter_is_said(text: str, code: str) -> None:
    [fault] = faults(text)
    assert fault.code == code
    assert fault.hint


def test_a_long_text_may_be_folded(sample: str) -> None:
    text = changed(sample, "fix: Ask for less context.", "fix: >\n  Ask for\n  less context.")
    model = frontmatter.parse(text, "a.md").model
    assert model is not None
    assert model.fix == "Ask for less context."


def test_an_active_record_was_verified_and_a_draft_need_not_be(sample: str) -> None:
    text = re.sub(r"verified:\n.*\n", "", sample)
    assert [d.code for d in faults(text)] == ["KV126"]
    assert not faults(changed(text, "status: active", "status: draft"))


def test_a_rule_needs_something_it_hits_and_something_it_leaves_alone(sample: str) -> None:
    text = re.sub(r"misses:\n(?:  .*\n)+", "", sample)
    assert [(d.code, "misses" in d.message) for d in faults(text)] == [("KV126", True)]


def test_a_superseded_record_names_its_successor(sample: str) -> None:
    text = changed(
        sample,
        "status: active",
        "related:\n  - {type: superseded-by, id: other}\nreason: merged into it\n"
        "status: superseded",
    )
    model = frontmatter.parse(text, "a.md").model
    assert model is not None
    assert model.successors == ("other",)
    found = faults(changed(text, "status: superseded", "status: active"))
    assert [d.code for d in found] == ["KV126", "KV126"]


def test_a_record_needs_no_engine_signature_or_rule() -> None:
    text = (
        "---\nschema_version: 1\nid: a\ntitle: A plain fact about memory\nconcepts: [mla]\n"
        "severity: surprise\nstatus: draft\n---\n"
    )
    assert not faults(text)


def test_the_schema_knows_the_engines_of_the_catalogue() -> None:
    assert set(fields.Engine.__args__) == set(ENGINES)  # type: ignore[attr-defined]
    assert set(ENGINES) < set(fields.Component.__args__)  # type: ignore[attr-defined]


def test_every_field_says_what_it_holds() -> None:
    for model in validation.models().values():
        for name, info in model.model_fields.items():
            assert info.description, (model, name)
            assert info.description.endswith("."), (model, name)


KEYS = st.sampled_from([*FrontMatter.model_fields, "run", "on", "gpu", "engine", "x"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(["vllm", "0.2", "active", "superseded", "superseded-by", "2026-11-30"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=10,
)  # fmt: skip


@given(st.dictionaries(KEYS, VALUES, max_size=8))
def test_no_front_matter_raises(tree: dict[str, object]) -> None:
    text = f"---\n{json.dumps(tree)}\n---\n"
    parsed = frontmatter.parse(text, "a.md")
    assert parsed.model is None
    assert parsed.found
    assert all(1 <= d.place.line <= text.count("\n") + 1 and d.message for d in parsed.found)


@pytest.mark.parametrize(
    "escape",
    ["\\e[2J", "\\b", "\\x9b", "\\x7f", "\\u202e", "\\u2066", "\\ufffe", "\\uffff", "\\0", "\\t"],
)
def test_a_title_holds_nothing_that_steers_or_that_no_xml_may_hold(
    sample: str, escape: str
) -> None:
    title = next(line for line in sample.splitlines() if line.startswith("title: "))
    text = sample.replace(title, f'title: "The engine stops {escape} at the start"')
    assert "KV125" in {found.code for found in faults(text)}
