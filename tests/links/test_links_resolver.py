"""What a wiki-link names: ids, aliases, titles, paths and headings."""

from __future__ import annotations

import time

import pytest

from kvgate.records.resolver import Entry, Heading, Resolver


@pytest.fixture
def resolver() -> Resolver:
    return Resolver(
        [
            Entry(
                "mla-kernels",
                "Which kernels take MLA",
                "mla-kernels.md",
                ("MLA matrix", "Überblick", "PC"),
                (
                    Heading("fix", "Fix", 2),
                    Heading("fix_1", "Fix", 2),
                    Heading("x_y-flag", "x_y --flag", 3),
                    Heading("て-sequence", "て sequence", 2),
                    Heading("Own", "An id of its own", 2),
                ),
            ),
            Entry("fp8-cache", "FP8 cache", "fp8-cache.md", ("PC",)),
            Entry("guides/start", "Start here", "guides/start.md"),
        ]
    )


@pytest.mark.parametrize(
    "target",
    [
        "mla-kernels",
        "MLA-Kernels",
        "MLA matrix",
        "mla  MATRIX",
        "Überblick",
        "U\u0308BERBLICK",
        "Which kernels take MLA",
        "MLA Kernels",
        "mla-kernels.md",
        "gotchas/mla-kernels",
        "./mla-kernels",
        "../gotchas/mla-kernels.md",
        "/gotchas/mla-kernels/index",
        "mla-kernels/index.md",
    ],
)
def test_one_page_answers_to_all_its_names(resolver: Resolver, target: str) -> None:
    found = resolver.resolve(target)
    assert found.entry is not None
    assert (found.entry.id, found.code) == ("mla-kernels", "")


def test_a_page_in_a_folder_answers_to_its_path_and_with_a_longer_one(resolver: Resolver) -> None:
    for target in ("guides/start", "docs/guides/start.md", "Guides/Start"):
        found = resolver.resolve(target)
        assert found.entry is not None
        assert found.entry.id == "guides/start"


def test_an_alias_of_two_pages_names_both(resolver: Resolver) -> None:
    found = resolver.resolve("pc")
    assert (found.entry, found.code) == (None, "KV202")
    assert "'mla-kernels'" in found.message
    assert "'fp8-cache'" in found.message


def test_an_id_comes_before_an_alias() -> None:
    resolver = Resolver([Entry("a", "A", aliases=("b",)), Entry("b", "B")])
    found = resolver.resolve("b")
    assert found.entry is not None
    assert found.entry.id == "b"
    assert [(name, [e.id for e in pages]) for name, pages in resolver.clashes()] == [
        ("b", ["a", "b"])
    ]


@pytest.mark.parametrize(
    ("target", "near"),
    [
        ("mla-kernel", "mla-kernels"),
        ("MLA matrxi", "mla-kernels"),
        ("fp8-cahce", "fp8-cache"),
        ("Which kernels takes MLA", "mla-kernels"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(
    resolver: Resolver, target: str, near: str
) -> None:
    found = resolver.resolve(target)
    assert (found.entry, found.code) == (None, "KV200")
    assert repr(target) in found.message
    assert repr(near) in found.hint


def test_a_name_near_nothing_gets_a_way_to_search(resolver: Resolver) -> None:
    assert "kvgate search" in resolver.resolve("zzzzzzzz").hint


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("Fix", "fix"),
        ("fix_1", "fix_1"),
        ("x_y --flag", "x_y-flag"),
        ("`x_y` --flag", "x_y-flag"),
        ("て-sequence", "て-sequence"),
        ("て sequence", "て-sequence"),
        ("Own", "Own"),
        ("own", "Own"),
        ("An id of its own", "Own"),
    ],
)
def test_a_heading_is_found_by_text_or_by_id(resolver: Resolver, heading: str, anchor: str) -> None:
    found = resolver.resolve("mla-kernels", heading)
    assert (found.heading, found.code) == (anchor, "")


def test_an_unknown_heading_still_has_its_page(resolver: Resolver) -> None:
    found = resolver.resolve("mla-kernels", "Fixx")
    assert found.entry is not None
    assert (found.entry.id, found.heading, found.code) == ("mla-kernels", "", "KV201")
    assert "'Fix'" in found.hint
    assert "no headings" in resolver.resolve("fp8-cache", "x").hint


def test_a_heading_alone_is_of_the_page_itself(resolver: Resolver) -> None:
    assert resolver.resolve("", "Fix", source="mla-kernels").heading == "fix"
    assert resolver.resolve("", "Fix", source="fp8-cache").code == "KV201"


def test_thousands_of_unknown_names_among_thousands_of_pages_take_seconds() -> None:
    resolver = Resolver(Entry(f"record-number-{i}", f"Title {i}") for i in range(10_000))
    begun = time.process_time()
    for i in range(10_000):
        assert resolver.resolve(f"no-record-{i}").code == "KV200"
    assert time.process_time() - begun < 60
