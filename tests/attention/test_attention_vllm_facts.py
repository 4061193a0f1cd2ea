"""The verdicts on the seed record's claims, and the table of automatic choices, at vLLM 0.33.0."""

from __future__ import annotations

import pytest

from kvgate.attention import answer, head_sizes
from kvgate.catalog.engines import release
from kvgate.catalog.flags import flags
from kvgate.errors import InputError

# Compute capabilities of the columns; 8.6, 10.3 and 12.1 answer like 8.0, 10.0 and 12.0.
COLUMNS = (
    ("7.5",),
    ("8.0", "8.6"),
    ("8.9",),
    ("9.0",),
    ("10.0", "10.3"),
    ("11.0",),
    ("12.0", "12.1"),
)
SHORT = {
    "FLASH_ATTN": "FA", "FLASHINFER": "FI", "TRITON_ATTN": "TR", "TURBOQUANT": "TQ", None: "x",
    "TRITON_FLASH_ATTN": "T+FA", "TRITON_FLASHINFER": "T+FI",
}  # fmt: skip


def choice(sm: str, **row: object) -> str:
    """The automatic choice in short; FLASH_ATTN with its version, ``!`` where it then fails."""
    told = answer({"v": "0.33.0", "sm": sm, **row})
    name: str = SHORT.get(told["auto"], told["auto"])
    if name == "FA":
        name += str(told["fa"])
    if told["auto"] is None:
        return name
    later = answer({"v": "0.33.0", "sm": sm, **row, "forced": "AUTO"})
    fails = later.get("then_fails") or later.get("impl_init", "ok") != "ok"
    return f"{name}!" if fails and "FP8 KV cache is not supported" in str(later) else name


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"kv": "auto", "head_size": 64}, "TR FA2 FA2 FA3 FI FA2 FA2"),
        ({"kv": "auto", "head_size": 96}, "TR FA2 FA2 FA3 FA4 FA2 FA2"),
        ({"kv": "auto", "head_size": 192}, "TR FA2 FA2 FA3 FA2 FA2 FA2"),
        ({"kv": "auto", "head_size": 256}, "TR FA2 FA2 FA3 FI FA2 FA2"),
        ({"kv": "auto", "head_size": 512}, "TR FI FI FA4 FI FA2 FI"),
        ({"kv": "fp8", "head_size": 128}, "TR! FI FI FA3 FI FI FI"),
        ({"kv": "fp8", "head_size": 80}, "TR! TR! TR FA3 FA4 TR TR"),
        ({"kv": "fp8", "head_size": 192}, "TR! TR! TR FA3 TR TR TR"),
        ({"kv": "fp8", "head_size": 256}, "TR! FI FI FA3 FI FI FI"),
        ({"kv": "fp8", "head_size": 512}, "TR! FI FI FA4 FI FI FI"),
        ({"kv": "fp8_e5m2", "head_size": 128}, "TR! FI FI FI FI FI FI"),
        ({"kv": "fp8_e5m2", "head_size": 96}, "TR! TR! TR TR TR TR TR"),
        ({"kv": "int8_per_token_head", "head_size": 128}, "TR TR TR TR TR TR TR"),
        ({"kv": "nvfp4", "head_size": 64}, "x x x x FI x x"),
        ({"kv": "nvfp4", "head_size": 128}, "x FI FI FI FI x FI"),
        ({"kv": "nvfp4", "head_size": 96}, "x x x x x x x"),
        ({"kv": "turboquant_k8v4", "head_size": 128}, "TQ TQ TQ TQ TQ TQ TQ"),
        ({"kv": "auto", "head_size": 64, "sink": True}, "TR TR TR FA3 FI TR FI"),
        ({"kv": "fp8", "head_size": 64, "sink": True}, "TR! TR! TR FA3 FI TR FI"),
        ({"kv": "auto", "head_size": 256, "mm_prefix": True}, "TR TR TR T+FA T+FI TR TR"),
        ({"kv": "fp8", "head_size": 512, "mm_prefix": True}, "TR! TR! TR T+FA T+FI TR TR"),
        ({"kv": "auto", "head_size": 128, "mm_prefix": True}, "TR TR TR TR FA4 TR TR"),
        ({"kv": "auto", "head_size": 128, "pcp": True}, "x x x x x x x"),
        ({"kv": "auto", "head_size": 128, "dcp": True}, "x FA2 FA2 FA3 FI FA2 FA2"),
    ],
)
def test_the_automatic_choice_of_dense_layers(row: dict[str, object], expected: str) -> None:
    for column, wanted in zip(COLUMNS, expected.split(), strict=True):
        assert [choice(sm, **row) for sm in column] == [wanted] * len(column), column


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            {"kv": "auto"},
            "TRITON_MLA TRITON_MLA TRITON_MLA FLASH_ATTN_MLA FLASHINFER_MLA TRITON_MLA TRITON_MLA",
        ),
        (
            {"kv": "fp8"},
            "TRITON_MLA! TRITON_MLA! TRITON_MLA FLASHMLA FLASHINFER_MLA TRITON_MLA TRITON_MLA",
        ),
        ({"kv": "fp8_ds_mla"}, "x x x x x x x"),
        (
            {"sparse": True, "kv": "auto", "num_heads": 16},
            "x x x FLASH_ATTN_MLA_SPARSE FLASH_ATTN_MLA_SPARSE_FA4 x FLASHINFER_MLA_SPARSE_SM120",
        ),
        (
            {"sparse": True, "kv": "auto", "num_heads": 128},
            "x x x FLASH_ATTN_MLA_SPARSE FLASHMLA_SPARSE x FLASHINFER_MLA_SPARSE_SM120",
        ),
        (
            {"sparse": True, "kv": "fp8", "num_heads": 128},
            "x x x FLASHMLA_SPARSE FLASHINFER_MLA_SPARSE x FLASHINFER_MLA_SPARSE_SM120",
        ),
        ({"sparse": True, "kv": "nvfp4_ds_mla"}, "x x x x FLASHMLA_SPARSE x x"),
        ({"sparse": True, "kv": "auto", "sink": True}, "x x x x x x x"),
        ({"kv": "auto", "block_size": 16, "sparse": True}, "x x x x x x x"),
    ],
)
def test_the_automatic_choice_of_mla_layers(row: dict[str, object], expected: str) -> None:
    for column, wanted in zip(COLUMNS, expected.split(), strict=True):
        told = [choice(sm, head_size=576, mla=True, **row) for sm in column]
        assert told == [wanted] * len(column), column


