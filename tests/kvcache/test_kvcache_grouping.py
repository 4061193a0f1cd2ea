"""Grouping by version: padding layers, page sizes that do not divide, the hybrid manager off."""

from __future__ import annotations

import pytest
from packaging.version import Version

from kvgate.errors import InputError
from kvgate.kvcache.grouping import LayerPage, group_layers
from kvgate.kvcache.page import Demand, Page
from kvgate.kvcache.vllm_rules import vllm_rules

_FULL = Page("full", 16, 32_768, ("full",))
_WINDOW = Page("sliding", 16, 32_768, ("window",), window=128)


def _layers(full: int, window: int) -> list[LayerPage]:
    pages = [_FULL] * full + [_WINDOW] * window
    return list(enumerate(pages))


@pytest.mark.parametrize(
    ("version", "sizes"),
    [
        ("0.11.0", [12, 12, 12]), ("0.17.0", [13, 12]), ("0.18.0", [13, 12]), ("0.33.0", [13, 12]),
    ],
)  # fmt: skip
def test_nearly_equal_buckets_are_padded_from_0_12_on(version: str, sizes: list[int]) -> None:
    groups = group_layers(_layers(13, 12), vllm_rules(Version(version)))
    slots = [len(group.layers) + group.wasted for group in groups]
    assert sum(slots) == (36 if version == "0.11.0" else 26)
    assert len(groups) == len(sizes)


@pytest.mark.parametrize(("version", "groups"), [("0.17.0", 3), ("0.18.0", 2)])
def test_the_ratio_moved_from_1_25_to_1_5(version: str, groups: int) -> None:
    # 14 to 10 is 1.4 times as many.
    assert len(group_layers(_layers(10, 14), vllm_rules(Version(version)))) == groups


def test_layers_are_dealt_out_in_strides() -> None:
    groups = group_layers(_layers(10, 25), vllm_rules(Version("0.33.0")))
    windows = [group for group in groups if group.page.kind == "sliding"]
    assert [len(group.layers) for group in windows] == [9, 8, 8]
    assert [index for index, _ in windows[0].layers][:3] == [10, 13, 16]
    assert sum(group.wasted for group in groups) == 5


def test_a_page_that_does_not_divide_is_padded_from_0_24_on() -> None:
    odd = Page("sliding", 16, 24_576, ("odd",), window=128)
    layers = list(enumerate([_FULL] * 4 + [odd] * 4))
    with pytest.raises(InputError, match="cannot give a page"):
        group_layers(layers, vllm_rules(Version("0.23.0")))
    groups = group_layers(layers, vllm_rules(Version("0.24.0")))
    assert {group.page.bytes_ for group in groups} == {32_768}


def test_a_smaller_page_that_divides_gets_a_larger_block() -> None:
    half = Page("sliding", 16, 16_384, ("half",), window=128)
    groups = group_layers(list(enumerate([_FULL, half])), vllm_rules(Version("0.19.0")))
    assert {group.page.block_size for group in groups} == {16, 32}


def test_without_the_hybrid_manager_windows_are_kept_in_full() -> None:
    groups = group_layers(_layers(12, 12), vllm_rules(Version("0.33.0")), hybrid=False)
    assert len(groups) == 1
    assert groups[0].blocks(Demand(131_072, 16_384)) == 8192


def test_layers_that_need_the_same_slots_are_one_group_whatever_their_bytes() -> None:
    latent = Page("mla", 64, 64 * 1152, ("latent",))
    index = Page("mla", 64, 64 * 132, ("index",))
    groups = group_layers(list(enumerate([latent, index] * 3)), vllm_rules(Version("0.33.0")))
    assert len(groups) == 1
    assert groups[0].bytes_ == 3 * 64 * (1152 + 132)


def test_no_layers_make_no_groups() -> None:
    assert group_layers([], vllm_rules(Version("0.33.0"))) == ()


@pytest.mark.parametrize(
    ("page", "demand", "blocks"),
    [
        (_FULL, Demand(131_072, 0), 8192),
        (_FULL, Demand(131_072, 0, dcp=2), 4096),
        (_WINDOW, Demand(131_072, 16_384), 1033),
        (_WINDOW, Demand(100, 16_384), 8),
        (Page("chunked", 16, 1, window=8192), Demand(131_072, 16_384), 1536),
        (Page("state", 131_072, 1, states=2), Demand(131_072, 0), 2),
        (Page("state", 528, 1, states=None), Demand(131_072, 0), 249),
        (Page("cross", 16, 1), Demand(448, 0, encoder_tokens=1500), 94),
    ],
)
def test_a_request_holds_so_many_blocks(page: Page, demand: Demand, blocks: int) -> None:
    assert page.blocks(demand) == blocks


def test_an_older_version_than_known_is_refused() -> None:
    with pytest.raises(InputError, match="older than the oldest"):
        vllm_rules(Version("0.8.5"))
