"""What vLLM refuses of the model itself: its architecture, its quantisation, its dtype on a GPU.

Sources: vllm 0.9.2 to 0.33.0, model_executor/models/registry.py, config/model.py
(``_verify_quantization``), platforms/cuda.py (``check_if_supports_dtype``).
"""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from kvgate.architecture.layers import Attention
from kvgate.architecture.model import Architecture
from kvgate.catalog.gpus import Gpu
from kvgate.catalog.names import named, span
from kvgate.deployment.model import Deployment
from kvgate.errors import Diagnostic, nearest
from kvgate.plan.values import REFUSED
from kvgate.units import whole_number

__all__ = ["refused_model"]

UNKNOWN_MODEL, NO_EFFECT = "KV435", "KV436"

# Methods of one checkpoint format: a flag that names another of them is let through.
_FAMILIES = (
    {"awq", "auto_awq", "awq_marlin"},
    {"gptq", "auto_gptq", "gptq_marlin", "gptq_marlin_24", "gptq_bitblas"},
    {"fp8", "deepseek_v4_fp8"},
    {"modelopt", "modelopt_fp4", "modelopt_mixed", "modelopt_mxfp8", "petit_nvfp4"},
    {"mxfp4", "gpt_oss_mxfp4"},
    {"compressed-tensors"},
    {"bitsandbytes"},
    {"quark"},
    {"torchao"},
    {"experts_int8"},
)


def refused_model(
    deployment: Deployment, version: Version, arch: Architecture | None, gpu: Gpu | None
) -> Iterator[Diagnostic]:
    """Each thing that this release refuses of the model, at the flag that asks for it.

    ``version`` is the release as asked for, which may be older than the catalogue's.
    """
    yield from _dtype(deployment, gpu)
    yield from _quantization(deployment, version, arch)
    if arch is not None:
        yield from _architecture(deployment, version, arch)
        yield from _skipped_layers(deployment, arch)


def _dtype(deployment: Deployment, gpu: Gpu | None) -> Iterator[Diagnostic]:
    asked = deployment.flags.get("dtype")
    if asked != "bfloat16" or gpu is None or gpu.sm is None or gpu.sm >= (8, 0):
        return
    yield _at(
        deployment, "dtype", REFUSED,
        f"--dtype bfloat16 is refused on {gpu.name}: Bfloat16 is only supported on GPUs with "
        f"compute capability of at least 8.0, and this has {gpu.capability}",
        "write --dtype half, or leave it out: the engine then takes float16 by itself",
    )  # fmt: skip


def _quantization(
    deployment: Deployment, version: Version, arch: Architecture | None
) -> Iterator[Diagnostic]:
    asked = deployment.flags.get("quantization")
    if isinstance(asked, str) and _missing(asked, version):
        yield _at(
            deployment, "quantization", REFUSED,
            f"vllm {version} has no quantisation method {asked!r}{_gone(asked)}",
            nearest(asked, named("methods", version)),
        )  # fmt: skip
        return
    said = arch.quantization.method if arch is not None and arch.quantization is not None else None
    if said is None or said == "unknown" or arch is None:
        return
    if _missing(said, version) and _missing(said.replace("-", "_"), version):
        yield Diagnostic(
            REFUSED,
            deployment.place,
            f"{arch.id} is quantised with {said!r}, which vllm {version} has no method "
            f"for{_gone(said)}",
            nearest(said, named("methods", version)),
        )
        return
    own = next((family for family in _FAMILIES if said in family), None)
    other = next((family for family in _FAMILIES if asked in family), None)
    if own is not None and other is not None and own is not other:
        yield _at(
            deployment, "quantization", REFUSED,
            f"Quantization method specified in the model config ({said}) does not match the "
            f"quantization method specified in the `quantization` argument ({asked})",
            "leave the flag out: the checkpoint says it by itself",
        )  # fmt: skip


def _missing(method: str, version: Version) -> bool:
    """Whether a release surely lacks a method. One that no release has may come from a plugin."""
    found = span("methods", method)
    known = named("methods", version)
    return bool(known) and (found is None or found.holds(version) is False)


def _gone(method: str) -> str:
    found = span("methods", method)
    if found is None:
        return ""
    if found.last is not None:
        return f"; the last release read that has it is {found.last}"
    return f"; the first release read that has it is {found.first}"


def _architecture(
    deployment: Deployment, version: Version, arch: Architecture
) -> Iterator[Diagnostic]:
    spans = {name: span("architectures", name) for name in arch.architectures}
    known = {name: found for name, found in spans.items() if found is not None}
    if not known or any(found.holds(version) is not False for found in known.values()):
        return
    name, found = min(known.items(), key=lambda item: item[1].first)
    if found.first > version:
        message, hint = f"; the first release read that has it is {found.first}", (
            f"take vllm {found.first} or later"
        )  # fmt: skip
    else:
        message, hint = f"; the last release read that has it is {found.last}", (
            f"take vllm {found.last}"
        )  # fmt: skip
    yield _at(
        deployment, "model", UNKNOWN_MODEL,
        f"vllm {version} doesn't know {name} ({arch.id}){message}",
        f"{hint}; before, only a class of Transformers that vLLM can drive would stand in for it"
        if found.first > version
        else hint,
    )  # fmt: skip


def _skipped_layers(deployment: Deployment, arch: Architecture) -> Iterator[Diagnostic]:
    asked = deployment.flags.get("kv_cache_dtype_skip_layers")
    words = asked if isinstance(asked, list | tuple) else () if asked is None else (asked,)
    attention = {i for g in arch.groups if isinstance(g.layer, Attention) for i in g.indices}
    for word in words:
        index = whole_number(str(word))
        if index is None or index in attention:
            continue
        if index >= arch.num_layers:
            why = f"{arch.id} has {arch.num_layers} layers, 0 to {arch.num_layers - 1}"
        else:
            why = f"layer {index} of {arch.id} has no cache of keys and values"
        yield _at(
            deployment, "kv_cache_dtype_skip_layers", NO_EFFECT,
            f"--kv-cache-dtype-skip-layers {index} spares nothing: {why}",
            "name layers that there are; vLLM passes over others without a word",
        )  # fmt: skip


def _at(deployment: Deployment, dest: str, code: str, message: str, hint: str) -> Diagnostic:
    given = deployment.last(dest)
    return Diagnostic(code, given.place if given else deployment.place, message, hint)
