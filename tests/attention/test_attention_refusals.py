"""What the gates refuse to answer, and rules that no model of the catalogue reaches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kvgate.architecture import Attention, model
from kvgate.attention import Group, Report, answer, backends, head_sizes
from kvgate.attention.batch import query_of
from kvgate.attention.diff import changes
from kvgate.attention.sglang import Model, Query, resolve
from kvgate.attention.sglang.rows import answer_named
from kvgate.attention.vllm.tables import has
from kvgate.errors import InputError

_V32 = model("deepseek-ai/DeepSeek-V3.2")
_GEMMA4 = model("google/gemma-4-31B-it")


def _group(layers: range) -> Group:
    return Group(tuple(layers), "full", 128, (), "FLASH_ATTN", None)


M31 = Model(
    "MiniMaxM3SparseForConditionalGeneration", "minimax_m3", quantization="mxfp8", experts="nvfp4",
    dtype="bfloat16",
)  # fmt: skip


def test_a_setting_that_an_engine_does_not_have_is_refused() -> None:
    with pytest.raises(InputError, match="unknown setting:"):
        backends("Qwen/Qwen3-8B", gpu="H100", engine="vllm==0.33.0", some=1)
    for name, value in (("dcp", 2), ("pcp", 2), ("text_only", True)):
        asked: dict[str, Any] = {name: value}
        with pytest.raises(InputError, match=f"{name} is a setting of vLLM's, not of SGLang's"):
            backends("Qwen/Qwen3-8B", gpu="H100", engine="sglang==0.5.23", **asked)
    with pytest.raises(InputError, match="not modelled"):
        head_sizes("FLASH_ATTN", engine="sglang==0.5.23")


def test_the_head_sizes_of_one_card_are_among_those_of_all() -> None:
    everywhere = head_sizes("FLASHMLA", engine="vllm==0.33.0")
    assert head_sizes("FLASHMLA", engine="vllm==0.33.0", gpu="H100") == everywhere >= {576}
    assert head_sizes("FLASHMLA", engine="vllm==0.33.0", gpu="A100-80GB") == set()
    with pytest.raises(InputError, match="takes on MI300X is unknown"):
        head_sizes("FLASHMLA", engine="vllm==0.33.0", gpu="MI300X")


@pytest.mark.parametrize(
    ("runs", "inside", "outside"),
    [
        ([[8, 256, 8]], (8, 16, 248, 256), (0, 4, 12, 257, 264)),
        ([[8, 256, 8], [512, None, 64]], (512, 576, 1 << 20), (511, 513, 448)),
        ([[64, 64, 1]], (64,), (63, 65)), ([], (), (0, 64)),
    ],
)  # fmt: skip
def test_runs_of_sizes_have_a_first_a_last_and_a_step(
    runs: list[list[int | None]], inside: tuple[int, ...], outside: tuple[int, ...]
) -> None:
    assert all(has(runs, size) for size in inside)
    assert not any(has(runs, size) for size in outside)


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"gpu_mib": True}, "gpu_mib is a whole number, not True"),
        ({"gpu_mib": "80"}, "gpu_mib is a whole number, not '80'"),
        ({"model": 3}, "model is text, not 3"), ({"model": ""}, "the row says no model"),
        ({"sm": None}, "the row says no device"), ({"sm": "9"}, "'9' is no compute capability"),
        ({"gpu": "MI300X"}, "resolves its backends on MI300X is not known"),
        ({"gpu": "B200"}, "B200 has compute capability 10.0, not 9.0"),
        ({"spec": "EAGLE:x"}, "'EAGLE:x' is no speculation"), ({"ext": 3}, "ext is an object"),
        ({"page": 64, "pages": 3}, "unknown field 'pages'"),
    ],
)  # fmt: skip
def test_a_row_of_sglang_s_that_names_something_wrongly_is_refused(
    row: dict[str, Any], text: str
) -> None:
    good = {"engine": "sglang==0.5.23", "model": "Qwen/Qwen3-8B", "sm": "9.0"}
    assert answer_named(good)["prefill"] == "fa3"
    with pytest.raises(InputError, match=text):
        answer_named({**good, **row})


def test_a_row_of_vllm_s_names_a_card_and_its_capability_alike() -> None:
    row = {"v": "0.33.0", "head_size": 128, "kv": "auto"}
    by_card, by_sm = answer({**row, "gpu": "H100"}), answer({**row, "sm": "9.0"})
    assert by_card["auto"] == by_sm["auto"] == "FLASH_ATTN"
    assert by_card["invalid"] == by_sm["invalid"]
    with pytest.raises(InputError, match=r"has compute capability 9.0, not 10.0"):
        answer({**row, "gpu": "H100", "sm": "10.0"})


def test_a_group_that_one_of_two_reports_lacks_is_said() -> None:
    old = Report("old", "H100", (_group(range(4)),))
    new = Report("new", "H100", (_group(range(4)), _group(range(4, 5))))
    assert changes(old, new) == ["layer 4 (full, 1 of head size 128): only in new"]
    assert changes(new, old) == ["layer 4 (full, 1 of head size 128): only in new"]


@pytest.mark.parametrize(
    ("version", "gpu", "kv", "said"),
    [
        ("0.32.0", "B200", "auto", False), ("0.33.0", "B200", "auto", True),
        ("0.33.0", "B300", "auto", True), ("0.33.0", "H100", "auto", False),
        ("0.33.0", "B200", "fp8_e4m3", False),
    ],
)  # fmt: skip
def test_glm_5_3_takes_fp8_by_itself_on_sm10x_since_0_33(
    version: str, gpu: str, kv: str, said: bool
) -> None:
    arch = replace(_V32, architectures=("Glm5NextForCausalLM",), model_type="glm5_next")
    notes = backends(arch, gpu=gpu, engine=f"vllm=={version}", kv_cache_dtype=kv).notes
    assert any("GLM-5.3 turns auto into fp8" in note for note in notes) is said


@pytest.mark.parametrize(("version", "said"), [("0.31.0", False), ("0.32.0", True)])
@pytest.mark.parametrize("forced", [None, "FLASH_ATTN"])
def test_embedding_gemma_2_runs_triton_since_0_32_unless_told_otherwise(
    version: str, said: bool, forced: str | None
) -> None:
    # Heads of one width: Gemma 4's own rule, for two, comes first.
    sliding = [g for g in _GEMMA4.groups if g.layer.kind == "sliding"]
    arch = replace(_GEMMA4, architectures=("EmbeddingGemma2Model",), groups=tuple(sliding))
    notes = backends(arch, gpu="H100", engine=f"vllm=={version}", force=forced).notes
    told = any("EmbeddingGemma2 defaults to TRITON_ATTN" in note for note in notes)
    assert told is (said and forced is None)


@pytest.mark.parametrize(
    ("version", "forced", "error", "note"),
    [
        ("0.23.0", "FLASHINFER", False, False), ("0.24.0", "FLASHINFER", True, False),
        ("0.23.0", None, False, False), ("0.24.0", None, False, True),
    ],
)  # fmt: skip
def test_diffusion_gemma_mixes_causal_and_bidirectional_attention_since_0_24(
    version: str, forced: str | None, error: bool, note: bool
) -> None:
    sliding = [g for g in _GEMMA4.groups if g.layer.kind == "sliding"]
    arch = replace(
        _GEMMA4, architectures=("DiffusionGemmaForBlockDiffusion",), groups=tuple(sliding)
    )
    told = backends(arch, gpu="H100", engine=f"vllm=={version}", force=forced)
    assert ("mixed causal/bidirectional" in (told.error or "")) is error
    assert any("asks for non-causal attention" in text for text in told.notes) is note


def _m31(sm: tuple[int, int], **flags: object) -> Any:
    return resolve(Query(M31, sm, "sglang==0.5.23", flags, 183_359))


def test_minimax_m3_1_takes_pages_of_128_only() -> None:
    assert _m31((9, 0)).page_size == _m31((10, 0), page_size=128).page_size == 128
    refused = _m31((10, 0), page_size=64)
    assert refused.error is not None
    assert "128" in refused.error


def test_minimax_m3_1_keeps_fp8_on_blackwell_and_takes_nothing_else_there() -> None:
    assert _m31((10, 0)).kv_dtype == _m31((10, 0), kv_cache_dtype="fp8_e4m3").kv_dtype == "fp8_e4m3"
    assert _m31((10, 0), kv_cache_dtype="bfloat16").error is not None
    assert _m31((9, 0), kv_cache_dtype="bfloat16").error is None
    assert _m31((9, 0)).kv_dtype != "fp8_e4m3"
    assert _m31((9, 0)).selected == "fa3"
    assert _m31((10, 0)).selected == "trtllm_mha"


def test_a_release_before_minimax_m3_1_has_no_rule_for_it() -> None:
    for version in ("0.5.16", "0.5.22"):
        flags = {"page_size": 64, "kv_cache_dtype": "bfloat16"}
        told = resolve(Query(M31, (9, 0), f"sglang=={version}", flags, 183_359))
        assert told.error is None
        assert told.page_size == 64


def test_a_row_of_a_plain_layer_has_no_width_of_a_latent() -> None:
    def widths(row: dict[str, Any]) -> tuple[int, ...]:
        asked = query_of({"v": "0.33.0", "sm": "9.0", "kv": "auto", **row})
        return (
            asked.kv_lora_rank, asked.qk_rope_head_dim, asked.qk_nope_head_dim, asked.v_head_dim,
        )  # fmt: skip

    assert widths({"head_size": 128}) == (0, 0, 0, 0)
    assert widths({"head_size": 576, "mla": True}) == (512, 64, 128, 128)


def test_what_a_release_could_not_be_asked_under_a_setting_is_refused() -> None:
    row = {"v": "0.29.0", "sm": "gfx942", "head_size": 128, "kv": "auto"}
    assert answer(row)["auto"] == "ROCM_ATTN"
    with pytest.raises(InputError, match=r"ROCM_AITER_FA accepts .* is unknown") as caught:
        answer({**row, "aiter": "none"})
    assert "aiter none" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("version", "sm", "flags", "quantization", "open_"),
    [
        ("0.5.13", (10, 0), {}, "modelopt_fp4", True),
        ("0.5.13", (9, 0), {}, "modelopt_fp4", False),
        ("0.5.13", (10, 0), {"attention_backend": "triton"}, "modelopt_fp4", False),
        ("0.5.13", (10, 0), {}, None, False), ("0.5.14", (10, 0), {}, "modelopt_fp4", False),
    ],
)  # fmt: skip
def test_0_5_13_asks_for_the_experts_of_a_gemma_4_in_fp4_on_sm10x(
    version: str,
    sm: tuple[int, int],
    flags: dict[str, object],
    quantization: str | None,
    open_: bool,
) -> None:
    gemma = Model(
        "Gemma4ForConditionalGeneration", "gemma4", quantization=quantization, dtype="bfloat16"
    )
    told = resolve(Query(gemma, sm, f"sglang=={version}", flags, 183_359))
    assert any("Gemma 4's routed experts" in text for text in told.unknown) is open_


@pytest.mark.parametrize(("key", "value"), [(192, 128), (128, 192)])
def test_keys_and_values_of_two_widths_take_a_backend_for_that(key: int, value: int) -> None:
    flash = model("XiaomiMiMo/MiMo-V2-Flash")
    group, full = next(
        (g, g.layer) for g in flash.groups
        if isinstance(g.layer, Attention) and g.layer.kind == "full"
    )  # fmt: skip
    layer = replace(full, head_dim=key, v_head_dim=value)
    arch = replace(flash, groups=(replace(group, layer=layer),))
    report = backends(arch, gpu="H100", engine="vllm==0.33.0")
    assert report.selected == "FLASH_ATTN_DIFFKV"


@pytest.mark.parametrize(("pool", "page"), [(1, 64), (2, 128), (4, 256)])
def test_sparse_mla_pages_hold_64_entries_of_its_pooled_index(pool: int, page: int) -> None:
    sparse = Model(
        "DeepseekV32ForCausalLM", "deepseek_v32", latent=True, index_topk=2048, index_pool=pool,
        dtype="bfloat16",
    )  # fmt: skip
    assert resolve(Query(sparse, (9, 0), "sglang==0.5.23", {}, 81_559)).page_size == page


@pytest.mark.parametrize(
    ("sm", "experts", "runner"),
    [
        ((9, 0), "mxfp4", "marlin"), ((8, 0), "mxfp4", None), ((9, 0), None, None),
        ((10, 0), "mxfp4", "flashinfer_mxfp4"), ((10, 0), None, "flashinfer_trtllm"),
        ((12, 0), "mxfp4", None),
    ],
)  # fmt: skip
def test_mimo_v2_s_fp8_experts_have_a_runner_of_their_own(
    sm: tuple[int, int], experts: str | None, runner: str | None
) -> None:
    mimo = Model(
        "MiMoV2FlashForCausalLM", "mimo_v2_flash", quantization="fp8", experts=experts,
        asymmetric=True, dtype="bfloat16",
    )  # fmt: skip
    told = resolve(Query(mimo, sm, "sglang==0.5.23", {}, 183_359))
    assert (told.moe_runner or "auto") == (runner or "auto")
