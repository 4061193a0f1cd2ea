"""What a prefill and a decode side have to agree on, by connector."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from importlib.resources import files

import pytest

from kvgate.attention.handoff import Side, connectors, handoff
from kvgate.errors import InputError


def _outcomes(prefill: Side, decode: Side, connector: str) -> dict[str, str]:
    return {m.item: m.outcome for m in handoff(prefill, decode, connector)}


def test_two_equal_sides_have_nothing_to_report() -> None:
    side = Side(
        engine_version="0.33.0", model="m", dtype="bfloat16", kv_dtype="fp8", backend="FLASH_ATTN",
        block_size=16, layout="HND", tensor_parallel=4, kv_bytes=1024,
    )  # fmt: skip
    for connector in connectors():
        assert handoff(side, side, connector) == ()


def test_nixl_refuses_another_engine_version_and_mooncake_does_not_look() -> None:
    sides = Side(engine_version="0.33.0"), Side(engine_version="0.32.1")
    assert _outcomes(*sides, "vllm-nixl") == {"engine_version": "refused"}
    assert _outcomes(*sides, "vllm-mooncake") == {"engine_version": "ok"}


def test_nixl_takes_a_decode_block_that_is_a_multiple_of_the_prefill_block() -> None:
    assert _outcomes(Side(block_size=64), Side(block_size=128), "nixl") == {}
    assert _outcomes(Side(block_size=128), Side(block_size=64), "nixl") == {"block_size": "refused"}
    wide = Side(block_size=64, tensor_parallel=4), Side(block_size=128, tensor_parallel=2)
    assert _outcomes(*wide, "nixl")["block_size"] == "refused"


def test_mooncake_only_sees_a_kv_dtype_whose_bytes_differ() -> None:
    e4m3 = Side(kv_dtype="fp8_e4m3", kv_bytes=1024)
    e5m2 = Side(kv_dtype="fp8_e5m2", kv_bytes=1024)
    wide = Side(kv_dtype="bfloat16", kv_bytes=2048)
    assert _outcomes(e4m3, e5m2, "mooncake") == {"kv_dtype": "passes-and-corrupts"}
    assert _outcomes(e4m3, wide, "mooncake") == {"kv_dtype": "refused"}
    nobody = Side(kv_dtype="fp8_e4m3"), Side(kv_dtype="fp8_e5m2")
    assert _outcomes(*nobody, "mooncake") == {"kv_dtype": "unknown"}


def test_mooncake_compares_the_length_of_a_block_outside_mla_and_no_records_name() -> None:
    assert _outcomes(Side(block_size=16), Side(block_size=32), "mooncake") == {
        "block_size": "refused"
    }
    latents = Side(block_size=64, mla=True), Side(block_size=128, mla=True)
    assert "block_size" not in _outcomes(*latents, "mooncake")
    records = Side(record="v4.1-footer", record_bytes=528), Side(record="v4.1", record_bytes=528)
    assert _outcomes(*records, "mooncake") == {"record": "passes-and-corrupts"}


def test_fp8_of_mi300x_and_mi355x_passes_and_corrupts_under_one_name() -> None:
    sides = (
        Side(kv_dtype="fp8", fp8_encoding="e4m3fnuz"),
        Side(kv_dtype="fp8", fp8_encoding="e4m3fn"),
    )
    for connector in ("vllm-nixl", "vllm-mooncake", "sglang"):
        assert _outcomes(*sides, connector) == {"fp8_encoding": "passes-and-corrupts"}


def test_sglang_refuses_a_resolved_page_or_dtype_that_differs() -> None:
    hopper = Side(kv_dtype="bfloat16", block_size=64)
    blackwell = Side(kv_dtype="fp8_e4m3", block_size=64)
    assert _outcomes(hopper, blackwell, "sglang") == {"kv_dtype": "refused"}
    assert _outcomes(Side(block_size=1), Side(block_size=64), "sglang") == {"block_size": "refused"}


def test_a_layout_matters_for_heads_and_not_for_a_latent() -> None:
    sides = Side(layout="NHD"), Side(layout="HND")
    latent = Side(layout="NHD", mla=True), Side(layout="HND", mla=True)
    assert _outcomes(*sides, "vllm-nixl") == {"layout": "refused"}
    assert _outcomes(*sides, "sglang") == {"layout": "passes-and-corrupts"}
    assert _outcomes(*latent, "vllm-nixl") == _outcomes(*latent, "sglang") == {}


def test_a_narrower_rule_overrules_the_general_one() -> None:
    plain = Side(kv_dtype="fp8", tensor_parallel=2), Side(kv_dtype="fp8", tensor_parallel=4)
    nvfp4 = Side(kv_dtype="nvfp4", tensor_parallel=2), Side(kv_dtype="nvfp4", tensor_parallel=4)
    assert _outcomes(*plain, "vllm-nixl") == {"tensor_parallel": "ok"}
    assert _outcomes(*nvfp4, "vllm-nixl") == {"tensor_parallel": "refused"}


def test_lmcache_misses_another_model_name_and_mixes_up_another_dtype() -> None:
    assert _outcomes(Side(model="a"), Side(model="b"), "lmcache") == {"model": "cache-miss"}
    fp8 = Side(kv_dtype="fp8"), Side(kv_dtype="fp8_ds_mla")
    assert _outcomes(*fp8, "lmcache") == {"kv_dtype": "passes-and-corrupts"}


def test_tensorrt_with_flashinfer_and_unequal_tensor_parallel_corrupts() -> None:
    plain = Side(tensor_parallel=2), Side(tensor_parallel=4)
    inside = (
        Side(tensor_parallel=2, backend="FLASHINFER"),
        Side(tensor_parallel=4, backend="FLASHINFER"),
    )
    assert _outcomes(*plain, "trtllm") == {"tensor_parallel": "ok"}
    assert _outcomes(*inside, "trtllm") == {"tensor_parallel": "passes-and-corrupts"}


def test_what_only_one_side_knows_is_unknown() -> None:
    (found,) = handoff(Side(block_size=64), Side(), "sglang")
    assert (found.item, found.prefill, found.decode, found.outcome) == (
        "block_size", 64, None, "unknown",
    )  # fmt: skip


def test_an_unknown_connector_names_the_nearest() -> None:
    with pytest.raises(InputError, match="'nixel'") as caught:
        handoff(Side(), Side(), "nixel")
    assert "vllm-nixl" in str(caught.value.hint)


def test_every_item_names_a_field_an_outcome_a_reason_and_a_source() -> None:
    text = (files("kvgate.catalog") / "handoff.toml").read_text(encoding="utf-8")
    known = {field.name for field in fields(Side)}
    items = [item for entry in tomllib.loads(text)["connector"] for item in entry["item"]]
    for item in items:
        assert item["field"] in known
        assert item["rule"] in ("equal", "multiple", "bytes", "free")
        assert item["outcome"] in ("refused", "passes-and-corrupts", "cache-miss", "ok")
        assert (item["outcome"] == "ok") == (item["rule"] == "free")
        assert item["why"]
        assert item["source"]
