"""Families that were refused until their code was read: what each keeps, and what it weighs.

Bytes are worked out by hand from each family's own code, in 16 bits: a token, full windows, states.
Parameters are those of transformers' own classes, built without memory (5.24.0), text model only.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from kvgate.architecture import MLA, NoCache, parse, weights
from kvgate.architecture.serial import dump, load
from kvgate.architecture.table import TYPES, UNSIZED
from kvgate.architecture.wrappers import WRAPPERS
from kvgate.errors import InputError
from kvgate.kvcache import needs

GOLDEN = Path(__file__).parent.parent / "golden"


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (GOLDEN / name).read_text("utf-8").splitlines()]


ROWS = _rows("architecture-families.jsonl")
WEIGHED = _rows("architecture-parameters.jsonl")


def _named(rows: list[dict[str, Any]]) -> list[Any]:
    kinds = [row["config"].get("model_type", "params.json") for row in rows]
    return [pytest.param(row, id=f"{i}-{kind}") for i, (row, kind) in enumerate(zip(rows, kinds, strict=True))]  # fmt: skip  # noqa: E501


def _config(model_type: str) -> dict[str, Any]:
    found = [row["config"] for row in ROWS if row["config"].get("model_type") == model_type]
    return dict(found[0])


@pytest.mark.parametrize("row", _named(ROWS))
def test_what_a_family_keeps(row: dict[str, Any]) -> None:
    arch = parse(row["config"], id="x/y")
    need = needs(arch, version=Version("0.33.0"), dtype="bfloat16")
    assert need.bytes_per_token == row["bytes_per_token"]
    assert need.window_bytes_per_sequence == row["window_bytes"]
    assert need.state_bytes_per_sequence == row["state_bytes"]
    assert load(json.loads(json.dumps(dump(arch)))) == arch


@pytest.mark.parametrize("row", _named(WEIGHED))
def test_what_a_family_weighs(row: dict[str, Any]) -> None:
    counted = parse(row["config"], id="x/y").parameters
    assert counted == pytest.approx(row["parameters"], rel=0.001)


def test_there_are_enough_of_them() -> None:
    assert len(ROWS) >= 70
    assert len(WEIGHED) >= 35


@pytest.mark.parametrize("model_type", sorted(UNSIZED))
def test_what_is_not_sized_is_refused_with_its_reason(model_type: str) -> None:
    config = dict(_config("ouro"), model_type=model_type)
    with pytest.raises(InputError, match="is not supported") as caught:
        parse(config, id="x/y")
    assert UNSIZED[model_type] in str(caught.value)


def test_no_type_is_both_read_and_refused() -> None:
    assert not set(UNSIZED) & (set(TYPES) | set(WRAPPERS))


def test_a_layer_that_runs_four_times_has_its_weights_once() -> None:
    looped, once = (
        parse({**_config("ouro"), "total_ut_steps": loops}, id="x/y") for loops in (4, 1)
    )
    assert looped.kinds() == {"full": 96}
    assert once.kinds() == {"full": 24}
    assert looped.num_layers == once.num_layers == 24
    assert looped.parameters == once.parameters
    assert weights(looped).bytes == weights(once).bytes


def test_later_runs_of_a_loop_share_the_weights_of_the_first() -> None:
    config = _config("iquestloopcoder")
    assert parse(config, id="x/y").parameters == parse({**config, "loop_num": 5}, id="x").parameters


def test_what_a_window_does_nothing_for_is_full() -> None:
    config = {**_config("llama"), "sliding_window": 64}
    assert parse(config, id="x/y").kinds() == {"full": 32}
    with pytest.raises(InputError, match="sliding_window=64 is not acted on"):
        parse({**config, "layer_types": None}, id="x/y")


def test_a_layer_list_of_lfm2_decides_over_its_convolution_width() -> None:
    config = {**_config("lfm2"), "conv_L_cache": 3}
    assert parse(config, id="x/y").kinds() == {"full": 32}
    bare = {k: v for k, v in config.items() if k not in ("layer_types", "full_attn_idxs")}
    assert parse(bare, id="x/y").kinds() == {"full": 32}
    with pytest.raises(InputError, match="layer_types is missing"):
        parse({**bare, "model_type": "lfm2_moe"}, id="x/y")


def test_minimax_m3_chooses_where_its_layer_list_says_so() -> None:
    config = _config("minimax_m3_vl_text")
    listed = {**config, "layer_types": ["full_attention"] * 58 + ["minimax_m3_sparse"] * 2}
    groups = parse(listed, id="x/y").groups
    assert [getattr(group.layer, "indexer", None) is not None for group in groups] == [False, True]
    assert groups[1].indices == (58, 59)


@pytest.mark.parametrize(
    ("model_type", "change", "said"),
    [
        ("dory", {"recurrent_kv_cache_mode": "both"}, "neither per_loop nor last_loop"),
        ("dory", {"n_input_layers": 70, "n_recurrent_layers": 72}, "are not 72 layers together"),
        ("dory", {"layer_types": ["moe"] * 72}, r"layer_types\[0\] is 'moe'"),
        ("hrm_text", {"num_hidden_layers": 127}, "num_hidden_layers=127 is not"),
        ("hrm_text", {"H_cycles": None}, "H_cycles is missing"),
        ("ouro", {"use_sliding_window": True}, "use_sliding_window=true is not supported"),
        ("ouro", {"layer_types": ["sliding_attention"] * 24}, "'sliding_attention' is not"),
        ("gpt_neo", {"attention_layers": None, "attention_types": 5}, "must be a list"),
        ("gpt_neo", {"attention_layers": None, "attention_types": [["global", 3]]}, "is no list"),
        ("gpt_neo", {"attention_layers": None}, None),
        ("domyn_edge", {"window_sizes": None}, "window_sizes is missing"),
        ("domyn_edge", {"window_sizes": [[511, 0], 3, [1, 0], [1, 0]]}, r"window_sizes\[1\]"),
        ("step5", {"sparse_config": {"enabled": True}}, "block summaries are not supported"),
        ("alice_ai", {"linear_value_head_dim": 64}, "must be alike"),
        ("dots3_note", {"use_dsa": False}, "only read where they are true"),
        ("dots3_note_text", {"per_layer_config": {"2": {"kv_lora_rank": 9}, "3": {}}}, "the same"),
        ("inkling_text", {"swa_v_head_dim": 64}, "must be as wide as the keys"),
        ("inkling_text", {"layer_types": ["sliding_attention"] * 66}, "no layer type"),
        ("plamo3", {"window_size": "2048"}, "window_size must be a whole number"),
    ],
)
def test_what_contradicts_a_family_is_refused(
    model_type: str, change: dict[str, Any], said: str | None
) -> None:
    config = {**_config(model_type), **change}
    if said is None:
        assert parse(config, id="x/y").kinds() == {"full": 12, "sliding": 12}
        return
    with pytest.raises(InputError, match=said):
        parse(config, id="x/y")


def test_a_null_where_the_familys_code_has_a_rule_is_that_rule() -> None:
    for model_type, key in (("lara_mini", "layer_types"), ("glm4_moe", "head_dim")):
        config = {key_: value for key_, value in _config(model_type).items() if key_ != key}
        given = parse({**config, key: None}, id="x/y")
        assert given.kinds() == parse(config, id="x/y").kinds()
    assert parse({**_config("lara_mini"), "layer_types": None}, id="x").kinds()["sliding"] == 13


def test_a_drafts_layer_of_dots3_is_windowed_unless_it_says_otherwise() -> None:
    config = _config("dots3_note")
    windows = []
    for types in (None, ["sliding_attention"], ["full_attention"]):
        draft = parse({**config, "mtp_layer_types": types}, id="x/y").draft
        assert draft is not None
        windows.append(getattr(draft.groups[0].layer, "window", None))
    assert windows == [512, 512, None]


def test_the_rope_part_of_dots3_s_windowed_latent_is_what_its_head_leaves() -> None:
    config = _config("dots3_note")
    written = {key: value for key, value in config.items() if key != "swa_qk_rope_head_dim"}

    def rope(**changes: Any) -> int:
        groups = parse({**written, "swa_qk_nope_head_dim": 128, **changes}, id="x/y").groups
        (local,) = (g.layer for g in groups if getattr(g.layer, "window", None))
        assert isinstance(local, MLA)
        return local.qk_rope_head_dim

    assert rope(swa_head_dim=192) == 64
    assert rope(swa_head_dim=256) == rope(swa_head_dim=None) == 128
    assert rope(swa_head_dim=128) == rope(swa_head_dim=64) == 0
    assert rope(swa_head_dim=192, swa_qk_rope_head_dim=32) == 32


def test_layers_of_dory_that_only_feed_forward_keep_nothing() -> None:
    groups = parse(_config("dory"), id="x/y").groups
    idle = [group for group in groups if isinstance(group.layer, NoCache)]
    assert [group.count for group in idle] == [36]


def test_a_width_that_is_missing_leaves_the_weights_uncounted() -> None:
    config = {k: v for k, v in _config("llama").items() if k != "intermediate_size"}
    arch = parse(config, id="x/y")
    assert arch.parameters is None
    assert arch.not_counted == ("weights: intermediate_size is missing",)
    sparse = {**config, "model_type": "qwen3_moe", "num_experts": 8}
    assert parse(sparse, id="x/y").parameters is None


def test_the_first_qwen_counts_its_two_ways_up_together() -> None:
    assert parse(_config("qwen"), id="x/y").parameters == pytest.approx(7.72e9, rel=0.002)


@pytest.mark.parametrize(
    "key", ["total_ut_steps", "num_loops", "loop_num", "n_recurrent_loops", "param_sink_number"]
)
def test_a_loop_in_a_family_that_has_none_is_refused(key: str) -> None:
    config = {**_config("llama"), "sliding_window": None, key: 4}
    with pytest.raises(InputError, match=f"{key}=4 is not acted on"):
        parse(config, id="x/y")
    assert parse({**config, key: None}, id="x/y").kinds() == {"full": 32}


def test_a_layer_that_runs_once_is_a_layer() -> None:
    config = {**_config("llama"), "sliding_window": None, "total_ut_steps": 1}
    assert parse(config, id="x/y").kinds() == {"full": 32}
