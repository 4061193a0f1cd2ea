"""Findings in their forms: whatever a path or a message holds, it stays a path or a message."""

from __future__ import annotations

import json
import re
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvgate.cli.findings import as_github, as_json, as_sarif
from kvgate.errors import Diagnostic, Place

PATHS = [
    "a b.md",
    "a#1.md",
    "50%25.md",
    "é.md",
    "a?b.md",
    "c:x.md",
    "a\nb.md",
    "a,b:c.md",
    "[a](b)",
]


def finding(path: str, message: str, hint: str = "") -> Diagnostic:
    return Diagnostic("KV401", Place(path, 3, 7), message, hint)


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_a_uri_of_sarif_and_nothing_but_a_path(path: str) -> None:
    (run,) = json.loads(as_sarif([finding(path, "x")]))["runs"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    uri = place["artifactLocation"]["uri"]
    parts = urlsplit(uri)
    assert (parts.scheme, parts.netloc, parts.query, parts.fragment) == ("", "", "", "")
    assert unquote(parts.path).removeprefix("./") == path
    assert re.fullmatch(r"[A-Za-z0-9%/._~:-]+", uri)
    assert place["region"] == {"startLine": 3, "startColumn": 7}


def test_an_absolute_path_is_a_file_s_address() -> None:
    assert '"file:///a/b%20c.md"' in as_sarif([finding("/a/b c.md", "x")])


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("see [here](https://evil.example/)", "see \\[here](https://evil.example/)"),
        ("jump to [it](1) [a] b", "jump to \\[it](1) [a] b"),
        ("Reason: ['head_size not supported']", "Reason: ['head_size not supported']"),
    ],
)
def test_a_message_of_sarif_has_no_links(message: str, said: str) -> None:
    (run,) = json.loads(as_sarif([finding("a.md", message)]))["runs"]
    assert run["results"][0]["message"]["text"] == said


WORDS = [
    "%0A",
    "%0D",
    "%25",
    "%3A",
    "%",
    ":",
    "::",
    ",",
    "=",
    "\r",
    "\n",
    "\u2028",
    "\x85",
    "\ud800",
]
TEXTS = st.lists(st.sampled_from(WORDS) | st.characters(), max_size=9).map("".join)


@given(TEXTS, TEXTS, TEXTS)
def test_a_finding_is_one_workflow_command_whatever_it_says(
    path: str, message: str, hint: str
) -> None:
    text = as_github([finding(path, message, hint)])
    assert not re.search("[\r\n]", text)
    head, _, data = text.removeprefix("::error ").partition("::")
    properties = dict(p.split("=", 1) for p in head.split(","))
    assert set(properties) == {"file", "line", "col", "title"}
    assert _decoded(properties["file"].replace("%3A", ":").replace("%2C", ",")) == path
    assert _decoded(data) == f"{message} {f'({hint})' if hint else ''}".strip()


def _decoded(text: str) -> str:
    # As a runner of GitHub's does it.
    return text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")


@given(TEXTS, TEXTS)
def test_json_gives_back_what_was_said(path: str, message: str) -> None:
    (told,) = json.loads(as_json([finding(path, message)]))["findings"]
    assert (told["path"], told["message"]) == (path, message)