def test_ampere_and_ada_answer_alike() -> None:
    """1b: inside FLASH_ATTN it is version 2 on SM8x, and other backends are valid there too."""
    for sm in ("8.0", "8.6", "8.9"):
        told = answer({"v": "0.33.0", "sm": sm, "head_size": 128})
        assert (told["auto"], told["fa"]) == ("FLASH_ATTN", 2)
        assert {"FLASHINFER", "TRITON_ATTN", "FLEX_ATTENTION"} <= set(told["valid"])


@pytest.mark.parametrize("version", ["0.15.1", "0.20.2", "0.26.0", "0.33.0"])
def test_ampere_has_an_fp8_path_through_flashinfer(version: str) -> None:
    """1c: FLASH_ATTN refuses fp8 there, FLASHINFER is chosen for its own head sizes."""
    told = answer({"v": version, "sm": "8.0", "head_size": 128, "kv": "fp8"})
    assert told["auto"] == "FLASHINFER"
    assert "kv_cache_dtype not supported" in told["invalid"]["FLASH_ATTN"]


def test_hopper_takes_version_3_and_4_for_wide_heads() -> None:
    """1d."""
    fa = {
        d: answer({"v": "0.33.0", "sm": "9.0", "head_size": d})["fa"] for d in (128, 256, 320, 512)
    }
    assert fa == {128: 3, 256: 3, 320: 4, 512: 4}


