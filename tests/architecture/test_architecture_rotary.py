"""How long and wide the tables of sines and cosines are that engines keep beside the weights."""

from __future__ import annotations

from typing import Any

import pytest

from kvgate.architecture import MLA, Attention, LayerGroup
from kvgate.architecture.rotary import table_elements

FULL = LayerGroup(Attention("full", 32, 8, 128, 128), (0,), ())
LOCAL = LayerGroup(Attention("sliding", 32, 8, 64, 64, window=512), (1,), ())
CROSS = LayerGroup(Attention("cross", 32, 8, 128, 128), (2,), ())
LATENT = LayerGroup(MLA(128, 512, 64, 128, 128), (3,), ())
LONG = 32_768


def _rows(**scaling: Any) -> float:
    text = {"max_position_embeddings": LONG, "rope_scaling": scaling}
    return table_elements(text, [FULL]) / 128


@pytest.mark.parametrize(
    ("scaling", "rows"),
    [
        ({}, LONG), ({"rope_type": "default", "factor": 4.0}, LONG),
        ({"rope_type": "linear", "factor": 4.0}, 4 * LONG),
        ({"type": "dynamic", "factor": 2}, 2 * LONG),
        ({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192}, LONG),
        ({"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 8192}, 131_072),
        ({"rope_type": "yarn", "factor": 16.0}, LONG),
        ({"rope_type": "linear", "factor": 4, "original_max_position_embeddings": 8192}, 4 * LONG),
        ({"rope_type": "longrope", "original_max_position_embeddings": 4096}, LONG + 4096),
        ({"rope_type": "su", "original_max_position_embeddings": 4096}, LONG + 4096),
        ({"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192}, LONG),
        ({"rope_type": "default", "mrope_section": [16, 24, 24]}, 4 * LONG),
        ({"rope_type": "linear", "factor": True}, LONG),
        ({"rope_type": "linear", "factor": 0}, LONG),
        ({"rope_type": "linear", "factor": 10_000}, LONG),
    ],
)  # fmt: skip
def test_a_table_has_as_many_rows_as_its_kind_of_rope_reaches(
    scaling: dict[str, Any], rows: int
) -> None:
    assert _rows(**scaling) == rows


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ({}, 128), ({"partial_rotary_factor": 0.5}, 64), ({"partial_rotary_factor": 1}, 128),
        ({"partial_rotary_factor": 0}, 128), ({"partial_rotary_factor": 1.5}, 128),
        ({"partial_rotary_factor": True}, 128), ({"rotary_dim": 32}, 32),
        ({"rotary_dim": 256}, 128),
        ({"rotary_dim": 32, "partial_rotary_factor": 0.5}, 32),
        ({"rope_parameters": {"partial_rotary_factor": 0.25}, "partial_rotary_factor": 0.5}, 32),
        ({"rope_parameters": {"rope_type": "proportional"}, "partial_rotary_factor": 0.25}, 128),
    ],
)  # fmt: skip
def test_a_table_is_as_wide_as_what_is_rotated_of_a_head(text: dict[str, Any], width: int) -> None:
    assert table_elements({"max_position_embeddings": LONG, **text}, [FULL]) == LONG * width


def test_layers_share_a_table_unless_their_width_length_or_parameters_differ() -> None:
    plain = {"max_position_embeddings": LONG}
    assert table_elements(plain, [FULL, FULL, CROSS]) == LONG * 128
    assert table_elements(plain, [FULL, LOCAL]) == LONG * (128 + 64)
    assert table_elements(plain, [LOCAL, LATENT]) == LONG * 64
    assert table_elements(plain, [CROSS]) == 0
    wide = LayerGroup(Attention("sliding", 32, 8, 128, 128, window=512), (1,), ())
    assert table_elements({**plain, "rope_local_base_freq": 10_000}, [FULL, wide]) == 2 * LONG * 128
    apart = {"full_attention": {"rope_type": "linear", "factor": 2.0}, "sliding_attention": {}}
    assert table_elements({**plain, "rope_parameters": apart}, [FULL, wide]) == 3 * LONG * 128


@pytest.mark.parametrize(
    ("text", "elements"),
    [
        ({}, 0), ({"max_position_embeddings": LONG, "alibi": True}, 0),
        ({"max_position_embeddings": LONG, "n_ctx": 1024}, 0), ({"n_positions": 1024}, 1024 * 128),
        ({"max_position_embeddings": 0}, 0), ({"max_position_embeddings": "x"}, 0),
    ],
)  # fmt: skip
def test_without_positions_or_without_rope_there_is_no_table(
    text: dict[str, Any], elements: int
) -> None:
    assert table_elements(text, [FULL]) == elements
