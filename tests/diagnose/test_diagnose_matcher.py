"""Signatures are found in logs as people have them: coloured, prefixed, wrapped, cut, huge."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvgate.diagnose.logtext import clean, decode, strip_prefix
from kvgate.diagnose.matcher import Matcher
from kvgate.diagnose.signature import Signature
from kvgate.errors import InputError

NEEDED = (
    "To serve at least one request with the models's max seq len ({int}), ({num} GiB KV cache is "
    "needed, which is larger than the available KV cache memory ({num} GiB)"
)
FULL = (
    "ValueError: To serve at least one request with the models's max seq len (262144), (24.0 GiB "
    "KV cache is needed, which is larger than the available KV cache memory (11.53 GiB). Based on"
)
BACKEND = "Selected backend AttentionBackendEnum.FLASHINFER is not valid for this configuration."
MATCHER = Matcher([("needed", NEEDED), ("backend", BACKEND)])


def ids(text: str) -> list[str]:
    return [hit.id for hit in MATCHER.scan([text])]


@pytest.mark.parametrize(
    ("signature", "text", "fits"),
    [
        ("needs {num} GiB", "it needs 3.5 GiB", True),
        ("needs {num} GiB", "it needs three GiB", False),
        ("block {int} of {int}", "block 12 of 1,024", True),
        ("backend {word} failed", "backend TRITON_ATTN failed", True),
        ("backend {word} failed", "backend TRITON ATTN failed", False),
        ("Reason: [{*}'head'{*}]", "Reason: ['x', 'head']", True),
        ("Reason: [{*}'head'{*}]", "Reason: ['heads']", False),
        ("a {{literal}} brace", "a {literal} brace", True),
        ("two  blanks", "two blanks", True),
        ("{word}={int}!", "a=b=3!", True),
    ],
)
def test_a_signature_with_holes_fits(signature: str, text: str, fits: bool) -> None:
    assert (Signature(signature).find(text) is not None) is fits


@pytest.mark.parametrize("text", ["{hex}", "{", "}", "a {word b", "{}", "x {int}{int} y"])
def test_a_signature_with_a_wrong_hole_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        _ = Signature(text).parts


@pytest.mark.parametrize(
    "log",
    [
        FULL,
        f"\x1b[31mERROR\x1b[0m 11-30 12:00:00 [core.py:123] {FULL}",
        f"(EngineCore_0 pid=77) ERROR 11-30 12:00:00 [core.py:1] {FULL}\r\nnext",
        FULL.replace(" ", "   "),
        FULL.replace(", which is ", ", which\nis "),
        FULL.replace("available", "avai\nlable"),
        FULL.replace(", which", ",\n(Worker_TP0 pid=1) ERROR 11-30 12:00:00 [core.py:1] which"),
        '{"log":"' + FULL + '\\n","stream":"stderr"}',
        "worker-1  | " + FULL,
        FULL[:110],
        FULL[:96] + "…",
    ],
)
def test_an_error_is_found_as_logs_carry_it(log: str) -> None:
    assert ids(f"some line before\n{log}\nsome line after") == ["needed"]


def test_too_little_of_a_cut_text_is_no_match() -> None:
    assert ids(FULL[:40]) == []


def test_a_hit_says_where_it_stands() -> None:
    (hit,) = MATCHER.scan(["a\nb\n", "c\n" + FULL + "\nd\n"])
    assert hit.line == 4
    assert hit.share == 1.0
    assert "262144" in hit.text


def test_a_text_across_two_blocks_is_found() -> None:
    text = "x\n" * 50_000 + BACKEND + "\n" + "y\n" * 50_000
    at = text.index("Enum")
    (hit,) = MATCHER.scan([text[:at], text[at:]])
    assert hit.line == 50_001


def test_the_whole_text_scores_above_a_cut_one() -> None:
    whole, cut = MATCHER.scan([FULL])[0], MATCHER.scan([FULL[:110]])[0]
    assert whole.score > cut.score


def test_blocks_of_any_size_give_the_same_hits() -> None:
    text = f"one\n{BACKEND}\ntwo\n{FULL}\nthree\n"
    whole = MATCHER.scan([text])
    for size in (1, 7, 64, 1000):
        pieces = [text[i : i + size] for i in range(0, len(text), size)]
        assert MATCHER.scan(pieces) == whole


def test_a_line_of_ten_megabytes_is_bounded() -> None:
    def blocks() -> Iterator[str]:
        for _ in range(160):
            yield "available KV cache memory " * 2500
        yield "\n" + BACKEND

    start = time.perf_counter()
    assert [hit.id for hit in MATCHER.scan(blocks())] == ["backend"]
    assert time.perf_counter() - start < 60


@given(st.text(max_size=300))
def test_any_text_is_read_without_an_error(text: str) -> None:
    MATCHER.scan([text])
    strip_prefix(clean(text))


@given(st.binary(max_size=200))
def test_any_bytes_decode(data: bytes) -> None:
    assert isinstance(decode(data), str)


@pytest.mark.parametrize(
    ("line", "body"),
    [
        ("(EngineCore pid=3) ERROR 11-30 12:00:00 [core.py:12] text", "text"),
        ("[2026-11-30 12:00:01 TP0] text", "text"),
        ("2026-11-30T12:00:01.123456Z stderr F text", "text"),
        ("INFO 11-30 12:00:00 [a.py:1] text (b)", "text (b)"),
        ("0.04.120.007 W text", "text"),
        ("ValueError: text", "ValueError: text"),
    ],
)
def test_a_prefix_is_taken_off(line: str, body: str) -> None:
    assert strip_prefix(line) == body


@pytest.mark.parametrize("seed", range(6))
def test_the_line_of_a_text_does_not_hang_on_the_order_of_words(seed: int) -> None:
    # The lines before it have some of its words, and a set of words has another order each run.
    script = (
        "from kvgate.diagnose.matcher import Matcher\n"
        "log = 'all is well on this host\\n' * 9 + 'the cache is full on this host\\n'\n"
        "print(Matcher([('a', 'the cache is full on this host')]).scan([log])[0].line)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONHASHSEED": str(seed)},
    )  # fmt: skip
    assert done.stdout.strip() == "10"