def test_dense_flashmla_is_refused_on_blackwell() -> None:
    """1e and 1g."""
    told = answer({"v": "0.33.0", "sm": "10.0", "head_size": 576, "mla": True})
    assert told["invalid"]["FLASHMLA"] == ["FlashMLA Dense is only supported on Hopper devices."]
    hopper = answer({"v": "0.33.0", "sm": "9.0", "head_size": 576, "mla": True})
    assert "FLASHMLA" in hopper["valid"]


def test_sparse_flashmla_serves_bf16_on_blackwell_in_vllm() -> None:
    """1f: true of upstream FlashMLA, false of vLLM's fork."""
    row = {"v": "0.33.0", "sm": "10.0", "head_size": 576, "mla": True, "sparse": True}
    assert answer({**row, "num_heads": 32})["auto"] == "FLASHMLA_SPARSE"


def test_which_head_sizes_flashinfer_takes_moved_once() -> None:
    """2a and 2b."""
    for version, sizes in (("0.21.0", {64, 128, 256}), ("0.22.0", {64, 128, 256, 512})):
        assert head_sizes("FLASHINFER", engine=f"vllm=={version}") == sizes


def test_a_made_up_backend_is_refused_with_the_names_near_it() -> None:
    """2d: the command line would take it, and the engine stop when its configuration is built."""
    with pytest.raises(InputError, match="no attention backend 'NOPE'"):
        answer({"v": "0.33.0", "sm": "9.0", "head_size": 128, "forced": "NOPE"})


def test_fp8_and_fp8_e4m3_are_two_backends_in_sparse_mla_on_hopper() -> None:
    row = {"v": "0.33.0", "sm": "9.0", "head_size": 576, "mla": True, "sparse": True}
    assert answer({**row, "kv": "fp8"})["auto"] == "FLASHMLA_SPARSE"
    assert answer({**row, "kv": "fp8_e4m3"})["auto"] == "FLASHINFER_MLA_SPARSE_SM90"


def test_thor_is_given_wide_heads_that_its_flash_attention_has_no_kernel_for() -> None:
    """The selector asks whether version 4 is there, the layer then resolves to version 2."""
    told = answer({"v": "0.33.0", "sm": "11.0", "head_size": 512})
    assert (told["auto"], told["fa"]) == ("FLASH_ATTN", 2)
    later = answer({"v": "0.33.0", "sm": "11.0", "head_size": 512, "forced": "AUTO"})
    assert "head dimension at most 256" in later["then_fails"]


def test_flash_attentions_version_by_generation() -> None:
    """1b, 1d and 1e: version 2 but on Hopper (3) and on SM10x (4, where it has a kernel)."""
    for sm, wanted in (("8.0", 2), ("8.9", 2), ("9.0", 3), ("10.0", 4), ("11.0", 2), ("12.0", 2)):
        assert answer({"v": "0.33.0", "sm": sm, "head_size": 128})["fa"] == wanted, sm
    assert answer({"v": "0.33.0", "sm": "10.0", "head_size": 96})["auto"] == "FLASH_ATTN"
    assert answer({"v": "0.33.0", "sm": "10.0", "head_size": 192})["fa"] == 2


def test_nvfp4_records_of_sparse_mla_are_for_data_centre_blackwell() -> None:
    """1f."""
    row = {"v": "0.33.0", "head_size": 576, "mla": True, "sparse": True, "kv": "nvfp4_ds_mla"}
    told = {sm: answer({**row, "sm": sm})["auto"] for sm in ("9.0", "10.0", "10.3", "12.0")}
    assert told == {"9.0": None, "10.0": "FLASHMLA_SPARSE", "10.3": "FLASHMLA_SPARSE", "12.0": None}


def test_the_command_line_takes_any_backends_name_and_skips_layers_since_0_19() -> None:
    """2d and 4a."""
    for version in ("0.13.0", "0.20.2", "0.33.0"):
        flag = flags(release(f"vllm=={version}")).find("--attention-backend")
        assert flag is not None
        assert flag.choices == ()
    skips = [v for v in ("0.17.1", "0.19.1", "0.33.0")
             if flags(release(f"vllm=={v}")).find("--kv-cache-dtype-skip-layers")]  # fmt: skip
    assert skips == ["0.19.1", "0.33.0"]
