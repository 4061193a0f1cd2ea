"""SGLang: what every check lets through and a backend's constructor refuses after the weights."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from kvgate.architecture.released import model
from kvgate.attention.sglang import Model, Outcome, Query, model_facts, resolve
from kvgate.attention.sglang.report import report
from kvgate.catalog.engines import releases

LLAMA = Model("LlamaForCausalLM", "llama", dtype="bfloat16", heads=(32, 8, 128, 128))
V32 = Model(
    "DeepseekV32ForCausalLM", "deepseek_v32", latent=True, index_topk=2048, quantization="fp8",
    dtype="bfloat16",
)  # fmt: skip


def _asked(model: Model, sm: tuple[int, int], version: str = "0.5.23", **flags: Any) -> Outcome:
    return resolve(Query(model, sm, f"sglang=={version}", flags, 81559))


def _fails(model: Model, sm: tuple[int, int], version: str = "0.5.23", **flags: Any) -> list[str]:
    outcome = _asked(model, sm, version, **flags)
    assert outcome.error is None, outcome.error
    return [f"{later.backend}: {later.text}" for later in outcome.then_fails]


def test_a_plain_start_has_no_second_refusal() -> None:
    for known, sm in ((LLAMA, (9, 0)), (LLAMA, (10, 0)), (V32, (9, 0)), (V32, (10, 0))):
        assert _fails(known, sm) == []


@pytest.mark.parametrize("version", [str(v) for v in releases("sglang")])
def test_the_sparse_backend_of_deepseek_is_built_for_no_other_model(version: str) -> None:
    old = version in ("0.5.10", "0.5.11", "0.5.12")
    name, spelled = ("nsa", "NSA") if old else ("dsa", "DSA")
    assert _fails(LLAMA, (9, 0), version, attention_backend=name) == [
        f"{name}: AssertionError: {spelled} backend only supports DeepSeek {spelled}"
    ]


def test_deepseek_v4s_backend_asks_for_its_latent() -> None:
    told = _fails(LLAMA, (9, 0), attention_backend="dsv4")
    assert told == [
        "dsv4: AssertionError: DSV4 MQA head_dim = qk_nope_head_dim(448) + "
        "qk_rope_head_dim(64) = 512"
    ]
    assert model_facts(model("deepseek-ai/DeepSeek-V4-Flash")).architecture.startswith("DeepseekV4")
    assert _fails(model_facts(model("deepseek-ai/DeepSeek-V4-Flash")), (10, 0)) == []


def test_a_page_of_128_under_trtllm_mha_needs_grouped_heads() -> None:
    flags: dict[str, Any] = {"attention_backend": "trtllm_mha", "page_size": 128}
    alone = dataclasses.replace(LLAMA, heads=(32, 32, 128, 128))
    assert _fails(LLAMA, (10, 0), **flags) == []
    told = _fails(alone, (10, 0), **flags)
    assert len(told) == 1
    assert "got 32/32) with equal QK/V head dims (got 128/128)" in told[0]
    assert _fails(alone, (9, 0), **flags) == []  # XQA has kernels of its own
    assert _fails(alone, (10, 0), attention_backend="trtllm_mha", page_size=64) == []
    # Two query heads a rank and one KV head are still a group; one is none.
    small = dataclasses.replace(LLAMA, heads=(16, 8, 128, 128))
    assert _fails(small, (10, 0), tp_size=8, **flags) == []
    assert len(_fails(small, (10, 0), tp_size=16, **flags)) == 1


def test_heads_that_are_not_known_are_said_to_be_unknown() -> None:
    blank = dataclasses.replace(LLAMA, heads=None)
    outcome = _asked(blank, (10, 0), attention_backend="trtllm_mha", page_size=128)
    assert outcome.then_fails == ()
    assert any("page 128" in what for what in outcome.unknown)


@pytest.mark.parametrize(
    ("heads", "sm", "flags", "words"),
    [
        ((32, 8, 128, 128), (9, 0), {}, None),
        ((32, 8, 128, 128), (8, 0), {}, "requires an SM90 (Hopper) GPU"),
        ((32, 8, 256, 256), (9, 0), {}, "got head_dim=256, num_q_heads=32, num_kv_heads=8."),
        ((32, 16, 128, 128), (9, 0), {}, "num_kv_heads in (4, 8), got"),
        ((32, 8, 128, 128), (9, 0), {"kv_cache_dtype": "fp8_e5m2"}, "got torch.float8_e5m2."),
        ((32, 8, 128, 128), (9, 0), {"kv_cache_dtype": "fp8_e4m3"},
         "in ((8, 1), (64, 8)) (the fused RoPE+quant kernel is specialized per shape), got (32, 8"),
        ((64, 8, 128, 128), (9, 0), {"kv_cache_dtype": "fp8_e4m3", "tp_size": 8}, None),
    ],
)  # fmt: skip
def test_hpc_ops_is_made_for_some_shapes_on_hopper(
    heads: tuple[int, int, int, int],
    sm: tuple[int, int],
    flags: dict[str, Any],
    words: str | None,
) -> None:
    told = _fails(dataclasses.replace(LLAMA, heads=heads), sm, attention_backend="hpc_ops", **flags)
    assert bool(told) == (words is not None)
    assert words is None or words in told[0]


def test_an_eagle_draft_takes_backends_of_its_own_list() -> None:
    eagle: dict[str, Any] = {"speculative_algorithm": "EAGLE", "speculative_eagle_topk": 1,
             "speculative_num_steps": 3, "speculative_num_draft_tokens": 4}  # fmt: skip
    assert _fails(LLAMA, (9, 0), **eagle) == []
    assert _fails(LLAMA, (9, 0), attention_backend="torch_native", **eagle) == [
        "torch_native: ValueError: EAGLE is not supported in decode attention backend torch_native"
    ]
    other: dict[str, Any] = {
        "attention_backend": "torch_native",
        "speculative_draft_attention_backend": "fa3",
    }
    assert _fails(LLAMA, (9, 0), **other, **eagle) == []
    # The draft's own prefill follows --prefill-attention-backend.
    split: dict[str, Any] = {
        "prefill_attention_backend": "torch_native",
        "decode_attention_backend": "triton",
    }
    assert _fails(LLAMA, (9, 0), **split, **eagle) == [
        "torch_native: ValueError: EAGLE is not supported in attention backend torch_native"
    ]


def test_the_report_tells_it_beside_the_choice() -> None:
    told = report(model("Qwen/Qwen3-8B"), "H100", "sglang==0.5.23", attention_backend="dsa")
    assert told.selected == "dsa"
    (failure,) = told.then_fails
    assert (failure.backend, failure.certain) == ("dsa", True)
    assert "after the weights are loaded" in failure.source
    plain = report(model("Qwen/Qwen3-8B"), "H100", "sglang==0.5.23")
    verdicts = {b.name: b for b in plain.groups[0].backends}
    assert plain.then_fails == ()
    assert verdicts["fa3"].valid
    assert verdicts["dsa"].reasons == ("AssertionError: DSA backend only supports DeepSeek DSA",)
