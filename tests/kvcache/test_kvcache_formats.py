"""KV formats as data: bytes, parts, scales, and the traps of equal byte counts and shared names."""

from __future__ import annotations

import pytest

from kvgate.catalog.formats import formats_of, kv_format, kv_formats
from kvgate.errors import InputError


def test_three_different_records_are_528_bytes() -> None:
    found = formats_of(528)
    assert [f.name for f in found] == ["v41_fp8_footer", "v41_fp8_inline", "glm53_nope_fp8"]
    assert len({(f.scales, f.parts) for f in found}) == 3


@pytest.mark.parametrize(
    ("name", "bytes_"),
    [
        ("fp8_ds_mla", 656), ("fp8_ds_mla_v4", 584), ("v41_fp8_inline", 528), ("v41_fp4", 288),
        ("nvfp4_ds_mla", 352), ("dsv4_nvfp4", 384), ("dsv4_fp8_uniform", 512),
        ("indexer_fp8", 132), ("indexer_mxfp4", 68),
    ],
)  # fmt: skip
def test_a_record_has_its_bytes(name: str, bytes_: int) -> None:
    assert kv_format(name).record_bytes == bytes_


@pytest.mark.parametrize(
    ("name", "bytes_"),
    [
        ("bf16", 4096), ("fp8", 2048), ("nvfp4", 1152), ("fp8_per_token_head", 2112),
        ("int8_per_token_head", 2112), ("int4_per_token_head", 1088), ("turboquant_k8v4", 1568),
        ("turboquant_4bit_nc", 1072), ("turboquant_k3v4_nc", 944), ("turboquant_3bit_nc", 816),
    ],
)  # fmt: skip
def test_eight_heads_of_128_cost_what_vllm_allocates(name: str, bytes_: int) -> None:
    assert 8 * kv_format(name).head_bytes(128, 128) == bytes_


@pytest.mark.parametrize(
    ("name", "block"),
    [("q8_0", 34), ("q5_1", 24), ("q5_0", 22), ("q4_1", 20), ("q4_0", 18), ("iq4_nl", 18)],
)
def test_a_ggml_block_of_32_has_its_bytes(name: str, block: int) -> None:
    assert kv_format(name).side_bytes(32) == block


def test_288_bytes_are_256_of_values_and_32_of_scales() -> None:
    assert [count for _, count in kv_format("v41_fp4").breakdown()] == [256, 32]


def test_656_bytes_are_latent_scales_and_rope() -> None:
    assert [count for _, count in kv_format("fp8_ds_mla").breakdown()] == [512, 16, 128]


def test_every_format_has_sources_and_every_name_is_taken_once() -> None:
    names = [name for f in kv_formats() for name in (f.name, *f.aliases)]
    assert len(names) == len(set(names))
    assert all(f.sources and f.scales and f.page for f in kv_formats())
    assert {w.engine for f in kv_formats() for w in f.writers} == {
        "vllm", "sglang", "llama.cpp", "tensorrt-llm",
    }  # fmt: skip


def test_an_unknown_format_names_what_is_near() -> None:
    with pytest.raises(InputError, match="fp8_e4m3"):
        kv_format("fp8_e4m4")


def test_a_record_holds_no_heads_and_only_its_own_latent() -> None:
    record = kv_format("fp8_ds_mla")
    with pytest.raises(InputError, match="holds no attention heads"):
        record.head_bytes(128, 128)
    with pytest.raises(InputError, match="576 elements, not 512"):
        record.latent_bytes(512)
    with pytest.raises(InputError, match="holds no MLA latent"):
        kv_format("int8_per_token_head").latent_bytes(576)
