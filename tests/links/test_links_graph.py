"""The link graph: its edges, what is wrong in it, and what readers get from it."""

from __future__ import annotations

import io
import json
import re
import time
from functools import partial
from xml.etree import ElementTree

import networkx as nx
import pytest

from kvgate.errors import Diagnostic, Place
from kvgate.records.backlinks import backlinks
from kvgate.records.graph import LinkGraph, Node, Relation
from kvgate.records.graphexport import to_dot, to_graphml, to_json
from kvgate.records.linkcodes import CODES
from kvgate.records.linklint import check
from kvgate.records.resolver import Entry
from kvgate.records.scanner import scan


def where(page: str, *path: str | int) -> Place:
    return Place(f"{page}.md", 1, 1 + sum(part for part in path if isinstance(part, int)))


def node(
    page: str,
    text: str = "",
    *related: str,
    status: str = "active",
    aliases: tuple[str, ...] = (),
    title: str = "",
) -> Node:
    """A page; ``related`` are relations such as ``"see-also b"``."""
    found = scan(text, path=f"{page}.md")
    return Node(
        Entry(page, title or f"Title of {page}", f"{page}.md", aliases, found.headings, status),
        found.links,
        tuple(Relation(*entry.split()) for entry in related),
        partial(where, page),
    )


def findings(*nodes: Node, but: str = "KV214") -> list[Diagnostic]:
    return [found for found in check(LinkGraph(nodes)) if found.code != but]


def codes(*nodes: Node) -> list[str]:
    return [found.code for found in findings(*nodes)]


def test_edges_are_typed_and_know_their_place_and_words() -> None:
    graph = LinkGraph(
        [node("a", "# Top\n\nOne. See [[B#Deep|that]] now.", "prerequisite b"), node("b", "# Deep")]
    )
    relation, link = graph.edges
    assert (relation.source, relation.target, relation.type) == ("a", "b", "prerequisite")
    assert relation.place == Place("a.md", 1, 1)
    assert (link.type, link.heading, link.sentence) == ("wikilink", "deep", "See that now.")
    assert (link.place.line, link.place.column) == (3, 10)
    assert link.section is not None
    assert link.section.id == "top"


def test_a_page_is_one_node_however_it_is_written() -> None:
    graph = LinkGraph([node("a", "[[B]] [[b.md]]\n\n[[x/b]]\n\n[[Title of b]]"), node("b")])
    assert list(graph.nodes) == ["a", "b"]
    assert {edge.target for edge in graph.edges} == {"b"}
    assert len(graph.edges) == 4


@pytest.mark.parametrize(
    ("code", "nodes"),
    [
        ("KV200", [node("a", "[[nowhere]]")]),
        ("KV201", [node("a", "[[b#nothing]]"), node("b", "# Some")]),
        ("KV201", [node("a", "[[#nothing]]\n\n# Some")]),
        (
            "KV202",
            [node("a", "[[x]]"), node("b", aliases=("x",)), node("c", status="active", title="X")],
        ),
        ("KV203", [node("a", "[[a]]")]),
        ("KV203", [node("a", "[[A#top]]\n\n# Top")]),
        ("KV204", [node("a", "[[b]] and [[B|again]]"), node("b")]),
        ("KV205", [node("a", "[[b]]"), node("b", status="withdrawn")]),
        ("KV205", [node("a", "", "see-also b"), node("b", status="withdrawn")]),
        ("KV206", [node("a", aliases=("one",)), node("b", aliases=("One",))]),
        ("KV206", [node("a", aliases=("b",)), node("b")]),
        ("KV206", [node("a", title="Same"), node("b", title="same")]),
        ("KV210", [node("a", "", "see-also nowhere")]),
        ("KV211", [node("a", "", "see-also a")]),
        ("KV212", [node("a", "", "see-also b", "see-also b"), node("b")]),
        ("KV213", [node("a", "", "prerequisite b"), node("b", "", "prerequisite a")]),
        ("KV213", [node("a", "", "caused-by b"), node("b", "", "caused-by a")]),
        (
            "KV215",
            [node("a", "", "superseded-by b", status="superseded"), node("b")],
        ),
    ],
)
def test_each_fault_has_its_code_and_a_hint(code: str, nodes: list[Node]) -> None:
    found = [finding for finding in findings(*nodes) if finding.code == code]
    assert found
    assert all(finding.hint and finding.place.path for finding in found)


