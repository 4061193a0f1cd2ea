"""llama.cpp: flash attention and KV types."""

from __future__ import annotations

import pytest

from kvgate.attention.llamacpp import cache_types, check
from kvgate.errors import InputError


def test_a_quantised_value_cache_needs_flash_attention() -> None:
    refused = check(type_v="q8_0", flash_attention="off", head_k=128, query_heads=32, kv_heads=8)
    assert refused.error == "quantized V cache requires flash_attn to be enabled"
    keys = check(type_k="q8_0", flash_attention="off", head_k=128, query_heads=32, kv_heads=8)
    assert keys.error is None
    assert not keys.flash_attention


def test_an_older_build_leaves_auto_off_and_stops_at_a_quantised_value_cache() -> None:
    odd = {"head_k": 48, "query_heads": 32, "kv_heads": 8}
    old = check(type_k="q8_0", type_v="q8_0", promotes_auto=False, **odd)  # type: ignore[arg-type]
    assert old.error is not None
    assert old.error.endswith("requires Flash Attention")


def test_a_head_that_no_kernel_has_is_said() -> None:
    odd = check(head_k=48, query_heads=32, kv_heads=8)
    assert (odd.flash_attention, odd.kernel, odd.error) == (False, False, None)
    assert "48" in odd.why[0]


def test_a_latent_of_576_needs_grouped_heads() -> None:
    latent = {"head_k": 576, "head_v": 512, "kv_heads": 1}
    assert check(query_heads=128, mla=True, **latent).kernel  # type: ignore[arg-type]
    assert not check(query_heads=1, mla=True, **latent).kernel  # type: ignore[arg-type]


def test_192_with_128_needs_a_group_that_eight_divides() -> None:
    assert check(query_heads=64, kv_heads=8, head_k=192, head_v=128).kernel
    assert not check(query_heads=32, kv_heads=8, head_k=192, head_v=128).kernel


def test_unequal_types_need_the_build_option_except_one_pair() -> None:
    heads = {"head_k": 128, "query_heads": 32, "kv_heads": 8}
    assert check(type_k="q8_0", type_v="q4_0", **heads).kernel  # type: ignore[arg-type]
    mixed = check(type_k="q4_0", type_v="q8_0", **heads)  # type: ignore[arg-type]
    assert not mixed.kernel
    assert "GGML_CUDA_FA_ALL_QUANTS" in mixed.why[0]
    assert check(type_k="q4_0", type_v="q8_0", all_quants=True, **heads).kernel  # type: ignore[arg-type]


def test_a_latent_cache_takes_one_type_only() -> None:
    said = check(
        type_k="q8_0", type_v="f16", head_k=576, head_v=512, query_heads=128, kv_heads=1, mla=True
    )
    assert said.error is not None
    assert "(q8_0)" in said.error
    assert "(f16)" in said.error


def test_a_block_has_to_divide_the_head() -> None:
    said = check(
        type_k="q8_0", type_v="q8_0", flash_attention="on", head_k=72, query_heads=16, kv_heads=16
    )
    assert said.error == "K cache type q8_0 with block size 32 does not divide n_embd_head_k=72"


def test_splitting_by_tensor_needs_flash_attention() -> None:
    said = check(split_mode="tensor", flash_attention="off", head_k=128, query_heads=32, kv_heads=8)
    assert said.error == "SPLIT_MODE_TENSOR requires flash_attn to be enabled"


def test_an_unknown_cache_type_names_the_nearest() -> None:
    assert "q8_0" in cache_types()
    with pytest.raises(InputError, match="'q8'") as caught:
        check(type_k="q8", head_k=128, query_heads=32, kv_heads=8)
    assert "q8_0" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("head", "value", "queries", "why"),
    [
        (576, 512, 1, "K width 576 needs a group of query heads, not 1"),
        (192, 128, 32, "K width 192 needs a group of query heads that 8 divides, not 4"),
    ],
)
def test_what_a_kernel_wants_of_the_group_of_heads_is_said(
    head: int, value: int, queries: int, why: str
) -> None:
    kv_heads = 8 if head == 192 else 1
    told = check(head_k=head, head_v=value, query_heads=queries, kv_heads=kv_heads)
    assert why in told.why
