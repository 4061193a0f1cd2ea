"""Where a vLLM gate's answer turns: the release, the generation, the number of heads."""

from __future__ import annotations

import copy

import pytest

from kvgate.architecture import MLA, Indexer
from kvgate.attention import answer
from kvgate.attention.query import Query
from kvgate.attention.vllm.constructor import reported
from kvgate.attention.vllm.flash import flash_attention_version
from kvgate.attention.vllm.platform import platform_block
from kvgate.attention.vllm.release import Device, device
from kvgate.attention.vllm.selector import judge
from kvgate.catalog.engines import release


@pytest.mark.parametrize(
    ("version", "said"), [("0.28.0", "ImportError"), ("0.29.0", "ModuleNotFoundError: No module")]
)
def test_a_backend_that_cannot_be_imported_is_told_in_full_since_0_29(
    version: str, said: str
) -> None:
    entry = copy.deepcopy(dict(device(release(f"vllm=={version}"), (9, 0)).entry))
    del entry["backends"]["FLASHINFER"]
    entry["failures"]["FLASHINFER"] = "ModuleNotFoundError: No module"
    told = judge(Device(entry, "9.0"), Query(sm=(9, 0), head_size=128))
    assert told.invalid["FLASHINFER"] == (said,)
    assert "FLASHINFER" not in told.valid
    del entry["failures"]["FLASHINFER"]
    told = judge(Device(entry, "9.0"), Query(sm=(9, 0), head_size=128))
    assert told.invalid["FLASHINFER"] == ("ImportError",)


@pytest.mark.parametrize("version", ["0.32.0", "0.33.0"])
@pytest.mark.parametrize(
    ("sm", "fails"), [("8.0", True), ("8.6", True), ("9.0", True), ("10.0", False), ("12.0", True)]
)
def test_nvfp4_is_not_split_over_ranks_by_flashinfer_outside_sm10x(
    version: str, sm: str, fails: bool
) -> None:
    row = {"v": version, "sm": sm, "head_size": 128, "kv": "nvfp4", "forced": "FLASHINFER"}
    assert "then_fails" not in answer({**row, "dcp": 1})
    told = answer({**row, "dcp": 2}).get("then_fails", "")
    assert ("cannot read NVFP4 block scales" in told) is fails


def test_before_0_32_nothing_but_sm10x_takes_nvfp4() -> None:
    row = {"v": "0.31.0", "head_size": 128, "kv": "nvfp4", "forced": "FLASHINFER", "dcp": 2}
    assert answer({**row, "sm": "10.0"})["impl_init"] == "ok"
    for sm in ("8.0", "9.0", "12.0"):
        assert "kv_cache_dtype not supported" in answer({**row, "sm": sm})["error"]


@pytest.mark.parametrize(
    ("heads", "dcp", "counts"),
    [
        (4, 1, "(8, 16, 32, 64, 128)"), (8, 1, ""), (16, 1, ""), (32, 1, ""), (64, 1, ""),
        (128, 1, ""), (256, 1, "(8, 16, 32, 64, 128)"), (2, 2, "(8, 16, 32, 64)"), (4, 2, ""),
        (8, 2, ""), (16, 2, ""), (32, 2, ""), (64, 2, "(8, 16, 32, 64)"), (16, 4, ""),
        (32, 4, "(8, 16, 32, 64)"), (128, 2, "(8, 16, 32, 64)"),
    ],
)  # fmt: skip
def test_sparse_mla_of_fa4_counts_the_heads_of_all_ranks(heads: int, dcp: int, counts: str) -> None:
    told = answer(
        {
            "v": "0.33.0", "sm": "10.0", "head_size": 576, "mla": True, "sparse": True,
            "num_heads": heads, "dcp": dcp, "forced": "FLASH_ATTN_MLA_SPARSE_FA4",
        }
    )  # fmt: skip
    if counts:
        why = f"requires {counts} gathered query heads, got num_heads={heads} * dcp_size={dcp}"
        assert why in told["error"]
    else:
        assert told["selected"] == "FlashAttnMLASparseFA4Backend"


@pytest.mark.parametrize(
    ("version", "nope", "said"),
    [
        ("0.18.1", 128, None), ("0.18.1", 192, "qk_nope_head_dim == 128, but got 192"),
        ("0.19.0", 128, None), ("0.19.0", 192, None),
        ("0.19.0", 64, "qk_nope_head_dim in [128, 192], but got 64"),
        ("0.29.0", 192, None), ("0.30.0", 192, None), ("0.33.0", 192, None),
        ("0.33.0", 256, "qk_nope_head_dim in [128, 192], but got 256"),
    ],
)  # fmt: skip
def test_which_widths_sparse_mla_takes_moved_in_0_19(
    version: str, nope: int, said: str | None
) -> None:
    told = answer(
        {
            "v": version, "sm": "10.0", "head_size": 576, "mla": True, "sparse": True,
            "qk_nope_head_dim": nope, "forced": "FLASHINFER_MLA_SPARSE",
        }
    )  # fmt: skip
    if said is None:
        assert told["selected"].startswith("FlashInferMLASparse")
    else:
        assert said in told["error"]


# What a Triton tile of 512-wide heads asks for: 32 rows of queries, keys and values, 2 B each.
_TILE = 98_304


