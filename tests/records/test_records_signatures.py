"""Signatures: each matches its sample, and no other record's unless that is said."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kvgate.errors import Diagnostic

Linter = Callable[..., list[Diagnostic]]

LONG = "The {name} pool holds {{int}} tokens, and the model asks for {{int}}."


def record(sample: str, name: str, text: str, line: str, *, also: str = "") -> str:
    """The sample under another id, with one signature."""
    start, end = sample.index("signatures:"), sample.index("rule:")
    given = f'signatures:\n  - text: "{text}"\n    sample: "{line}"\n'
    given += f"    also: [{also}]\n" if also else ""
    made = f"{sample[:start]}{given}{sample[end:]}".replace("id: sample-record", f"id: {name}")
    made = made.replace("title: A made-up", f"title: {name}, a made-up")
    return made.replace("aliases: [Sample, old-sample]\n", "")


@pytest.mark.parametrize(
    ("text", "line", "code", "at"),
    [
        ("The pool holds {int} tokens", "The pool holds many tokens", "KV151", "sample"),
        ("The pool holds {in} tokens", "The pool holds 3 tokens", "KV150", "text"),
        ("The pool holds {int}{word} tokens", "The pool holds 3x tokens", "KV150", "text"),
        ("The pool holds { tokens", "The pool holds 3 tokens", "KV150", "text"),
        ("{*}an error{*}", "this is an error of some kind", "KV153", "text"),
    ],
)
def test_each_fault_is_named_where_it_stands(
    sample: str, lint_texts: Linter, text: str, line: str, code: str, at: str
) -> None:
    [fault] = lint_texts(one=record(sample, "one", text, line))
    assert fault.code == code
    assert fault.hint
    lines = record(sample, "one", text, line).split("\n")
    assert lines[fault.place.line - 1][: fault.place.column - 1].strip(" -") == f"{at}:"


def test_a_sample_may_have_a_prefix(sample: str, lint_texts: Linter) -> None:
    line = "(EngineCore pid=1) ERROR 11-30 10:00:00 [core.py:1] The pool holds 3 tokens"
    assert lint_texts(one=record(sample, "one", "The pool holds {int} tokens", line)) == []


def test_a_sample_leads_to_one_record(sample: str, lint_texts: Linter) -> None:
    one = record(sample, "one", "The pool holds {int} tokens", "The pool holds 3 tokens")
    two = record(sample, "two", "The pool holds {*} at last", "The pool holds 3 tokens at last")
    [fault] = lint_texts(one=one, two=two)
    assert (fault.code, fault.place.path) == ("KV152", "two.md")
    assert "'one'" in fault.message
    assert "also: [one]" in fault.hint


def test_two_records_may_share_a_sample_when_they_say_so(sample: str, lint_texts: Linter) -> None:
    line = "The pool holds 3 tokens"
    one = record(sample, "one", "The pool holds {int} tokens", line, also="two")
    two = record(sample, "two", "The pool holds {word} tokens", line, also="one")
    assert lint_texts(one=one, two=two) == []


def test_what_is_said_of_others_must_be_true(sample: str, lint_texts: Linter) -> None:
    one = record(
        sample, "one", "The pool holds {int} tokens", "The pool holds 3 tokens", also="two"
    )
    two = record(sample, "two", "Another line of a log", "Another line of a log")
    [fault] = lint_texts(one=one, two=two)
    assert (fault.code, fault.place.path) == ("KV154", "one.md")


def test_two_signatures_of_one_record_may_match_one_sample(sample: str, lint_texts: Linter) -> None:
    text = record(sample, "one", "The pool holds {int} tokens", "The pool holds 3 tokens")
    text = text.replace(
        "rule:", '  - text: "pool holds {int} tokens"\n    sample: "The pool holds 3 tokens"\nrule:'
    )
    assert lint_texts(one=text) == []


def test_a_withdrawn_record_claims_no_sample(sample: str, lint_texts: Linter) -> None:
    line = "The pool holds 3 tokens"
    one = record(sample, "one", "The pool holds {int} tokens", line)
    two = record(sample, "two", "The pool holds {word} tokens", line)
    two = two.replace("status: active", "status: withdrawn\nreason: the other one says it all")
    assert lint_texts(one=one, two=two) == []


@pytest.mark.parametrize("text", ["longestwordof{word}", "{*}longestwordofall", "ab longword cd"])
def test_every_clash_is_found_whatever_words_a_signature_has(
    sample: str, lint_texts: Linter, text: str
) -> None:
    """A signature without a whole word, and one whose only whole word is common."""
    line = "xlongestword1 longestwordofall xab longword cdx"
    files = {"odd": record(sample, "odd", text, line)}
    for n in range(4):
        text = f"xlongestword1 {{*}} longword cdx {n} of {{int}}"
        files[f"r{n}"] = record(sample, f"r{n}", text, f"{line} {n} of 9")
    found = lint_texts(**files)
    assert {(d.code, d.place.path) for d in found} == {("KV152", f"r{n}.md") for n in range(4)}
