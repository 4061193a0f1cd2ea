"""States and stages: shapes per rank, dtypes per engine, and what does not divide."""

from __future__ import annotations

import pytest
from packaging.version import Version

from kvgate.architecture import (
    GatedDeltaNet,
    KimiDelta,
    Lightning,
    Mamba1,
    Mamba2,
    ShortConv,
    StateLayer,
)
from kvgate.errors import InputError
from kvgate.kvcache.stages import pipeline_stages
from kvgate.kvcache.states import StateDtypes, state_bytes, state_dtypes, state_tensors

_GDN = GatedDeltaNet(16, 32, 128, 128, 4)


@pytest.mark.parametrize(
    ("layer", "tp", "shapes"),
    [
        (_GDN, 1, [(3, 8192), (32, 128, 128)]),
        (_GDN, 4, [(3, 2048), (8, 128, 128)]),
        (KimiDelta(32, 128, 4), 2, [(3, 6144), (16, 128, 128)]),
        (Lightning(64, 128), 8, [(8, 128, 128)]),
        (ShortConv(2048, 3), 2, [(2, 1024)]),
        (Mamba1(8192, 16, 4), 4, [(3, 2048), (2048, 16)]),
        (Mamba2(96, 80, 128, 8, 4), 8, [(3, 1216), (12, 80, 128)]),
        # One group on four ranks: every rank needs it.
        (Mamba2(32, 64, 256, 1, 4), 4, [(3, 1024), (8, 64, 256)]),
    ],
)
def test_a_rank_holds_its_share_of_a_state(
    layer: StateLayer, tp: int, shapes: list[tuple[int, ...]]
) -> None:
    assert [tensor.shape for tensor in state_tensors(layer, tp)] == shapes


def test_draft_tokens_lengthen_the_convolutions_tail() -> None:
    assert state_tensors(_GDN, speculative=3)[0].shape == (6, 8192)


@pytest.mark.parametrize(
    ("layer", "engine", "model_type", "version", "state"),
    [
        (_GDN, "vllm", "qwen3_next", None, "bfloat16"),
        (_GDN, "sglang", "qwen3_next", None, "float32"),
        (_GDN, "llama.cpp", "qwen3_next", None, "float32"),
        (GatedDeltaNet(16, 32, 128, 128, 4, "float32"), "vllm", "qwen3_5", None, "float32"),
        (KimiDelta(32, 128, 4), "vllm", "kimi_linear", None, "float32"),
        (Mamba2(64, 64, 128, 8, 4), "vllm", "nemotron_h", "0.33.0", "float32"),
        (Mamba2(64, 64, 128, 8, 4), "vllm", "nemotron_h", "0.12.0", "bfloat16"),
        (Mamba2(64, 64, 128, 8, 4), "vllm", "bamba", "0.33.0", "bfloat16"),
    ],
)
def test_each_engine_keeps_states_in_its_own_dtype(
    layer: StateLayer, engine: str, model_type: str, version: str | None, state: str
) -> None:
    dtypes = state_dtypes(
        layer, engine=engine, model_type=model_type, model_dtype="bfloat16",
        version=Version(version) if version else None,
    )  # fmt: skip
    assert dtypes.state == state
    assert dtypes.because


def test_bytes_are_shapes_times_dtypes() -> None:
    assert state_bytes(_GDN, StateDtypes("bfloat16", "float32", "")) == 2_146_304
    assert state_bytes(_GDN, StateDtypes("bfloat16", "bfloat16", "")) == 1_097_728


def test_heads_that_do_not_divide_are_named() -> None:
    with pytest.raises(InputError, match="32 linear value heads cannot be split"):
        state_tensors(_GDN, 3)
    with pytest.raises(InputError, match="not a state dtype"):
        state_dtypes(_GDN, engine="vllm", model_type="x", model_dtype="int4")


def test_layers_left_over_go_before_the_last_stage() -> None:
    assert [len(stage) for stage in pipeline_stages(61, 4)] == [15, 15, 16, 15]
    assert [len(stage) for stage in pipeline_stages(7, 2)] == [4, 3]
    assert [len(stage) for stage in pipeline_stages(10, 4)] == [2, 3, 3, 2]
    assert [i for stage in pipeline_stages(62, 5) for i in stage] == list(range(62))
    with pytest.raises(InputError, match="3 layers cannot be split"):
        pipeline_stages(3, 4)