@pytest.mark.parametrize(
    ("sm", "head", "name", "needed", "limit"),
    [
        ((7, 5), 512, "TRITON_ATTN", _TILE, 65_536),
        ((7, 5), 511, "TRITON_ATTN", None, 65_536),
        ((8, 0), 512, "TRITON_ATTN", None, 166_912),
        ((8, 0), 1024, "TRITON_ATTN", 2 * _TILE, 166_912),
        ((8, 6), 512, "TRITON_ATTN", None, 101_376),
        ((8, 6), 528, "TRITON_ATTN", None, 101_376),
        ((8, 6), 529, "TRITON_ATTN", 101_568, 101_376),
        ((8, 9), 512, "FLEX_ATTENTION", _TILE, 101_376),
        ((12, 0), 512, "FLEX_ATTENTION", _TILE, 101_376),
        ((8, 0), 512, "FLEX_ATTENTION", None, 166_912),
        ((9, 0), 1024, "TRITON_ATTN", None, None),
        ((8, 6), 1024, "FLASH_ATTN", None, 101_376),
    ],
)
def test_wide_heads_have_to_fit_into_a_blocks_shared_memory(
    sm: tuple[int, int], head: int, name: str, needed: int | None, limit: int | None
) -> None:
    told = reported(device(release("vllm==0.33.0"), sm), Query(sm=sm, head_size=head), name)
    if needed is None:
        assert told is None
    else:
        assert told is not None
        assert f"Required: {needed}, Hardware limit: {limit}." in told.text
        assert not told.certain


@pytest.mark.parametrize(("version", "taken"), [("0.19.1", 3), ("0.20.0", 4), ("0.33.0", 4)])
def test_sinks_with_two_widths_take_flash_attention_4_on_hopper_since_0_20(
    version: str, taken: int
) -> None:
    place = device(release(f"vllm=={version}"), (9, 0))
    assert {3, 4} <= set(place.fa_supported)
    query = Query(sm=(9, 0), head_size=192)

    def version_of(width: int, *, sinks: bool) -> int | None:
        return flash_attention_version(place, query, head_size=192, head_size_v=width, sinks=sinks)

    assert version_of(128, sinks=True) == taken
    assert version_of(192, sinks=True) == version_of(128, sinks=False) == 3


@pytest.mark.parametrize(("version", "wide"), [("0.28.0", 2), ("0.29.0", 4)])
@pytest.mark.parametrize("sm", [(10, 0), (10, 3), (11, 0)])
def test_flash_attention_4_has_heads_of_256_on_sm10_and_sm11_since_0_29(
    version: str, wide: int, sm: tuple[int, int]
) -> None:
    place = device(release(f"vllm=={version}"), sm)
    query = Query(sm=sm, head_size=256, flash_attn_version=4)

    def taken(head: int, value: int | None, *, backend_can: bool = True) -> int | None:
        return flash_attention_version(
            place, query, head_size=head, head_size_v=value, takes_hd256=backend_can
        )

    assert taken(128, 128) == 4
    assert taken(256, 256) == taken(256, None) == wide
    assert taken(256, 128) == taken(192, 192) == taken(256, 256, backend_can=False) == 2


@pytest.mark.parametrize(
    ("version", "sm", "backend", "asked", "block"),
    [
        ("0.13.0", (10, 0), None, None, 128), ("0.13.0", (10, 0), None, 64, 128),
        ("0.13.0", (10, 0), None, 256, 256), ("0.13.0", (10, 0), "CUTLASS_MLA", 384, 384),
        ("0.17.1", (10, 0), "FLASHINFER_MLA", 32, 32),
        ("0.17.1", (10, 0), "FLASHINFER_MLA", 48, 64),
        ("0.17.1", (10, 0), "FLASHINFER_MLA", 192, 192), ("0.17.1", (9, 0), None, None, 64),
        ("0.17.1", (9, 0), None, 192, 192), ("0.17.1", (9, 0), "FLASHMLA", 96, 64),
        ("0.17.1", (9, 0), "TRITON_MLA", 96, 96), ("0.17.1", (8, 0), None, 48, 48),
        ("0.17.1", (8, 0), "FLASHMLA", 48, 48), ("0.18.0", (10, 0), "CUTLASS_MLA", 64, None),
    ],
)  # fmt: skip
def test_up_to_0_17_the_platform_rounds_the_block_of_dense_mla_to_its_kernels(
    version: str, sm: tuple[int, int], backend: str | None, asked: int | None, block: int | None
) -> None:
    layers = [MLA(128, 512, 64, 128, 128)]
    place = device(release(f"vllm=={version}"), sm)
    assert platform_block(place, layers, backend, asked) == block
    assert platform_block(place, [], backend, asked) == (block and (asked or 16))


@pytest.mark.parametrize(
    ("backend", "asked", "block"),
    [
        (None, None, 64), (None, 32, 64), (None, 128, 64), ("FLASHINFER_MLA_SPARSE", 32, 32),
        ("FLASHINFER_MLA_SPARSE", 16, 64), ("FLASHMLA_SPARSE", 32, 64), (None, 64, 64),
    ],
)  # fmt: skip
def test_up_to_0_17_sparse_mla_has_blocks_of_64_or_flashinfers_of_32(
    backend: str | None, asked: int | None, block: int
) -> None:
    layers = [MLA(128, 512, 64, 128, 128, indexer=Indexer(128, 2048), sparse=True)]
    for sm in ((9, 0), (10, 0)):
        place = device(release("vllm==0.17.1"), sm)
        assert platform_block(place, layers, backend, asked) == block


@pytest.mark.parametrize(("version", "takes"), [("0.30.0", False), ("0.31.0", True)])
def test_fp8_heads_of_512_are_flash_attention_4_s_on_hopper_since_0_31(
    version: str, takes: bool
) -> None:
    row = {"engine": f"vllm=={version}", "sm": "9.0", "head_size": 512, "kv": "fp8"}
    assert ("FLASH_ATTN" in answer(row)["valid"]) is takes
