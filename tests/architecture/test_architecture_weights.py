"""Counted weights: published totals, and what engines logged on a rank."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kvgate.architecture import (
    Architecture,
    model,
    parse,
    weights,
    weights_by_stage,
    weights_per_rank,
)
from kvgate.catalog import models as catalog
from kvgate.errors import InputError
from kvgate.units import GiB

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "architecture_weights.json"
LOGGED: list[list[Any]] = json.loads(GOLDEN.read_text(encoding="utf-8"))["rows"]

# Parameters that the owners or a count on the meta device give; drafts left out.
PUBLISHED = {
    "Qwen/Qwen3-Next-80B-A3B-Instruct": 79_674_391_296,
    "meta-llama/Llama-3.1-8B-Instruct": 8_030_261_248,
    "Qwen/Qwen3-8B": 8_190_735_360,
    "mistralai/Mixtral-8x7B-v0.1": 46_702_792_704,
    "google/gemma-2-27b-it": 27_227_128_320,
    "tiiuae/falcon-mamba-7b": 7_272_665_088,
    "deepseek-ai/DeepSeek-V3": 671_026_419_200,
}
# Sizes as their owners round them.
ROUNDED = {
    "openai/gpt-oss-120b": 116.83e9,
    "openai/gpt-oss-20b": 20.91e9,
    "moonshotai/Kimi-K2-Instruct": 1.026e12,
    "ai21labs/AI21-Jamba-1.5-Mini": 51.57e9,
    "deepseek-ai/DeepSeek-V4-Flash": 284e9,
    "meta-llama/Meta-Llama-3.1-405B": 405.85e9,
    "google/gemma-3-27b-it": 27.43e9,
    "MiniMaxAI/MiniMax-M1-80k": 456e9,
    "nvidia/Llama-3_3-Nemotron-Super-49B-v1": 49.87e9,
    "meta-llama/Llama-4-Maverick-17B-128E-Instruct": 400.7e9,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_are_counted_to_the_last_one(name: str) -> None:
    assert weights(model(name)).parameters == model(name).parameters == PUBLISHED[name]


@pytest.mark.parametrize("name", ROUNDED)
def test_parameters_agree_with_published_sizes(name: str) -> None:
    assert model(name).parameters == pytest.approx(ROUNDED[name], rel=0.003)


@pytest.mark.parametrize(("name", "settings", "logged"), LOGGED)
def test_a_rank_holds_what_the_engine_logged(
    name: str, settings: dict[str, Any], logged: float
) -> None:
    counted = weights_per_rank(model(name), **settings) / GiB
    assert counted == pytest.approx(logged, rel=0.02, abs=0.006)


def test_a_checkpoint_of_shards_agrees_with_the_count() -> None:
    # 96 shards of moonshotai/Kimi-K3, counted by their owner's files.
    assert weights(model("moonshotai/Kimi-K3")).bytes == pytest.approx(1_560_936_091_448, rel=0.01)


def test_an_index_beats_counting() -> None:
    llama = model("meta-llama/Llama-3.1-8B-Instruct")
    said = weights(llama, checkpoint_bytes=16_060_522_496)
    assert (said.bytes, said.parameters) == (16_060_522_496, 8_030_261_248)
    assert "index" in said.basis
    half = weights_per_rank(llama, checkpoint_bytes=8_030_261_248)
    assert half == pytest.approx(weights_per_rank(llama) / 2, rel=1e-6)


def test_tied_embeddings_count_once_but_stand_on_both_ends_of_a_pipeline() -> None:
    config = {"model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 4,
              "num_attention_heads": 8, "intermediate_size": 4096, "vocab_size": 100_032,
              "torch_dtype": "bfloat16"}  # fmt: skip
    tied = parse({**config, "tie_word_embeddings": True}, id="x")
    apart = parse({**config, "tie_word_embeddings": False}, id="x")
    table = 100_032 * 1024
    assert apart.parameters is not None
    assert tied.parameters == apart.parameters - table
    assert weights_by_stage(tied, pp=2) == weights_by_stage(apart, pp=2)


def test_kv_heads_are_replicated_where_there_are_fewer_than_ranks() -> None:
    config = {"model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 1,
              "num_attention_heads": 8, "num_key_value_heads": 1, "head_dim": 128,
              "intermediate_size": 64, "vocab_size": 64, "torch_dtype": "bfloat16"}  # fmt: skip
    one, eight = (weights_per_rank(parse(config, id="x"), tp=tp) for tp in (1, 8))
    keys = 2 * 1024 * 128 * 2
    norms = 3 * 1024 * 2
    assert eight == keys + norms + (one - keys - norms) // 8


def test_a_family_that_is_not_counted_says_so() -> None:
    zamba = model("Zyphra/Zamba2-7B")
    assert zamba.parameters is None
    with pytest.raises(InputError, match="cannot be counted") as caught:
        weights(zamba)
    assert "zamba2" in str(caught.value)


def test_ranks_that_cannot_share_the_kv_heads_are_refused_not_rounded() -> None:
    phi = model("microsoft/phi-4")
    for tp in (4, 8, 16):
        with pytest.raises(InputError, match=f"10 KV heads .* tp={tp}"):
            weights_per_rank(phi, tp=tp)
    assert weights_per_rank(phi, tp=10) < weights_per_rank(phi, tp=5) < weights_per_rank(phi, tp=2)


def test_ranks_below_one_and_stages_beyond_the_layers_are_refused() -> None:
    llama = model("meta-llama/Llama-3.1-8B-Instruct")
    for settings in ({"tp": 0}, {"pp": 0}, {"pp": 33}, {"dtype": "float8"}):
        with pytest.raises(InputError):
            weights_per_rank(llama, **settings)


COUNTED = [name for name in catalog.models() if model(name).parts]


def _shares(architecture: Architecture, tp: int) -> bool:
    heads = {part.heads for part in architecture.parts if part.split == "heads"}
    return all(count % tp == 0 or tp % count == 0 for count in heads)


@given(st.sampled_from(COUNTED), st.sampled_from([1, 2, 4, 8]), st.sampled_from([1, 2, 3]))
def test_more_ranks_never_hold_more_each(name: str, tp: int, pp: int) -> None:
    architecture = model(name)
    assume(_shares(architecture, tp) and _shares(architecture, 2 * tp))
    assert weights_per_rank(architecture, tp=2 * tp, pp=pp) <= weights_per_rank(
        architecture, tp=tp, pp=pp
    )
    stages = weights_by_stage(architecture, tp=tp, pp=pp)
    assert sum(stages) * tp >= weights(architecture).bytes
