"""A broad set of questions to the lower floors, and short digests of kvgate's own answers.

These say nothing about whether an answer is right: the golden tables of the engines' own answers
do. They say that an answer moved. A change of a gate or of a size that was meant is approved with
``python -m tests.answers.approve`` after a look at which groups moved.

Nothing is random: a question is picked by the digest of its number, on every machine alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from typing import Any

from kvgate.architecture import Architecture
from kvgate.architecture.released import model as released
from kvgate.architecture.table import TYPES
from kvgate.architecture.wrappers import WRAPPERS
from kvgate.attention import backends
from kvgate.attention.batch import answer
from kvgate.catalog.engines import releases
from kvgate.catalog.models import models
from kvgate.kvcache import size
from tests.answers.cells import digests_of, read_catalogue
from tests.answers.dice import Dice, said
from tests.answers.mixtures import APART, VERSIONS, apart, mixtures
from tests.answers.settings import FORMATS, LENGTHS, formats, hooks, lengths, options, pools, widths
from tests.answers.shapes import ODD, SCHEMES, odd, of_type, schemes, wrapped, wrong

__all__ = ["digest", "groups"]

KV = {
    "vllm": ("auto", "auto", "fp8", "nvfp4", "fp8_e5m2", "fp8_ds_mla"),
    "sglang": ("auto", "auto", "fp8_e4m3", "fp8_e5m2", "nvfp4"),
}
FORCE = {
    "vllm": (
        "FLASHINFER", "FLASH_ATTN", "TRITON_ATTN", "FLASHMLA", "FLASHINFER_MLA_SPARSE",
        "FLASHMLA_SPARSE", "TRITON_MLA", "CUTLASS_MLA", "FLASH_ATTN_MLA",
    ),
    "sglang": (
        "flashinfer", "triton", "fa3", "trtllm_mha", "trtllm_mla", "flashmla", "fa4", "cutlass_mla",
    ),
}  # fmt: skip
GPUS = (
    "H100",
    "B200",
    "A100-80GB",
    "L40S",
    "RTX 5090",
    "T4",
    "GH200 96GB",
    "B300",
    "MI300X",
    "H20",
)
# Releases on both sides of what moved, oldest first.
VLLM = ("0.13.0", "0.15.1", "0.17.1", "0.19.1", "0.20.2", "0.23.0", "0.26.0", "0.30.0", "0.33.0")


def _digest(answers: Iterator[str]) -> str:
    made = sha256()
    for text in answers:
        made.update(text.encode() + b"\n")
    return made.hexdigest()[:16]


def _rows(version: str) -> Iterator[str]:
    dice = Dice(f"rows {version}")
    for sm in ("7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "10.3", "11.0", "12.0", "12.1",
               "gfx942", "gfx950"):  # fmt: skip
        for _ in range(40):
            mla = dice.pick((False, False, True))
            rare = (None, None, None, None, None, True)
            row = dice.some(
                head_size=(576, 576, 576, 512, 320, 192) if mla else
                (64, 80, 96, 128, 128, 192, 256, 256, 512, 16, 48, 72, 160, 257, 264, 320, 384),
                kv=("auto", "auto", "fp8", "fp8_e5m2", "nvfp4", "fp8_ds_mla", "turboquant_k8v4"),
                dtype=("bfloat16", "bfloat16", "float16", "float32"),
                block_size=(None, None, None, 16, 32, 48, 64, 128, 256, 1), mla=(mla,),
                sparse=(mla and dice.pick((False, True)),), sink=rare, mm_prefix=rare,
                per_head_scales=rare, window=rare, non_causal=rare, batch_inv=rare,
                kv_connector=rare, dcp=(*rare, 4), pcp=rare, softcap=rare, diffusion=rare,
                num_heads=(None, 1, 4, 8, 16, 48, 64, 128, 256),
                trtllm=(None, None, "no-cubins", "off"),
                attn_type=(None, None, None, "encoder_only", "encoder_decoder"),
                flash_attn_version=(None, None, None, 2, 3, 4),
                forced=(None, "AUTO", "AUTO", "FLASHINFER", "FLASH_ATTN", "TRITON_ATTN",
                        "FLASHMLA", "FLASHINFER_MLA", "FLASHMLA_SPARSE", "TRITON_MLA", "B12X",
                        "FLASHINFER_MLA_SPARSE", "TRITON_FLASHINFER", "FLEX_ATTENTION",
                        "CUTLASS_MLA", "FLASH_ATTN_MLA", "TOKENSPEED_MLA", "TURBOQUANT",
                        "FLASH_ATTN_DIFFKV", "FLASH_ATTN_MLA_SPARSE_FA4"),
                adaptive_verification=rare, rswa=rare, aiter=(None, None, "none", "on"),
                head_size_v=(*rare[:5], 64, 128, 256), index_topk=(*rare[:5], 512, 1024),
            )  # fmt: skip
            yield said(answer, {**row, "v": version, "sm": sm})


def _gates(model: str, engine: str) -> Iterator[str]:
    dice = Dice(f"gates {model} {engine}")
    sglang = engine == "sglang"
    versions = [str(v) for v in releases("sglang")] if sglang else VLLM
    kv = KV[engine]
    force = FORCE[engine]
    for _ in range(8):
        asked = dice.some(
            kv_cache_dtype=kv, tp=(1, 2, 4, 8), force=(None, None, None, *force),
            block_size=(None, None, None, 32, 64, 128), dcp=(None,) if sglang else (None, None, 2),
        )  # fmt: skip
        gpu, version = dice.pick(GPUS), dice.pick(versions)
        yield said(backends, model, gpu=gpu, engine=f"{engine}=={version}", **asked)


def _sizes(model: str) -> Iterator[str]:
    dice = Dice(f"sizes {model}")
    architecture = released(model)
    for _ in range(9):
        engine = dice.pick((*(f"vllm=={v}" for v in VLLM), "sglang==0.5.23", "sglang==0.5.15",
                            "llama.cpp", "tensorrt-llm"))  # fmt: skip
        asked = dice.some(
            gpu=(*GPUS, None), tp=(1, 2, 4, 8), pp=(None, None, 2), dcp=(None, None, None, 2),
            kv_cache_dtype=("auto", "auto", "fp8", "fp8_e4m3", "nvfp4", "bfloat16"),
            max_model_len=(4096, 32768, 131072, 262144), block_size=(None, None, 32, 64, 256),
            speculative_tokens=(None, None, 1, 3), prefix_caching=(None, None, False),
            max_num_batched_tokens=(None, 2048, 16384), max_num_seqs=(None, 16, 1024),
            kv_cache_memory=(None, 8 << 30, 40 << 30), enforce_eager=(None, None, True),
            hybrid_kv_cache_manager=(None, None, False), quantization=(None, None, "fp8"),
            mamba_cache_mode=(None, None, "all", "align"),
            gpu_memory_utilization=(None, None, 0.8),
        )  # fmt: skip
        yield said(_sized, architecture, engine=engine, **asked)


def _sized(architecture: Architecture, **asked: Any) -> object:
    return size(architecture, **asked).to_json()


def _groups() -> dict[str, tuple[list[str], Callable[[str], Iterator[str]]]]:
    vllm = [str(version) for version in releases("vllm")]
    return {
        "config": (sorted(TYPES), of_type),
        "wrong": (sorted(TYPES), wrong),
        "wrapped": (sorted(WRAPPERS), wrapped),
        "odd": (sorted(ODD), odd),
        "schemes": (list(SCHEMES), schemes),
        "rows": (vllm, _rows),
        "widths": (vllm, widths),
        "hooks": (vllm, hooks),
        "vllm": (sorted(models()), lambda model: _gates(model, "vllm")),
        "sglang": (sorted(models()), lambda model: _gates(model, "sglang")),
        "size": (sorted(models()), _sizes),
        "pools": (sorted(models()), pools),
        "options": ([str(version) for version in releases("sglang")], options),
        "formats": (list(FORMATS), formats),
        "lengths": (list(LENGTHS), lengths),
        "mixtures": (list(VERSIONS), mixtures),
        "apart": (list(APART), apart),
    }


def groups() -> list[str]:
    """The groups of questions, "kind name" each."""
    asked = [f"{kind} {name}" for kind, (names, _) in _groups().items() for name in names]
    return [*asked, *_cells()]


def digest(group: str) -> str | None:
    """The digest of the answers of one group; None where there is no such group any more."""
    kind, _, name = group.partition(" ")
    if kind == "cells":
        return _cells().get(group)
    names, ask = _groups()[kind]
    return _digest(ask(name)) if name in names else None


@cache
def _cells() -> dict[str, str]:
    return {
        entry: digest
        for name, data in read_catalogue().items()
        for entry, digest in digests_of(name, data).items()
    }
