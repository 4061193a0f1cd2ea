"""Which KV format each engine makes of a dtype: the flag, the checkpoint, the family, the GPU."""

from __future__ import annotations

from dataclasses import replace

import pytest
from packaging.version import Version

from kvgate.architecture import Architecture, CompressedAttention, LayerGroup, Quantization, model
from kvgate.errors import InputError
from kvgate.kvcache import needs
from kvgate.kvcache.choice import choose_format, model_dtype, plain_layers

_LLAMA = model("meta-llama/Llama-3.1-8B-Instruct")
_V32 = model("deepseek-ai/DeepSeek-V3.2")
_V4 = model("deepseek-ai/DeepSeek-V4-Flash")


def _v41() -> Architecture:
    layer = CompressedAttention(64, 512, 64, 128, 4, version="v4.1")
    return replace(_V4, groups=(LayerGroup(layer, tuple(range(43)), ()),))


def test_fp8_weights_do_not_make_an_fp8_cache() -> None:
    arch = model("deepseek-ai/DeepSeek-V3")
    assert arch.quantization is not None
    assert arch.quantization.method == "fp8"
    choice = choose_format(arch, engine="vllm")
    assert choice.format.name == "bf16"
    assert "model's dtype" in choice.because


@pytest.mark.parametrize(
    ("method", "version", "name"),
    [
        ("modelopt", "0.33.0", "fp8_e4m3"), ("modelopt", "0.13.0", "bf16"),
        ("compressed-tensors", "0.19.0", "fp8_e4m3"), ("fp8", "0.33.0", "bf16"),
    ],
)  # fmt: skip
def test_a_checkpoints_kv_scheme_counts_where_vllm_reads_it(
    method: str, version: str, name: str
) -> None:
    said = Quantization(method, kv_cache="fp8", kv_cache_key="kv_cache_scheme")
    choice = choose_format(replace(_LLAMA, quantization=said), version=Version(version))
    assert choice.format.name == name
    assert "kv_cache_scheme" in choice.because


@pytest.mark.parametrize(
    ("flag", "sm", "version", "name"),
    [
        ("auto", (9, 0), "0.33.0", "bf16"), ("auto", (12, 0), "0.33.0", "fp8_ds_mla"),
        ("fp8", (9, 0), "0.33.0", "fp8_ds_mla"), ("fp8_e4m3", (9, 0), "0.33.0", "fp8_e4m3"),
        ("fp8", (10, 0), "0.33.0", "fp8_e4m3"), ("fp8", (10, 0), "0.15.1", "fp8_ds_mla"),
        ("nvfp4_ds_mla", (10, 0), "0.33.0", "nvfp4_ds_mla"),
        ("auto", (9, 0), "0.11.0", "fp8_ds_mla"), ("bfloat16", (9, 0), "0.33.0", "bf16"),
    ],
)  # fmt: skip
def test_sparse_mla_writes_what_its_backend_reads(
    flag: str, sm: tuple[int, int], version: str, name: str
) -> None:
    choice = choose_format(_V32, version=Version(version), sm=sm, kv_cache_dtype=flag)
    assert choice.format.name == name
    assert choice.indexer is not None
    assert choice.indexer.record_bytes == 132


def test_glm_5_takes_fp8_on_sm10_by_itself() -> None:
    glm = model("zai-org/GLM-5")
    assert choose_format(glm, sm=(10, 0)).flag == "fp8_e4m3"
    assert choose_format(glm, sm=(9, 0)).format.name == "bf16"


def test_v4_writes_584_bytes_and_v41_528_only_on_sm10() -> None:
    assert choose_format(_V4, sm=(9, 0)).format.record_bytes == 584
    assert choose_format(_V4, sm=(10, 0)).format.record_bytes == 584
    assert choose_format(_v41(), sm=(9, 0)).format.record_bytes == 584
    assert choose_format(_v41(), sm=(10, 0)).format.record_bytes == 528
    assert any("528" in note for note in choose_format(_v41()).assumed)


