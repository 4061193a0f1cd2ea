"""What ``backends`` says of a model under SGLang."""

from __future__ import annotations

import pytest

from kvgate.architecture.layers import MLA, Attention, GatedDeltaNet, LayerGroup
from kvgate.architecture.model import Architecture
from kvgate.attention.sglang.report import report
from kvgate.errors import InputError

FULL = Attention(kind="full", query_heads=32, kv_heads=8, head_dim=128, v_head_dim=128)
DELTA = GatedDeltaNet(
    key_heads=16, value_heads=32, key_head_dim=128, value_head_dim=128, conv_kernel=4
)
LATENT = MLA(
    query_heads=128, kv_lora_rank=512, qk_rope_head_dim=64, qk_nope_head_dim=128, v_head_dim=128
)


def _model(name: str, model_type: str, *layers: object) -> Architecture:
    groups = tuple(
        LayerGroup(layer=layer, indices=(n,), because=())  # type: ignore[arg-type]
        for n, layer in enumerate(layers)
    )
    return Architecture(
        id=model_type, model_type=model_type, architectures=(name,), groups=groups,
        num_layers=len(groups), hidden_size=4096, vocab_size=128256, query_heads=32,
        dtype="bfloat16", max_position_embeddings=131072,
    )  # fmt: skip


LLAMA = _model("LlamaForCausalLM", "llama", FULL)
NEXT = _model("Qwen3NextForCausalLM", "qwen3_next", DELTA, FULL)
V3 = _model("DeepseekV3ForCausalLM", "deepseek_v3", LATENT)


def test_the_choice_and_every_other_backend_are_told() -> None:
    told = report(LLAMA, "H100", "sglang==0.5.23")
    assert told.selected == "fa3"
    assert told.error is None
    (group,) = told.groups
    assert (group.head_size, group.block_size) == (128, 1)
    verdicts = {verdict.name: verdict for verdict in group.backends}
    assert verdicts["flashinfer"].valid
    assert not verdicts["trtllm_mla"].valid
    assert "MLA" in verdicts["trtllm_mla"].reasons[0]
    assert "ascend" not in verdicts


def test_two_backends_are_told_apart() -> None:
    told = report(LLAMA, "RTX PRO 6000", "sglang==0.5.23", kv_cache_dtype="nvfp4")
    assert told.selected == "prefill=flashinfer, decode=trtllm_mha"


def test_kvgates_own_words_stand_for_the_engines() -> None:
    ours = report(V3, "B200", "sglang==0.5.23", tp=8, block_size=32, force="flashinfer")
    theirs = report(
        V3, "B200", "sglang==0.5.23", tp_size=8, page_size=32, attention_backend="flashinfer"
    )
    assert ours == theirs
    assert ours.groups[0].head_size == 576


def test_a_late_refusal_is_an_error_and_a_failure() -> None:
    told = report(LLAMA, "B200", "sglang==0.5.23", attention_backend="fa3")
    assert told.selected is None
    assert told.error is not None
    assert "SM>=80 and SM<=90" in told.error
    (failure,) = told.then_fails
    assert failure.text == told.error
    assert any("after the weights are loaded" in note for note in told.notes)
    early = report(LLAMA, "H100", "sglang==0.5.23", kv_cache_dtype="nvfp4")
    assert early.error is not None
    assert early.then_fails == ()


def test_linear_layers_have_no_backend_of_their_own() -> None:
    told = report(NEXT, "H100", "sglang==0.5.23")
    linear, full = told.groups
    assert (linear.head_size, linear.backends, linear.selected) == (None, (), None)
    assert full.selected == told.selected


def test_a_rewrite_and_an_older_release_are_noted() -> None:
    told = report(LLAMA, "B200", "sglang==0.5.12.post1", page_size=1)
    assert any("answered from 0.5.12" in note for note in told.notes)
    assert any(note.startswith("page_size: 1 becomes") for note in told.notes)


def test_a_gpu_that_is_not_cuda_is_refused() -> None:
    with pytest.raises(InputError, match="MI300X"):
        report(LLAMA, "MI300X", "sglang==0.5.23")


def test_the_json_form_has_the_documented_keys() -> None:
    told = report(LLAMA, "H100", "sglang==0.5.23").as_json()
    assert {"selected", "error", "groups"} <= told.keys()