@pytest.mark.parametrize(
    "nodes",
    [
        [node("a", "[[b]]"), node("b")],
        [node("a", "[[#here]]\n\n# Here"), node("b", "[[a#Here]]")],
        [node("a", "[[b]]\n\n[[b]]"), node("b", "# One")],
        [node("a", "[[b]] and [[b#one]]"), node("b", "# One")],
        [node("a", "", "see-also b", "caused-by b"), node("b")],
        [node("a", "", "see-also b"), node("b", "", "see-also a")],
        [
            node("a", "", "superseded-by b", status="superseded"),
            node("b", "It replaces [[a]]."),
        ],
        [
            node("a", "", "superseded-by b", status="superseded"),
            node("b", "", "see-also a"),
        ],
        [node("a", "[[b]]", status="withdrawn"), node("b", status="withdrawn")],
        [node("a")],
    ],
)
def test_what_is_right_gets_no_finding(nodes: list[Node]) -> None:
    assert findings(*nodes, but="") == []


def test_a_circle_is_named_once_and_from_its_first_record() -> None:
    (found,) = findings(
        node("c", "", "prerequisite a"),
        node("a", "", "prerequisite b"),
        node("b", "", "prerequisite c", "see-also a"),
    )
    assert found.message == "a circle of prerequisite: a -> b -> c -> a"
    assert found.place.path == "a.md"


def test_two_circles_are_two_findings() -> None:
    pairs = [node("a", "", "prerequisite b"), node("b", "", "prerequisite a")]
    pairs += [node("c", "", "prerequisite d"), node("d", "", "prerequisite c")]
    assert codes(*pairs) == ["KV213", "KV213"]


def test_a_record_alone_is_found_unless_it_is_withdrawn_or_the_only_one() -> None:
    found = check(
        LinkGraph([node("a", "[[b]]"), node("b"), node("c"), node("d", status="withdrawn")])
    )
    assert [(finding.code, finding.place.path) for finding in found] == [("KV214", "c.md")]


def test_a_withdrawn_record_points_to_its_successor() -> None:
    (found,) = findings(
        node("a", "[[b]]"),
        node("b", "", "superseded-by c", status="withdrawn"),
        node("c"),
    )
    assert "'c'" in found.hint


def test_a_relation_by_alias_is_told_the_id() -> None:
    (found,) = findings(node("a", "", "see-also Bee"), node("b", aliases=("Bee",)))
    assert (found.code, found.hint) == ("KV210", "write 'b'")


def test_a_link_repeated_in_a_table_is_no_repetition_in_a_paragraph() -> None:
    table = "| a | b |\n|---|---|\n| [[b]] | [[b]] |\n"
    assert codes(node("a", table), node("b")) == []


def test_prerequisites_come_in_the_order_to_read_them() -> None:
    graph = LinkGraph(
        [
            node("top", "", "prerequisite left", "prerequisite right"),
            node("left", "", "prerequisite base"),
            node("right", "", "prerequisite base", "see-also other"),
            node("base"),
            node("other"),
        ]
    )
    assert graph.read_first("top") == ("base", "left", "right")
    assert graph.read_first("base") == graph.read_first("other") == ()


def test_a_circle_of_prerequisites_still_gives_an_order() -> None:
    graph = LinkGraph([node("a", "", "prerequisite b"), node("b", "", "prerequisite a")])
    assert graph.read_first("a") == ("b",)