def test_v41_in_nvfp4_is_two_records_under_one_name() -> None:
    choice = choose_format(_v41(), sm=(10, 0), kv_cache_dtype="nvfp4_ds_mla")
    assert choice.window is not None
    assert (choice.window.record_bytes, choice.format.record_bytes) == (528, 288)
    with pytest.raises(InputError, match="SM10x only"):
        choose_format(_v41(), sm=(9, 0), kv_cache_dtype="nvfp4_ds_mla")


def test_sglang_keeps_sparse_mla_in_bf16_below_sm10_and_in_fp8_from_there() -> None:
    assert choose_format(_V32, engine="sglang", sm=(9, 0)).format.name == "bf16"
    assert choose_format(_V32, engine="sglang", sm=(10, 0)).format.name == "fp8_e4m3"
    asked = choose_format(_V32, engine="sglang", sm=(9, 0), kv_cache_dtype="fp8_e4m3")
    assert asked.format.record_bytes == 656
    with pytest.raises(InputError, match="only supports"):
        choose_format(_V32, engine="sglang", kv_cache_dtype="fp8_e5m2")
    with pytest.raises(InputError, match="fp8_e5m2 is not supported"):
        choose_format(_V4, engine="sglang", kv_cache_dtype="fp8_e5m2")


def test_each_engine_has_its_own_names() -> None:
    assert choose_format(_LLAMA, engine="llama.cpp").format.name == "fp16"
    assert choose_format(_LLAMA, engine="llama.cpp", kv_cache_dtype="q8_0").format.name == "q8_0"
    assert choose_format(_LLAMA, engine="tensorrt-llm", kv_cache_dtype="fp8").flag == "fp8"
    for engine, flag in (("vllm", "q8_0"), ("sglang", "fp8"), ("llama.cpp", "fp8")):
        with pytest.raises(InputError, match="no KV dtype"):
            choose_format(_LLAMA, engine=engine, kv_cache_dtype=flag)


def test_a_float32_checkpoint_runs_in_16_bits_unless_asked() -> None:
    arch = replace(_LLAMA, dtype="float32")
    assert model_dtype(arch, "vllm")[0] == "bfloat16"
    assert model_dtype(arch, "vllm", "float32")[0] == "float32"
    assert needs(arch, dtype="float32").bytes_per_token == 2 * needs(arch).bytes_per_token
    assert "bfloat16 is assumed" in model_dtype(replace(_LLAMA, dtype=None), "vllm")[1]


def test_turboquant_spares_the_outer_layers_of_a_dense_model() -> None:
    choice = choose_format(_LLAMA, kv_cache_dtype="turboquant_3bit_nc")
    assert plain_layers(_LLAMA, choice) == {0, 1, 30, 31}
    need = needs(_LLAMA, kv_cache_dtype="turboquant_3bit_nc")
    assert need.bytes_per_token == 28 * 816 + 4 * 4096


def test_skipped_windows_stay_in_the_models_dtype() -> None:
    arch = model("openai/gpt-oss-20b")
    choice = choose_format(arch, kv_cache_dtype="fp8")
    spared = plain_layers(arch, choice, ("sliding_window",))
    assert len(spared) == 12
    need = needs(arch, kv_cache_dtype="fp8", skip_layers=("sliding_window",))
    plain = needs(arch)
    assert need.bytes_per_token * 2 == plain.bytes_per_token
    assert need.window_bytes_per_sequence == plain.window_bytes_per_sequence
    with pytest.raises(InputError, match="does not know the layers"):
        plain_layers(arch, choice, ("some",))


@pytest.mark.parametrize("scheme", ["int8", "nvfp4", "int4"])
def test_a_scheme_that_vllm_refuses_of_compressed_tensors_is_refused(scheme: str) -> None:
    said = Quantization("compressed-tensors", 8.0, scheme, f"kv_cache_scheme={scheme}")
    arch = replace(_LLAMA, quantization=said)
    with pytest.raises(InputError, match="num_bits=8, type=float"):
        choose_format(arch, engine="vllm", version=Version("0.33.0"))
    assert choose_format(arch, engine="vllm", kv_cache_dtype="bfloat16").format.name == "bf16"
