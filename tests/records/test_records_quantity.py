"""What is a quantity in prose, and what only has a number in its name."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvgate.records.quantity import quantities


def found(text: str) -> list[str]:
    return [q.text for q in quantities(text)]


@pytest.mark.parametrize(
    "text",
    [
        # size
        "24.0 KiB", "3 GiB", "80gb", "64 KB", "700 MiB", "528 bytes", "528-byte", "8 bits", "256 B",
        "1e9 bytes", "1_024 bytes", "1,000,000 bytes", "16K tokens", "128K-token", "131,072 tokens",
        "1 tokens", "2 KV tokens", "1M tokens", "44 concurrent 128K sequences", "3 TiB", "1.5 B",
        # rate
        "2 TB", "900 GB", "100 tokens/s", "200 tok/s", "10 tokens per second", "30 req/s",
        "16 requests per second", "989 TFLOPS", "1.4 GHz", "400 Gbps",
        # ratio
        "1.62x", "1.6×", "1.6 ×", "1.6&times;", "100X", "4.9-fold", "3 times slower",
        "3 times as", "factor of 4.9", "ratio of 3", "2:1", "1/8",
        # share
        "10 %", "10%", "91 %", "5 percent", "5 per cent", "12 percentage points", "3 ‰", "2 pp",
        # time
        "452 ms", "1.5s", "3 h", "30 days", "2.5 hours", "5-minute", "2 seconds", "3.2 µs", "7 s",
        # spelling
        ".5 ms", "**24.0** KiB", "**1.62**x", "*10* %", "10&nbsp;%", "24\u00a0KiB", "24\u202fKiB",
        "24\nKiB", "24\n> KiB", "1\u202f024 bytes",
    ],
)  # fmt: skip
def test_a_number_with_a_unit_is_a_quantity(text: str) -> None:
    around = {"2:1": " ratio", "1/8": " of the"}.get(text, ".")
    assert found(f"It takes about {text}{around}") == [text.lstrip("*")]


@pytest.mark.parametrize(
    "text",
    [
        "SM90", "sm_120", "TP4", "TP 4", "FP8", "fp8_e4m3", "INT8", "e4m3", "MI300X", "H100s",
        "35B", "70B", "0.22.0", "v0.22", "1.2.3x", "CUDA 12.4", "Python 3.11", "b7539", "8xH100",
        "8x H100", "8 × H100", "2x RTX 4090", "4x MI300X", "8x GPUs", "64x64", "2 x 64", "2 × 64",
        "x86", "0x1F", "H100 80GB", "A100-80GB", "A100 40GB", "RTX 6000 Ada 48GB", "H100 SXM 80GB",
        "H200 141GB", "8-bit", "16-bit cache", "4 bit", "1980s", "the 90s", "2026-11-30",
        "12 layers",
        "256 wide", "256-wide", "head_dim 256", "Qwen3-30B-A3B", "gpt-oss-20b", "k8s", "24/7",
        "3 a.m.", "issue 40677", "PR 27889", "2 KV heads", "window 128", "8 GPUs", "4 ranks", "1st",
        "2 sections", "5 statements", "3 steps", "5 methods", "128K", "llama-3.1-8B", "3 times",
        "2 storage pools", "7 shards", "6 minor faults", "3 busses", "FA3", "DeepSeek-V3.2",
    ],
)  # fmt: skip
def test_a_name_a_version_or_a_count_is_none(text: str) -> None:
    assert found(f"It is {text} here") == []


def test_of_a_range_the_end_with_the_unit_is_named() -> None:
    assert found("between 10-20 ms") == ["20 ms"]
    assert found("10–20 ms") == ["20 ms"]
    assert found("2.0x-4.0x") == ["4.0x"]


def test_quantities_come_in_order_with_their_offsets() -> None:
    text = "A factor of 2 and 24.0 KiB/token, 1.62x in 452 ms."
    assert [text[q.start : q.end] for q in quantities(text)] == [
        "factor of 2",
        "24.0 KiB",
        "1.62x",
        "452 ms",
    ]


PIECES = st.sampled_from(
    ["1", "10", "1,000", ".", ",", " ", "\n", "ms", "%", "KiB", "x", "×", "H100", "**", "tokens",
     "-",
     "concurrent ", "a ", "factor of ", "ratio ", ":", "/", "e9", "&nbsp;", "B", "\ufffc", "K", "é"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=60).map("".join) | st.text(max_size=80))
def test_any_text_gives_quantities_that_stand_in_it(text: str) -> None:
    last = 0
    for q in quantities(text):
        assert last <= q.start < q.end <= len(text)
        assert text[q.start : q.end] == q.text
        last = q.end


@pytest.mark.parametrize(
    "piece",
    ["1", "1,", "1,111,", "1_", "1 ", "1.", "1*", "factor of ", "ratio 1 ", "1 concurrent a ",
     "1\n",
     "1e", "1:1", "10 %", "9 times ", "1-"],
)  # fmt: skip
def test_time_grows_with_the_length_only(piece: str) -> None:
    def seconds(count: int) -> float:
        text = piece * count
        best = 9e9
        for _ in range(3):
            start = time.process_time()
            for _ in quantities(text):
                pass
            best = min(best, time.process_time() - start)
        return best

    # Eight times the text takes eight times as long, not sixty-four.
    assert seconds(16_000) < 30 * max(seconds(2_000), 0.001)