def test_the_neighbourhood_of_a_page_is_what_touches_it() -> None:
    graph = LinkGraph(
        [node("a", "[[b]]"), node("b", "", "see-also c"), node("c", "[[d]]"), node("d"), node("e")]
    )
    near = graph.neighbourhood("b")
    assert near.ids == ("b", "a", "c")
    assert [(edge.source, edge.target, edge.type) for edge in near.edges] == [
        ("b", "c", "see-also"),
        ("a", "b", "wikilink"),
    ]
    assert set(graph.neighbourhood("b", 2).ids) == {"a", "b", "c", "d"}
    assert graph.neighbourhood("e").ids == ("e",)
    assert graph.neighbourhood("nowhere").ids == ()


def test_backlinks_bring_the_sentence_and_the_kind_of_relation() -> None:
    graph = LinkGraph(
        [
            node("a", "# One\n\nFirst. See [[c]] and [[c|this]]. Last.", "prerequisite c"),
            node("b", "", "see-also c"),
            node("w", "[[c]]", status="withdrawn"),
            node("c", "[[c]]"),
        ]
    )
    first, second = backlinks(graph, "c")
    assert (first.source.id, first.relations) == ("a", ("prerequisite",))
    assert [mention.sentence for mention in first.mentions] == ["See c and this."]
    assert first.mentions[0].section is not None
    assert first.mentions[0].section.id == "one"
    assert (second.source.id, second.mentions, second.relations) == ("b", (), ("see-also",))


@pytest.fixture
def awkward() -> LinkGraph:
    """Titles and labels with all that the export formats must escape."""
    return LinkGraph(
        [
            node("a", 'See [[b|"x" < y & \\\\z]].', "caused-by b", title='A "q" \\ <t> & \x07 é'),
            node("b", "# Fix\n\n[[a]]", title="B\\"),
        ]
    )


def test_json_has_a_version_and_a_stable_order(awkward: LinkGraph) -> None:
    data = to_json(awkward)
    assert data["schema_version"] == 1
    assert [entry["id"] for entry in data["nodes"]] == ["a", "b"]
    assert data["nodes"][0] == {
        "id": "a",
        "title": 'A "q" \\ <t> & \x07 é',
        "url": "a.md",
        "status": "active",
        "links_in": 1,
        "links_out": 2,
    }
    assert [(e["source"], e["type"]) for e in data["edges"]] == [
        ("a", "caused-by"),
        ("a", "wikilink"),
        ("b", "wikilink"),
    ]
    assert data["edges"][1]["label"] == '"x" < y & \\z'
    assert data["edges"][2]["section"] == {"id": "fix", "text": "Fix"}
    assert json.loads(json.dumps(data)) == data


def test_graphml_is_xml_that_networkx_reads_back(awkward: LinkGraph) -> None:
    text = to_graphml(awkward)
    ElementTree.fromstring(text)
    network = nx.read_graphml(io.BytesIO(text.encode()))
    assert network.nodes["a"]["title"] == 'A "q" \\ <t> & \ufffd é'
    assert sorted(edge["type"] for _, _, edge in network.edges(data=True)) == [
        "caused-by",
        "wikilink",
        "wikilink",
    ]


def test_dot_quotes_what_it_must(awkward: LinkGraph) -> None:
    text = to_dot(awkward)
    assert text.startswith("digraph kvgate {")
    assert text.endswith("}\n")
    assert r'"a" [label="A \"q\" \\ <t> & ' in text
    assert r'"b" [label="B\\" URL="b.md"];' in text
    strings = re.compile(r'"(?:[^"\\]|\\.)*"')
    assert '"' not in strings.sub("", text)


def test_every_code_of_a_finding_is_explained() -> None:
    for code, meaning in CODES.items():
        assert re.fullmatch(r"KV2\d\d", code)
        assert meaning.endswith(".")


def test_a_graph_of_thousands_of_records_is_no_matter_of_squares() -> None:
    chain = [
        node(
            f"r{i}",
            f"[[r{i // 2}]] and [[r{i + 1}]].",
            f"prerequisite r{i - 1}" if i else "see-also r1",
        )
        for i in range(3_000)
    ]
    begun = time.process_time()
    graph = LinkGraph(chain)
    check(graph)
    assert len(graph.read_first("r2999")) == 2_999
    to_json(graph)
    assert time.process_time() - begun < 20
