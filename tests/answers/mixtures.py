"""Questions to what is asked apart from a catalogue's model: kernels, hand-offs, mixed layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from inspect import isclass, isfunction, signature
from pkgutil import walk_packages
from typing import Any

from kvgate.architecture import (
    MLA,
    Architecture,
    Attention,
    GatedDeltaNet,
    Indexer,
    KimiDelta,
    LayerGroup,
    Mamba2,
    ShortConv,
)
from kvgate.attention import compare
from kvgate.attention.handoff import Side, connectors, handoff
from kvgate.attention.llamacpp import check
from kvgate.attention.tensorrt import kv_support
from kvgate.catalog.gpus import gpus
from kvgate.catalog.models import models
from kvgate.kvcache import size
from kvgate.kvcache.plot import plot_svg
from tests.answers.dice import Dice, said

__all__ = ["APART", "VERSIONS", "apart", "mixtures"]

GIB = 1 << 30
VERSIONS = (
    "0.9.2", "0.10.2", "0.11.2", "0.12.0", "0.13.0", "0.14.0", "0.15.1", "0.16.0", "0.17.1",
    "0.18.1", "0.19.1", "0.20.0", "0.20.2", "0.21.0", "0.22.1", "0.23.0", "0.24.0", "0.25.1",
    "0.26.0", "0.27.1", "0.28.0", "0.29.0", "0.30.0", "0.31.0", "0.32.0", "0.33.0",
)  # fmt: skip


def _layers(dice: Dice) -> list[Any]:
    """Two to four kinds of layers that some models mix."""
    heads = dice.pick((1, 2, 4, 8))
    width = dice.pick((64, 128, 256))
    full = Attention("full", 32, heads, width, width)
    other = dice.pick((1, 2, 16)), dice.pick((64, 80, 512))
    kinds: tuple[Any, ...] = (
        Attention("sliding", 32, heads, width, width, window=dice.pick((128, 1024, 5000))),
        Attention("sliding", 32, other[0], other[1], other[1], window=dice.pick((16, 512))),
        Attention("chunked", 32, heads, width, width, window=8192),
        Attention("full", 32, other[0], other[1], other[1]),
        Attention("full", 32, heads, 192, 128), GatedDeltaNet(16, 32, 128, 128, 4),
        Mamba2(32, 64, 128, 8, 4), ShortConv(2048, 3), KimiDelta(32, 128, 4),
    )  # fmt: skip
    if dice.pick((False, False, False, True)):
        latent = MLA(128, 512, 64, 128, 128, window=dice.pick((None, None, 512)))
        sparse = MLA(
            128, 512, 64, 128, 128, indexer=Indexer(dice.pick((128, 100)), 2048), sparse=True
        )
        return [latent, dice.pick((sparse, *kinds[:4], *kinds[5:7]))]
    return list(dict.fromkeys([full, dice.pick(kinds), *(dice.pick(((), (dice.pick(kinds),))))]))


def _mixed(dice: Dice) -> Architecture:
    kinds = _layers(dice)
    count, period = dice.pick((1, 4, 9, 24, 31)), dice.pick((2, 3, 6))
    indices: list[list[int]] = [[] for _ in kinds]
    for index in range(count):
        indices[index % period % len(kinds)].append(index)
    return Architecture(
        id="mixed", model_type=dice.pick(("test", "gemma4_text", "kimi_k3")), architectures=(),
        groups=tuple(
            LayerGroup(layer, tuple(held), ())
            for layer, held in zip(kinds, indices, strict=True) if held
        ),
        num_layers=count, hidden_size=4096, vocab_size=dice.pick((None, 32_000, 250_000)),
        query_heads=32, dtype="bfloat16", max_position_embeddings=dice.pick((8192, 1 << 20)),
        multimodal=dice.pick((True, False)),
    )  # fmt: skip


def mixtures(version: str) -> Iterator[str]:
    """How a vLLM release groups and pools layers of several kinds."""
    dice = Dice(f"mixtures {version}")
    for _ in range(50):
        asked = dice.some(
            gpu=(None, None, "H100", "H100 PCIe", "B200", "A100-80GB", "L40S", "GB10", "MI300X"),
            kv_cache_memory=(1 << 20, 700 << 20, 3 * GIB, 40 * GIB, None), pp=(1, 1, 2, 3),
            kv_cache_dtype=("auto", "auto", "fp8", "int8_per_token_head", "turboquant_4bit_nc"),
            tp=(1, 1, 2, 8), dcp=(1, 1, 1, 2), weights_bytes=(GIB, 20 * GIB, 200 * GIB),
            max_model_len=(1, 1000, 8192, 131_072), block_size=(None, 16, 64, 256),
            max_num_batched_tokens=(None, 2048, 8192), max_num_seqs=(None, 256, 1024),
            hybrid_kv_cache_manager=(True, True, False), prefix_caching=(None, True, False),
            mamba_cache_mode=(None, "align", "all"), speculative_tokens=(0, 0, 3),
            async_scheduling=(None, False), enforce_eager=(False, True), dtype=("auto", "float32"),
            gpu_memory_utilization=(None, 0.5, 0.95), encoder_tokens=(None, 300),
            kv_cache_dtype_skip_layers=(None, None, ("0", "1"), ("sliding_window",)),
        )  # fmt: skip
        mixed = _mixed(dice)
        yield said(lambda **a: size(**a).to_json(), model=mixed, engine=f"vllm=={version}", **asked)


def _llamacpp(dice: Dice) -> Iterator[str]:
    for _ in range(1500):
        kinds = ("f16", "f16", "bf16", "q8_0", "q4_0", "q5_1", "iq4_nl", "f32", "q9")
        yield said(
            check, type_k=dice.pick(kinds), type_v=dice.pick(kinds),
            flash_attention=dice.pick(("on", "off", "auto")),
            head_k=dice.pick((40, 64, 72, 80, 96, 112, 128, 192, 256, 512, 576, 33)),
            head_v=dice.pick((None, None, 128, 256, 512)), query_heads=dice.pick((8, 32, 64, 128)),
            kv_heads=dice.pick((1, 4, 8)), mla=dice.pick((True, False, False)),
            split_mode=dice.pick(("layer", "tensor")), all_quants=dice.pick((True, False)),
            promotes_auto=dice.pick((True, False)),
        )  # fmt: skip


def _tensorrt(dice: Dice) -> Iterator[str]:
    for gpu in ("T4", "A100-80GB", "L40S", "H100", "B200", "B300", "RTX 5090", "GB10", "MI300X"):
        for dtype in ("auto", "fp8", "nvfp4", "bf16", "fp16", "int8"):
            yield said(kv_support, dtype, gpu)


def _handoff(dice: Dice) -> Iterator[str]:
    def side() -> Side:
        return Side(**dice.some(
            engine_version=(None, "0.32.0", "0.33.0"), model=(None, "a"),
            dtype=("bfloat16", "half"),
            kv_dtype=("auto", "fp8", "nvfp4", None), backend=("FLASHINFER", "FLASH_ATTN", None),
            block_size=(16, 32, 64, None), layout=("NHD", "HND", None), mla=(True, False, False),
            tensor_parallel=(1, 2, 4, None), decode_context_parallel=(1, 2, None),
            speculation=(None, "EAGLE"), record=(None, "a", "b"), record_bytes=(None, 584, 656),
            fp8_encoding=(None, "e4m3fn", "e4m3fnuz"), kv_scales=(None, "x"), rope=(None, "yarn"),
            kv_bytes=(None, 1024.0, 512.0), hybrid=(True, False),
        ))  # fmt: skip

    for connector in (*connectors(), " NIXL ", "some"):
        for _ in range(60):
            yield said(handoff, side(), side(), connector)


def _changes(dice: Dice) -> Iterator[str]:
    known = sorted(models())
    for _ in range(120):
        old, new = dice.pick(VERSIONS[4:]), dice.pick(VERSIONS[4:])
        yield said(
            compare, dice.pick(known), gpu=dice.pick(("H100", "B200", "RTX 5090")),
            engine=f"vllm=={new}", other=f"vllm=={old}", **dice.some(
                kv_cache_dtype=("auto", "fp8"), tp=(1, 8), block_size=(None, 64, 128),
                batch_invariant=(None, True),
            ),
        )  # fmt: skip


def _cards(dice: Dice) -> Iterator[str]:
    for card in gpus():
        for engine in ("vllm==0.19.1", "vllm==0.33.0", "sglang", "tensorrt-llm", "llama.cpp"):
            tp = 1 if engine == "llama.cpp" else dice.pick((1, 4))
            yield said(
                lambda **asked: size("Qwen/Qwen3-8B", max_model_len=8192, **asked).to_json(),
                gpu=card, engine=engine, tp=tp,
            )  # fmt: skip


def _plots(dice: Dice) -> Iterator[str]:
    for name in ("Qwen/Qwen3-8B", "google/gemma-4-31B-it", "openai/gpt-oss-20b"):
        for asked in ({}, {"gpu": "H100"}, {"kv_cache_memory": GIB}, {"kv_cache_memory": 90 * GIB}):
            for length in (1, 5000, 100_000):
                yield plot_svg(size(name, max_model_len=length, **asked), points=9)


def _is_said(default: object) -> bool:
    """Whether a default reads the same on each run."""
    return default is None or isinstance(default, int | float | str | tuple)


def _defaults(dice: Dice) -> Iterator[str]:
    """What a public function or a value of the lower floors takes where nobody says."""
    for floor in ("architecture", "attention", "kvcache"):
        package = import_module(f"kvgate.{floor}")
        for found in walk_packages(package.__path__, f"{package.__name__}."):
            module = import_module(found.name)
            for name in getattr(module, "__all__", ()):
                thing = getattr(module, name)
                if isclass(thing) or isfunction(thing):
                    with suppress(ValueError):  # a type that has no signature
                        taken = signature(thing).parameters.values()
                        told = [f"{p.name}={p.default!r}" for p in taken if _is_said(p.default)]
                        yield f"{found.name}.{name} {told}"


_ASKED: dict[str, Callable[[Dice], Iterator[str]]] = {
    "llama.cpp": _llamacpp, "tensorrt-llm": _tensorrt, "hand-off": _handoff, "changes": _changes,
    "cards": _cards, "defaults": _defaults, "plots": _plots,
}  # fmt: skip
APART = tuple(_ASKED)


def apart(name: str) -> Iterator[str]:
    """What is asked by itself: llama.cpp's and TensorRT-LLM's kernels, a hand-off, a change."""
    return _ASKED[name](Dice(f"apart {name}"))
