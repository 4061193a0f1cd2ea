"""Links and relations as the linter of a whole folder sees them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kvgate.errors import Diagnostic
from kvgate.records.lint import lint
from kvgate.records.loader import load

Linter = Callable[..., list[Diagnostic]]


def named(sample: str, name: str, *, see: str = "", related: str = "") -> str:
    text = sample.replace("id: sample-record", f"id: {name}").replace(
        "The pool", f"The {name} pool"
    )
    text = text.replace("title: A made-up", f"title: {name}, a made-up")
    text = text.replace("aliases: [Sample, old-sample]\n", f"related: [{related}]\n")
    return text.replace("See [the section", f"See {see}, [the section") if see else text


@pytest.mark.parametrize(
    ("see", "related", "code"),
    [
        ("[[nowhere]]", "", "KV200"),
        ("[[two#nowhere]]", "", "KV201"),
        ("[[two]] and [[two]]", "", "KV204"),
        ("[[one]]", "", "KV203"),
        ("[[two", "{type: see-also, id: tow}", "KV210"),
        ("", "{type: see-also, id: one}", "KV211"),
        ("", "{type: prerequisite, id: two}", "KV213"),
    ],
)
def test_each_fault_of_links_is_found(
    sample: str, lint_texts: Linter, see: str, related: str, code: str
) -> None:
    two = named(sample, "two", related="{type: prerequisite, id: one}")
    found = lint_texts(one=named(sample, "one", see=see, related=related), two=two)
    assert code in {d.code for d in found}


def test_good_links_are_no_findings(sample: str, lint_texts: Linter) -> None:
    one = named(sample, "one", see="[[two#Root cause|why]] and [[#Symptom]]")
    two = named(sample, "two", related="{type: caused-by, id: one}")
    assert lint_texts(one=one, two=two) == []


def test_a_broken_record_is_still_a_page_that_links_arrive_at(
    sample: str, lint_texts: Linter
) -> None:
    one = named(sample, "one", see="[[two#Symptom]]", related="{type: see-also, id: two}")
    two = named(sample, "two").replace("severity:", "severty:")
    assert {d.code for d in lint_texts(one=one, two=two)} == {"KV121", "KV122"}


def test_the_links_of_a_broken_record_are_judged_too(sample: str, lint_texts: Linter) -> None:
    one = named(sample, "one", see="[[nowhere]]").replace("severity:", "severty:")
    found = lint_texts(one=one, two=named(sample, "two", see="[[one]]"))
    assert {d.code for d in found} == {"KV121", "KV122", "KV200"}


def test_an_active_record_alone_is_a_finding_and_a_draft_is_none(
    tmp_path: Path, sample: str
) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / f"{name}.md").write_text(
            named(sample, name, see="[[two]]" if name == "one" else ""), encoding="utf-8"
        )
    [fault] = lint([tmp_path])
    assert (fault.code, Path(fault.place.path).name) == ("KV214", "three.md")
    draft = named(sample, "three").replace("status: active", "status: draft")
    (tmp_path / "three.md").write_text(draft, encoding="utf-8")
    (tmp_path / "four.md").write_text("")
    assert [d.code for d in lint([tmp_path])] == ["KV105"]


def test_a_library_knows_its_graph(tmp_path: Path, sample: str) -> None:
    one = named(sample, "one", see="[[two]]", related="{type: prerequisite, id: two}")
    (tmp_path / "one.md").write_text(one, encoding="utf-8")
    (tmp_path / "two.md").write_text(named(sample, "two"), encoding="utf-8")
    graph = load(tmp_path).graph
    assert graph.read_first("one") == ("two",)
    assert [(e.source, e.type) for e in graph.incoming["two"]] == [
        ("one", "prerequisite"),
        ("one", "wikilink"),
    ]
