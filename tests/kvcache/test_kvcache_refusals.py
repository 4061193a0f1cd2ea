"""What sizing refuses before it computes anything, and what it remarks of a card."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from packaging.version import Version

from kvgate.architecture import LayerGroup, Quantization, ShortConv, model
from kvgate.errors import InputError
from kvgate.kvcache import size
from kvgate.kvcache.choice import choose_format
from kvgate.kvcache.llamacpp import LlamaOptions
from kvgate.kvcache.sglang_options import SglangOptions
from kvgate.kvcache.trtllm import TrtllmOptions
from kvgate.units import GiB

_LLAMA = model("meta-llama/Llama-3.1-8B-Instruct")
_V4 = model("deepseek-ai/DeepSeek-V4-Flash")


def _told(**asked: Any) -> str:
    with pytest.raises(InputError) as caught:
        size(asked.pop("model", _LLAMA), **asked)
    return f"{caught.value.message} ({caught.value.hint})"


@pytest.mark.parametrize(
    ("engine", "name", "options"),
    [
        ("vllm", "vLLM", SglangOptions()), ("sglang", "SGLang", LlamaOptions()),
        ("llama.cpp", "llama.cpp", TrtllmOptions()),
        ("tensorrt-llm", "TensorRT-LLM", LlamaOptions()),
    ],
)  # fmt: skip
def test_an_engine_takes_no_other_engines_settings(engine: str, name: str, options: object) -> None:
    told = _told(engine=engine, kv_cache_memory=GiB, options=options)
    assert told.startswith(f"{name} takes no {type(options).__name__}")


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"max_num_seqs": 0}, "max_num_seqs is 0; it must be at least 1"),
        ({"max_num_batched_tokens": 0}, "max_num_batched_tokens is 0; it must be at least 1"),
        ({"gpu_memory_utilization": 0.0}, "gpu_memory_utilization is 0.0; it must be above 0"),
        ({"gpu_memory_utilization": 1.01}, "gpu_memory_utilization is 1.01; it must be above 0"),
        ({"block_size": 0}, "block size 0 is impossible"),
        ({"kv_cache_memory": -1}, "KV memory of [-1] bytes is impossible"),
        ({"kv_cache_memory": []}, "KV memory of [] bytes is impossible"),
        ({"kv_cache_memory": [GiB] * 3, "pp": 2}, "3 memory figures for 2 pipeline stages"),
        ({"weights_bytes": [1] * 3, "pp": 2}, "3 figures of weights for 2 pipeline stages"),
        ({"weights_bytes": -1}, "-1 bytes of weights are impossible"),
        ({"checkpoint_bytes": -1, "gpu": "H100"}, "a checkpoint of -1 bytes of weights"),
        ({"tp": 0}, "tensor parallel size must be at least 1, not 0"),
        ({"pp": 0}, "pipeline parallel size must be at least 1, not 0"),
        ({"dcp": 0}, "decode context parallel size must be at least 1, not 0"),
        ({"tp": 3}, "32 attention heads, which tensor parallel size 3 does not divide"),
        ({"tp": 4, "dcp": 3}, "decode context parallel size 3 does not divide"),
        ({"max_model_len": 0}, "max_model_len is 0; it must be at least 1"),
        ({"mamba_cache_mode": "some"}, "has no mamba_cache_mode 'some'"),
    ],
)  # fmt: skip
def test_a_figure_that_cannot_be_is_refused(asked: dict[str, Any], text: str) -> None:
    assert text in _told(**{"kv_cache_memory": GiB, "engine": "vllm==0.33.0", **asked})


@pytest.mark.parametrize(
    ("asked", "most"), [({"max_num_seqs": 1}, 1), ({"max_num_batched_tokens": 1}, 1)]
)
def test_one_is_enough(asked: dict[str, Any], most: int) -> None:
    assert size(_LLAMA, kv_cache_memory=GiB, engine="vllm==0.33.0", **asked).pool is not None
    assert size(_LLAMA, kv_cache_memory=GiB, max_model_len=most).fits


def test_a_picture_has_some_points_and_no_more_than_pixels() -> None:
    sizing = size(_LLAMA, max_model_len=1000)
    assert [context for context, _, _ in sizing.plot(points=1)] == [0, 1000]
    assert [context for context, _, _ in sizing.plot(points=3)] == [0, 500, 1000]
    for points in (0, 10**9):
        with pytest.raises(InputError, match="a plot has from 1 to"):
            sizing.plot(points=points)


@pytest.mark.parametrize(("card", "noted"), [("V100 32GB", True), ("T4", False), ("H100", False)])
def test_a_card_that_cuda_13_compiles_nothing_for_is_remarked(card: str, noted: bool) -> None:
    for engine in ("vllm==0.33.0", "sglang==0.5.23"):
        notes = size(_LLAMA, gpu=card, engine=engine, weights_bytes=GiB).assumptions
        assert any("CUDA 13" in note for note in notes) is (noted and engine.startswith("vllm"))


@pytest.mark.parametrize("asked", [{"slots": 0}, {"ubatch": 0}])
def test_llama_cpp_needs_a_slot_and_a_batch(asked: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="at least one slot and one token"):
        LlamaOptions(**asked)
    LlamaOptions(slots=1, ubatch=1)


def test_llama_cpp_knows_two_layouts_of_mla() -> None:
    with pytest.raises(InputError, match="unknown MLA layout 'latnt'") as caught:
        LlamaOptions(mla="latnt")
    assert "latent" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"free_gpu_memory_fraction": 0.0}, "above 0, up to 1"),
        ({"free_gpu_memory_fraction": 1.1}, "above 0, up to 1"),
        ({"tokens_per_block": 0}, "at least 1"), ({"max_attention_window": (4, 0)}, "at least 1"),
    ],
)  # fmt: skip
def test_tensorrt_llms_settings_have_bounds(asked: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        TrtllmOptions(**asked)
    TrtllmOptions(free_gpu_memory_fraction=1.0, tokens_per_block=1, max_attention_window=(1,))


@pytest.mark.parametrize("ratio", [0.0, -0.5, 1.5])
def test_sglangs_ratio_of_pools_is_a_share(ratio: float) -> None:
    with pytest.raises(InputError, match=r"range \(0, 1.0\]"):
        SglangOptions(swa_full_tokens_ratio=ratio)
    SglangOptions(swa_full_tokens_ratio=1.0)


def test_a_mixture_that_no_engine_has_is_refused() -> None:
    compressed = _V4.groups[-1].layer
    mixed = replace(
        _V4, groups=(
            LayerGroup(compressed, tuple(range(20)), ()),
            LayerGroup(ShortConv(2048, 3), tuple(range(20, _V4.num_layers)), ()),
        ),
    )  # fmt: skip
    assert "no hybrid of compressed attention" in _told(model=mixed, kv_cache_memory=GiB)


def test_an_engine_without_kv_dtypes_is_refused() -> None:
    with pytest.raises(InputError, match="knows no KV dtypes of engine 'mlx'"):
        choose_format(_LLAMA, engine="mlx")


def test_a_scheme_that_vllm_has_no_word_for_is_left_alone() -> None:
    said = Quantization("modelopt", kv_cache="int8", kv_cache_key="kv_cache_quant_algo")
    choice = choose_format(replace(_LLAMA, quantization=said), version=Version("0.33.0"))
    assert choice.format.name == "bf16"
    assert "ignores the checkpoint's kv_cache_quant_algo=int8" in choice.because


@pytest.mark.parametrize("engine", ["vllm==0.33.0", "sglang==0.5.23"])
def test_without_the_weights_a_card_says_nothing(engine: str) -> None:
    unknown = replace(_LLAMA, id="some", parts=(), not_counted=("weights",))
    with pytest.raises(InputError, match="the weights of some are not known"):
        size(unknown, gpu="H100", engine=engine)
