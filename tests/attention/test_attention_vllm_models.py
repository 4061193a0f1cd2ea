"""Whole models under vLLM: each layer group asked by itself, hooks applied, failures told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kvgate.architecture import model
from kvgate.architecture.model import Architecture, Quantization
from kvgate.attention import (
    backends,
    compare,
    head_sizes,
    matrix,
    preferred_block_size,
    stored_kv_dtype,
)
from kvgate.attention.report import Report
from kvgate.errors import InputError

GEMMA = "google/gemma-4-31B-it"
REFUSED = (
    "ValueError: Selected backend AttentionBackendEnum.FLASHINFER is not valid for this "
    "configuration. Reason: ['{}']"
)


def ask(name: str, gpu: str, version: str, **options: object) -> Report:
    return backends(model(name), gpu=gpu, engine=f"vllm=={version}", **options)  # type: ignore[arg-type]


def test_flashinfer_takes_heads_of_512_from_0_22() -> None:
    versions = ("0.19.1", "0.20.2", "0.21.0", "0.22.0", "0.26.0", "0.33.0")
    taking = [v for v in versions if 512 in head_sizes("FLASHINFER", engine=f"vllm=={v}")]
    assert taking == ["0.22.0", "0.26.0", "0.33.0"]


def test_flashinfer_has_always_taken_heads_of_256() -> None:
    for version in ("0.13.0", "0.20.2", "0.33.0"):
        assert 256 in head_sizes("FLASHINFER", engine=f"vllm=={version}")


def test_gemma_4_is_taken_by_triton_where_nothing_is_forced() -> None:
    report = ask(GEMMA, "RTX PRO 6000", "0.19.1")
    assert report.selected == "TRITON_ATTN"
    assert any("forces TRITON_ATTN" in note for note in report.notes)


def test_gemma_4_with_flashinfer_stops_at_its_first_wide_layer_in_0_19() -> None:
    report = ask(GEMMA, "RTX PRO 6000", "0.19.1", force="FLASHINFER")
    assert report.error == REFUSED.format("head_size not supported")
    assert report.selected is None
    narrow, wide = report.groups
    assert narrow.selected == "FLASHINFER"
    assert (wide.selected, wide.layers[0]) == (None, 5)


@pytest.mark.parametrize("version", ["0.20.2", "0.26.0", "0.33.0"])
def test_gemma_4_with_flashinfer_stops_for_its_images_from_0_20(version: str) -> None:
    report = ask(GEMMA, "RTX PRO 6000", version, force="FLASHINFER")
    assert report.error == REFUSED.format("partial multimodal token full attention not supported")


def test_text_only_serving_lets_flashinfer_have_gemma_4() -> None:
    report = ask(GEMMA, "RTX PRO 6000", "0.33.0", force="FLASHINFER", text_only=True)
    assert (report.selected, report.error) == ("FLASHINFER", None)


@pytest.mark.parametrize(
    ("gpu", "kv", "selected"),
    [
        ("A100 80GB", "auto", "TRITON_ATTN"),
        ("H100", "auto", "TRITON_FLASH_ATTN"),
        ("H100", "fp8", "TRITON_FLASH_ATTN"),
        ("B200", "fp8", "TRITON_FLASHINFER"),
        ("RTX PRO 6000", "auto", "TRITON_ATTN"),
    ],
)
def test_gemma_4_takes_what_its_hook_and_the_device_leave(gpu: str, kv: str, selected: str) -> None:
    assert ask(GEMMA, gpu, "0.33.0", kv_cache_dtype=kv).selected == selected


def test_fp8_on_ampere_is_chosen_and_then_fails_where_only_triton_is_left() -> None:
    report = ask("deepseek-ai/DeepSeek-V3", "A100 80GB", "0.33.0", kv_cache_dtype="fp8", tp=8)
    assert report.selected == "TRITON_MLA"
    (failure,) = report.then_fails
    assert failure.stage == "layer"
    assert failure.text == (
        "ValueError: FP8 KV cache is not supported by the Triton MLA backend on NVIDIA "
        f"{report.gpu} (compute capability 8.0); native FP8 (fp8e4nv) requires SM89+. "
        "Re-run with --kv-cache-dtype bfloat16."
    )


def test_fp8_on_ada_is_fine_with_triton() -> None:
    report = ask("deepseek-ai/DeepSeek-V3", "L40S", "0.33.0", kv_cache_dtype="fp8", tp=8)
    assert (report.selected, report.then_fails) == ("TRITON_MLA", ())


def test_a_hybrids_state_layers_are_not_asked() -> None:
    report = ask("Qwen/Qwen3-Next-80B-A3B-Instruct", "H100", "0.33.0", force="FLASHINFER", tp=4)
    assert report.selected == "FLASHINFER"
    state = [g for g in report.groups if g.head_size is None]
    assert [g.selected for g in state] == ["GDN_ATTN"]
    assert report.error is None


def test_skipped_layers_are_asked_again_without_their_kv_dtype() -> None:
    report = ask(
        "openai/gpt-oss-20b",
        "H100",
        "0.33.0",
        kv_cache_dtype="fp8",
        skip_layers=("sliding_window",),
    )
    stored = {g.kind: g.kv_cache_dtype for g in report.groups}
    assert stored == {"sliding": "auto", "full": "fp8"}


def test_sparse_mla_has_no_backend_on_ampere() -> None:
    report = ask("deepseek-ai/DeepSeek-V3.2", "A100 80GB", "0.33.0", tp=8)
    assert report.error is not None
    assert report.error.startswith(
        "ValueError: No valid attention backend found for cuda with "
        "AttentionSelectorConfig(head_size=576, dtype=torch.bfloat16, kv_cache_dtype=auto, "
    )
    assert report.error.endswith("]}.")


def test_sparse_mla_is_stored_as_fp8_records_on_consumer_blackwell() -> None:
    report = ask("deepseek-ai/DeepSeek-V3.2", "RTX PRO 6000", "0.33.0", tp=8)
    assert report.selected == "FLASHINFER_MLA_SPARSE_SM120"
    assert report.groups[0].kv_cache_dtype == "fp8_ds_mla"


@pytest.mark.parametrize(
    ("tp", "selected"), [(8, "FLASH_ATTN_MLA_SPARSE_FA4"), (4, "FLASHMLA_SPARSE")]
)
def test_the_heads_of_one_rank_decide_the_sparse_backend_on_b200(tp: int, selected: str) -> None:
    assert ask("deepseek-ai/DeepSeek-V3.2", "B200", "0.33.0", tp=tp).selected == selected


def test_glm_5_turns_auto_into_fp8_on_b200_and_says_so() -> None:
    report = ask("zai-org/GLM-5", "B200", "0.33.0", tp=8)
    assert report.groups[0].kv_cache_dtype == "fp8_e4m3"
    assert any("GLM-5" in note for note in report.notes)


def test_bf16_sparse_mla_under_dcp_is_chosen_and_then_fails() -> None:
    report = ask("deepseek-ai/DeepSeek-V3.2", "B200", "0.33.0", tp=2, dcp=2)
    assert report.selected == "FLASHMLA_SPARSE"
    assert report.then_fails[0].text == (
        "NotImplementedError: DCP for FlashMLA sparse requires an fp8_ds_mla kv-cache; "
        "the bf16 sparse path is not supported under DCP."
    )


def test_sinks_leave_only_triton_on_ampere() -> None:
    assert ask("openai/gpt-oss-20b", "A100 80GB", "0.33.0").selected == "TRITON_ATTN"
    assert ask("openai/gpt-oss-20b", "H100", "0.33.0").selected == "FLASH_ATTN"


def test_turboquant_keeps_the_first_and_last_two_layers() -> None:
    report = ask(
        "meta-llama/Llama-3.1-8B-Instruct", "H100", "0.33.0", kv_cache_dtype="turboquant_k8v4"
    )
    native = [g for g in report.groups if g.kv_cache_dtype == "auto"]
    assert [g.layers for g in native] == [(0, 1, 30, 31)]
    assert [g.flash_attention for g in native] == [2]


def test_a_block_size_that_keeps_a_better_backend_out_is_warned_of() -> None:
    report = ask("deepseek-ai/DeepSeek-V3", "B200", "0.33.0", block_size=16, tp=8)
    assert report.selected == "TRITON_MLA"
    assert report.warnings == (
        "--block-size 16 precluded higher-priority backend(s) FLASHINFER_MLA, CUTLASS_MLA. Using "
        "TRITON_MLA instead, which may result in reduced performance. Consider removing "
        "--block-size to auto-select the optimal block size.",
    )


def test_up_to_0_17_the_selector_does_not_see_the_block_size() -> None:
    report = ask("deepseek-ai/DeepSeek-V3", "H100", "0.15.1", block_size=16, tp=8)
    assert report.selected == "FLASH_ATTN_MLA"
    assert report.warnings == ()


@pytest.mark.parametrize(
    ("engine", "note"),
    [
        ("vllm==0.33.0", ""),
        ("vllm==0.99.0", "vllm 0.99.0 is newer than the newest release in the catalogue; "),
    ],
)
def test_the_release_that_answers_is_named_where_it_is_another(engine: str, note: str) -> None:
    report = backends(model("Qwen/Qwen3-8B"), gpu="H100", engine=engine)
    assert "".join(report.notes)[: len(note)] == note
    assert bool(report.notes) is bool(note)


def test_the_difference_between_two_versions_is_told_in_sentences() -> None:
    told = compare(
        model("Qwen/Qwen3-8B"), gpu="B200", engine="vllm==0.33.0", other="vllm==0.20.2",
        kv_cache_dtype="nvfp4",
    )  # fmt: skip
    assert any(line.startswith("selected: none -> FLASHINFER") for line in told)
    assert (
        compare(model("Qwen/Qwen3-8B"), gpu="H100", engine="vllm==0.33.0", other="vllm==0.33.0")
        == []
    )


def test_the_matrix_marks_what_then_fails() -> None:
    told = matrix("vllm==0.33.0", "mla", kv_cache_dtype="fp8")
    assert (told["8.0"], told["8.9"], told["9.0"]) == ("TRITON_MLA!", "TRITON_MLA", "FLASHMLA")
    assert told["10.0"] == "FLASHINFER_MLA"


def test_a_backend_brings_its_own_block_size() -> None:
    def block(name: str, **query: object) -> int | None:
        return preferred_block_size(name, engine="vllm==0.33.0", sm=(10, 0), **query)

    assert block("CUTLASS_MLA", mla=True, head_size=576) == 128
    assert block("FLASH_ATTN", head_size=256) == 128
    assert block("FLASH_ATTN", head_size=256, mm_prefix=True) == 16
    assert block("TRITON_ATTN") == 16


@pytest.mark.parametrize(
    ("options", "near"),
    [
        ({"force": "FLASHINFR"}, "FLASHINFER"),
        ({"kv_cache_dtype": "fp8_e4m"}, "fp8_e4m3"),
        ({"dtype": "bfloat"}, "bfloat16"),
        ({"gpu": "H100X"}, "H100"),
        ({"engine": "vlm==0.33.0"}, "vllm"),
    ],
)
def test_what_is_unknown_is_named_with_what_is_near(options: dict[str, str], near: str) -> None:
    settings = {"gpu": "H100", "engine": "vllm==0.33.0", **options}
    with pytest.raises(InputError) as caught:
        backends(model("Qwen/Qwen3-8B"), **settings)  # type: ignore[arg-type]
    assert near in str(caught.value)


def test_the_json_form_has_the_promised_parts() -> None:
    told = ask(GEMMA, "H100", "0.33.0").as_json()
    assert {"schema_version", "selected", "error", "groups", "then_fails", "notes"} <= set(told)
    assert {"layers", "head_size", "backends"} <= set(told["groups"][0])
    assert {"name", "valid", "reasons"} == set(told["groups"][0]["backends"][0])


@pytest.mark.parametrize(
    ("version", "gpu", "selected", "block"),
    [
        ("0.13.0", "B200", "CUTLASS_MLA", 128),
        ("0.15.1", "B200", "FLASHINFER_MLA", 64),
        ("0.15.1", "H100", "FLASH_ATTN_MLA", 64),
        ("0.15.1", "A100 80GB", "TRITON_MLA", 16),
        ("0.33.0", "H100", "FLASH_ATTN_MLA", 16),
    ],
)
def test_up_to_0_17_the_platform_sets_mlas_block_size(
    version: str, gpu: str, selected: str, block: int
) -> None:
    report = ask("deepseek-ai/DeepSeek-V3", gpu, version, tp=8)
    assert (report.selected, report.groups[0].block_size) == (selected, block)


@pytest.mark.parametrize(
    ("backend", "kv", "stored"),
    [
        ("FLASHMLA_SPARSE", "fp8", "fp8_ds_mla"),
        ("FLASHMLA_SPARSE", "auto", "auto"),
        ("FLASHMLA_SPARSE", "nvfp4_ds_mla", "nvfp4_ds_mla"),
        ("FLASHINFER_MLA_SPARSE_SM120", "auto", "fp8_ds_mla"),
        ("FLASHINFER_MLA_SPARSE", "fp8", "fp8"),
    ],
)
def test_sparse_mla_rewrites_the_kv_dtype_it_stores(backend: str, kv: str, stored: str) -> None:
    assert stored_kv_dtype(backend, kv, engine="vllm==0.33.0") == stored


def checkpoint(method: str, kv: str) -> Architecture:
    said = Quantization(method=method, kv_cache=kv, kv_cache_key="kv_cache_scheme")
    return replace(model("Qwen/Qwen3-8B"), quantization=said)


@pytest.mark.parametrize(
    ("version", "method", "kv", "asked", "stored"),
    [
        ("0.33.0", "modelopt", "fp8", "auto", "fp8"),
        ("0.13.0", "modelopt", "fp8", "auto", "auto"),
        ("0.33.0", "compressed-tensors", "fp8", "auto", "fp8"),
        ("0.33.0", "compressed-tensors", "fp8", "bfloat16", "bfloat16"),
        ("0.20.2", "compressed-tensors", "fp8", "bfloat16", "fp8"),
        ("0.33.0", "fp8", "fp8", "auto", "auto"),
    ],
)
def test_a_checkpoint_turns_its_own_kv_dtype_on(
    version: str, method: str, kv: str, asked: str, stored: str
) -> None:
    report = backends(
        checkpoint(method, kv), gpu="H100", engine=f"vllm=={version}", kv_cache_dtype=asked
    )
    assert {g.kv_cache_dtype for g in report.groups} == {stored}


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("0.19.1", "DCP requires attention impls to return the softmax lse for decode, but the"),
        ("0.26.0", "Decode Context Parallelism (DCP) requires attention implementations to return"),
    ],
)
def test_before_0_29_dcp_is_checked_once_the_layers_are_built(version: str, said: str) -> None:
    report = ask("openai/gpt-oss-20b", "L40S", version, dcp=2)
    assert report.selected == "TRITON_ATTN"
    assert report.then_fails[0].stage == "kv-cache"
    assert said in report.then_fails[0].text
    assert "TritonAttentionImpl" in report.then_fails[0].text


def test_from_0_29_the_selector_asks_about_dcp() -> None:
    report = ask("openai/gpt-oss-20b", "L40S", "0.33.0", dcp=2)
    assert report.error is not None
    assert "TRITON_ATTN: [DCP not supported]" in report.error
