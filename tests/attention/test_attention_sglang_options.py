"""SGLang's options, silent rewrites, and what is refused before anything is resolved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kvgate.attention.sglang import Model, Outcome, Query, resolve
from kvgate.attention.sglang.release import rules
from kvgate.attention.sglang.rows import answer
from kvgate.errors import InputError

SHARED = Path(__file__).resolve().parents[2] / "../shared"
ENGINE = "sglang==0.5.23"
LLAMA = Model("LlamaForCausalLM", "llama", dtype="bfloat16")
V3 = Model(
    "DeepseekV3ForCausalLM", "deepseek_v3", latent=True, quantization="fp8", dtype="bfloat16"
)


def _ask(sm: tuple[int, int], model: Model = LLAMA, **flags: object) -> Outcome:
    return resolve(Query(model, sm, ENGINE, flags, 81559))


def test_an_option_is_known_by_every_spelling() -> None:
    for name in ("page_size", "page-size", "--page-size"):
        assert rules(ENGINE).option(name)["dest"] == "page_size"
    assert resolve(Query(LLAMA, (9, 0), ENGINE, {"--page-size": 64})).page_size == 64


def test_an_option_that_the_release_does_not_have_names_the_nearest() -> None:
    with pytest.raises(InputError, match="no option 'page_sise'") as caught:
        _ask((9, 0), page_sise=64)
    assert "page_size" in str(caught.value.hint)
    with pytest.raises(InputError, match="'prefill_kv_cache_dequant_dtype'"):
        resolve(Query(LLAMA, (9, 0), "sglang==0.5.10", {"prefill_kv_cache_dequant_dtype": "auto"}))


def test_a_value_outside_the_choices_stops_in_the_argument_parser() -> None:
    outcome = _ask((9, 0), attention_backend="fa5")
    assert outcome.stage == "argparse"
    assert outcome.error is not None
    assert outcome.error.startswith("error: argument --attention-backend: invalid choice: 'fa5'")
    assert "'fa4'" in outcome.error


def test_a_page_that_the_backend_does_not_take_is_replaced_and_noted() -> None:
    outcome = _ask((10, 0), page_size=1)
    assert (outcome.selected, outcome.page_size) == ("trtllm_mha", 64)
    (note,) = outcome.notes
    assert (note.setting, note.asked, note.became, note.said) == ("page_size", 1, 64, True)
    assert "with a warning" in str(note)


def test_e5m2_moves_fa3_to_triton() -> None:
    outcome = _ask((9, 0), kv_cache_dtype="fp8_e5m2")
    assert outcome.selected == "triton"
    assert any("fp8_e4m3" in text for text in outcome.warnings)


def test_nvfp4_on_sm120_decodes_and_prefills_with_two_backends() -> None:
    outcome = _ask((12, 0), kv_cache_dtype="nvfp4")
    assert outcome.selected == "prefill=flashinfer, decode=trtllm_mha"
    assert outcome.nvfp4_prefill == "fp8_e4m3"


def test_hopper_refuses_nvfp4_within_seconds_and_fa3_on_blackwell_after_the_weights() -> None:
    early = _ask((9, 0), kv_cache_dtype="nvfp4")
    late = _ask((10, 0), attention_backend="fa3")
    assert early.stage == "resolve"
    assert early.when.startswith("within seconds")
    assert late.stage == "registry"
    assert late.when.startswith("after the weights are loaded")


def test_fa3_takes_an_mla_model_on_hopper_and_not_on_ampere() -> None:
    assert _ask((9, 0), V3, attention_backend="fa3").error is None
    assert _ask((8, 0), V3, attention_backend="fa3").stage == "registry"
    assert _ask((8, 0), attention_backend="fa3").error is None


def test_a_chunk_that_the_page_does_not_divide_is_refused_by_the_check() -> None:
    outcome = _ask((9, 0), chunked_prefill_size=100, page_size=64)
    assert outcome.stage == "check"
    assert _ask((9, 0), chunked_prefill_size=128, page_size=64).error is None


def test_what_no_rule_follows_is_said_to_be_unknown() -> None:
    outcome = _ask((9, 0), enable_lora=True)
    assert any("enable_lora" in text for text in outcome.unknown)
    assert _ask((9, 0)).unknown == ()


def test_a_row_with_a_field_nobody_knows_is_an_error() -> None:
    with pytest.raises(InputError, match="'kv_out'"):
        answer({"kv_out": "auto"}, LLAMA, "9.0")
    with pytest.raises(InputError, match="'sm90'"):
        answer({"kv_in": "auto"}, LLAMA, "sm90")
    with pytest.raises(InputError, match="'EAGLE'"):
        answer({"kv_in": "auto", "spec": "EAGLE"}, LLAMA, "9.0")


def _release_flags() -> list[dict[str, Any]]:
    path = SHARED / "oracle" / "sglang_flags_0.5.23.json"
    if not path.exists():
        pytest.skip("the shared facts are not beside this checkout")
    told: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return [entry for entry in told if entry["dest"] != "help"]


def _by_spelling(entries: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {flag: entry for entry in entries for flag in entry["flags"]}


def test_every_option_of_the_release_is_in_the_entry() -> None:
    ours, theirs = _by_spelling(rules(ENGINE).data["flags"]), _by_spelling(_release_flags())
    assert theirs.keys() <= ours.keys()
    for flag, entry in theirs.items():
        assert ours[flag]["dest"] == entry["dest"]
        assert (ours[flag].get("default") or None) == (entry["default"] or None), flag
        assert ours[flag].get("namespace") == entry["namespace"], flag
    unlike = {flag for flag, entry in theirs.items() if not _same_choices(ours[flag], entry)}
    # Lists that the release makes while it runs, from the parsers it has imported.
    assert unlike <= {
        "--lora-target-modules", "--reasoning-parser", "--tool-call-parser",
        "--kv-canary", "--kv-canary-real-data",
    }  # fmt: skip


def _same_choices(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    left, right = (sorted(map(str, e.get("choices") or ())) for e in (ours, theirs))
    return left == right


@pytest.mark.parametrize(
    ("ratio", "refused"), [(0.0, True), (-0.1, True), (1.01, True), (1.0, False), (0.01, False)]
)
def test_the_ratio_of_the_window_pool_is_above_0_and_at_most_1(ratio: float, refused: bool) -> None:
    assert (_ask((9, 0), swa_full_tokens_ratio=ratio).error is not None) is refused
