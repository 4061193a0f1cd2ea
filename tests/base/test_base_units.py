"""Bytes, their names, and the counts that flags take."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvgate.errors import InputError, nearest
from kvgate.units import GiB, KiB, MiB, format_bytes, parse_bytes, parse_count, whole_number


@pytest.mark.parametrize(
    ("text", "count"),
    [("24.0 KiB", 24576), ("0", 0), ("656", 656), ("1.5GiB", 3 * GiB // 2), ("80 GB", 80 * 10**9),
     ("143,771 MiB", 143771 * MiB)],
)  # fmt: skip
def test_a_size_is_read_in_the_unit_it_names(text: str, count: int) -> None:
    assert parse_bytes(text) == count


@pytest.mark.parametrize(
    "text", ["", "GiB", "-1 GiB", "1 gib", "1 GiBB", "0.0001 KiB", "1e9", "nan"]
)
def test_a_size_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_bytes(text)


@given(st.integers(0, 2**60))
def test_a_size_printed_as_whole_bytes_reads_back(count: int) -> None:
    assert parse_bytes(f"{count} B") == count


@given(st.integers(1, 2**20), st.sampled_from(["KiB", "MiB", "GiB"]))
def test_printing_and_reading_quarter_units_is_exact(quarters: int, unit: str) -> None:
    size = {"KiB": KiB, "MiB": MiB, "GiB": GiB}[unit] * quarters // 4
    assert parse_bytes(format_bytes(size, digits=40)) == size


def test_lower_case_counts_in_thousands_and_upper_case_in_1024s() -> None:
    assert parse_count("128k") == 128_000
    assert parse_count("128K") == 131_072
    assert parse_count("1M") == 2**20
    with pytest.raises(InputError):
        parse_count("128KiB")


def test_the_nearest_words_are_named_and_otherwise_the_known_ones() -> None:
    assert nearest("FLASHINFR", ["FLASHINFER", "TRITON_ATTN"]) == "did you mean 'FLASHINFER'?"
    assert nearest("zzz", ["vllm", "sglang"]) == "known: vllm, sglang"


@pytest.mark.parametrize("text", ["9" * 5000, "9" * 5000 + " KiB", "1." + "0" * 5000])
def test_a_number_of_more_digits_than_python_reads_is_an_input_error(text: str) -> None:
    for read in (parse_bytes, parse_count):
        with pytest.raises(InputError):
            read(text)


def test_a_whole_number_is_decimal_digits_and_nothing_else() -> None:
    assert whole_number("0064") == 64
    assert whole_number("9" * 100) == 10**100 - 1
    assert [whole_number(t) for t in ("", "²", "-1", "1.0", " 1", "9" * 5000)] == [None] * 6
