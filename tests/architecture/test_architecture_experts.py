"""Which layers have experts, by whichever key says it; and the heads of sliding layers."""

from __future__ import annotations

from typing import Any

import pytest

from kvgate.architecture import Attention, parse
from kvgate.architecture.config import Config
from kvgate.architecture.ffn import ffn_of

_MOE = {"num_experts": 8, "moe_intermediate_size": 512, "intermediate_size": 2048}


def _sparse(**keys: Any) -> list[int]:
    """The layers with experts among the first eight."""
    ffn = ffn_of(Config({**_MOE, **keys}), 3)
    parts = [ffn(index) for index in range(8)]
    assert all((part.experts, part.expert) in ((8, 512), (0, 0)) for part in parts)
    assert all((part.dense == 2048) == (part.experts == 0) for part in parts)
    return [index for index, part in enumerate(parts) if part.experts]


@pytest.mark.parametrize(
    ("keys", "layers"),
    [
        ({}, [0, 1, 2, 3, 4, 5, 6, 7]),
        ({"first_k_dense_replace": 3}, [3, 4, 5, 6, 7]),
        ({"num_dense_layers": 2}, [2, 3, 4, 5, 6, 7]),
        ({"moe_layer_start_index": 6}, [6, 7]),
        ({"moe_layer_num_skipped": 1}, [1, 2, 3, 4, 5, 6, 7]),
        ({"moe_layer_start_index": [5, 7]}, [5, 6, 7]),
        ({"first_k_dense_replace": 1, "num_dense_layers": 4}, [1, 2, 3, 4, 5, 6, 7]),
        ({"first_k_dense_replace": 3, "moe_layer_freq": 2}, [4, 6]),
        ({"moe_layer_freq": 2}, [0, 2, 4, 6]),
        ({"moe_layer_freq": [0, 1, 0, 1]}, [1, 3, 4, 5, 6, 7]),
        ({"mlp_layer_types": ["dense", "sparse", "dense"]}, [1, 3, 4, 5, 6, 7]),
        ({"decoder_sparse_step": 2}, [1, 3, 5, 7]),
        ({"moe_layer_interval": 4}, [3, 7]),
        ({"mlp_only_layers": [0, 5]}, [1, 2, 3, 4, 6, 7]),
        ({"decoder_sparse_step": 2, "mlp_only_layers": [3]}, [1, 5, 7]),
        ({"interleave_moe_layer_step": 2}, [1, 3, 5, 7]),
        ({"interleave_moe_layer_step": 1}, [0, 1, 2, 3, 4, 5, 6, 7]),
        ({"expert_layer_period": 2, "expert_layer_offset": 1}, [1, 3, 5, 7]),
        ({"expert_layer_period": 4}, [0, 4]),
        ({"moe_layers_enum": "2,3, 5"}, [2, 3, 5]),
        ({"moe_layers": [1, 7]}, [1, 7]),
    ],
)
def test_the_key_says_which_layers_have_experts(keys: dict[str, Any], layers: list[int]) -> None:
    assert _sparse(**keys) == layers


_MIMO: dict[str, Any] = {
    "model_type": "mimo_v2", "num_hidden_layers": 4, "hidden_size": 4096,
    "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 192, "v_head_dim": 128,
    "hybrid_layer_pattern": [0, 1, 1, 0], "sliding_window": 128, "vocab_size": 152_576,
    "max_position_embeddings": 32_768, "torch_dtype": "bfloat16",
}  # fmt: skip


def _layers(**keys: Any) -> list[Attention]:
    arch = parse({**_MIMO, **keys}, id="a/b")
    found = [group.layer for group in arch.groups]
    assert all(isinstance(layer, Attention) for layer in found)
    return [layer for layer in found if isinstance(layer, Attention)]


def _figures(layer: Attention) -> tuple[str, int, int, int, int, int | None]:
    return (
        layer.kind, layer.query_heads, layer.kv_heads, layer.head_dim, layer.v_head_dim,
        layer.window,
    )  # fmt: skip


def test_sliding_layers_of_mimo_have_the_heads_that_are_said_of_them() -> None:
    full, local = _layers(
        swa_num_attention_heads=32, swa_num_key_value_heads=8, swa_head_dim=96, swa_v_head_dim=64
    )
    assert _figures(full) == ("full", 64, 4, 192, 128, None)
    assert _figures(local) == ("sliding", 32, 8, 96, 64, 128)


@pytest.mark.parametrize(
    ("said", "figures"),
    [
        ({}, ("sliding", 64, 4, 192, 128, 128)),
        ({"swa_num_attention_heads": 32}, ("sliding", 32, 4, 192, 128, 128)),
        ({"swa_num_key_value_heads": 1}, ("sliding", 64, 1, 192, 128, 128)),
        ({"swa_head_dim": 96}, ("sliding", 64, 4, 96, 128, 128)),
        ({"swa_v_head_dim": 1}, ("sliding", 64, 4, 192, 1, 128)),
    ],
)
def test_what_is_not_said_of_them_is_as_in_the_full_layers(
    said: dict[str, int], figures: tuple[str, int, int, int, int, int]
) -> None:
    assert _figures(_layers(**said)[1]) == figures


def test_without_a_window_the_marked_layers_are_full_with_heads_of_their_own() -> None:
    full, marked = _layers(sliding_window=None, swa_num_key_value_heads=8)
    assert _figures(full) == ("full", 64, 4, 192, 128, None)
    assert _figures(marked) == ("full", 64, 8, 192, 128, None)


def test_the_window_may_be_called_its_size() -> None:
    assert _layers(sliding_window=None, sliding_window_size=256)[1].window == 256
    assert _layers(sliding_window_size=256)[1].window == 128
