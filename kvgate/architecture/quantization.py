"""What a checkpoint says of its quantisation: weights, and the KV dtype that it asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kvgate.architecture.model import Quantization

__all__ = ["ALGORITHM_BITS", "METHOD_BITS", "group_bits", "quantization", "section"]

METHOD_BITS = {
    "fp8": 8.0, "fbgemm_fp8": 8.0, "mxfp4": 4.25, "mxfp8": 8.25, "awq": 4.0, "gptq": 4.0,
    "bitsandbytes": 8.0, "experts_int8": 8.0, "quanto": 8.0, "nvfp4": 4.5, "modelopt_fp4": 4.5,
}  # fmt: skip
ALGORITHM_BITS = {
    "FP8": 8.0, "FP8_PER_CHANNEL_PER_TOKEN": 8.0, "FP8_PB_WO": 8.0, "FP8_BLOCK_SCALES": 8.0,
    "NVFP4": 4.5, "NVFP4_AWQ": 4.5, "W4A16_NVFP4": 4.5, "W4A16_AWQ": 4.0, "W4A8_AWQ": 4.0,
    "W4A16": 4.0, "W8A16": 8.0, "W8A8_SQ_PER_CHANNEL": 8.0, "INT8_SQ": 8.0, "MXFP8": 8.25,
    "MXFP4": 4.25,
}  # fmt: skip


def section(
    config: Mapping[str, Any],
    text: Mapping[str, Any],
    hf_quant_config: Mapping[str, Any] | None = None,
) -> Mapping[str, Any] | None:
    """The quantisation section of a checkpoint, from the first place that has one.

    ``config`` is the whole config and ``text`` its text part; ``hf_quant_config`` is the file of
    that name that ModelOpt writes beside it, whose keys fill in what the config leaves out.
    """
    apart = hf_quant_config.get("quantization", hf_quant_config) if hf_quant_config else {}
    apart = apart if isinstance(apart, Mapping) else {}
    for source in (config, text):
        for name in ("quantization_config", "compression_config"):
            found = source.get(name)
            if isinstance(found, Mapping) and found:
                legacy = found.get("quantization")
                inner = legacy if isinstance(legacy, Mapping) else {}
                return {**apart, **found, **inner, "": f"{name}."}
    return {**apart, "": "hf_quant_config.json: quantization."} if apart else None


def quantization(
    config: Mapping[str, Any],
    text: Mapping[str, Any],
    hf_quant_config: Mapping[str, Any] | None = None,
) -> Quantization | None:
    """What a checkpoint says of its quantisation, None where neither file says anything."""
    found = section(config, text, hf_quant_config)
    if found is None:
        return None
    algorithm = _text(found.get("quant_algo"))
    method = (_text(found.get("quant_method")) or "").lower().replace("_", "-")
    method = _method(method, algorithm)
    kv, key = _kv(found, str(found[""]))
    return Quantization(
        method=method,
        weight_bits=_bits(method, algorithm, found),
        kv_cache=kv,
        kv_cache_key=key,
        ignored=_ignored(found),
        algorithm=algorithm,
        experts=_experts(found),
        layer_algorithms=tuple(sorted(set(_by_layer(found).values()))),
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _method(method: str, algorithm: str | None) -> str:
    method = {"fbgemm-fp8": "fbgemm_fp8", "experts-int8": "experts_int8"}.get(method, method)
    if method in ("", "modelopt", "modelopt-fp4", "modelopt-mixed") and algorithm:
        if "NVFP4" in algorithm.upper():
            return "modelopt_fp4"
        return "modelopt_mixed" if algorithm.upper() == "MIXED_PRECISION" else "modelopt"
    return method.replace("modelopt-", "modelopt_") or "unknown"


def _kv(found: Mapping[str, Any], path: str) -> tuple[str | None, str | None]:
    """The KV dtype, from ``kv_cache_scheme`` or from ModelOpt's ``kv_cache_quant_algo``."""
    scheme = found.get("kv_cache_scheme")
    if isinstance(scheme, Mapping):
        bits, kind = scheme.get("num_bits"), _text(scheme.get("type")) or "float"
        prefix = "fp" if kind == "float" else "int"
        if isinstance(bits, int) and not isinstance(bits, bool):
            dtype = "nvfp4" if (prefix, bits) == ("fp", 4) else f"{prefix}{bits}"
            return dtype, f"{path}kv_cache_scheme.num_bits={bits}, type={kind}"
    algorithm = _text(found.get("kv_cache_quant_algo"))
    if algorithm is not None and algorithm.lower() != "none":
        return algorithm.lower(), f"{path}kv_cache_quant_algo={algorithm}"
    return None, None


def _bits(method: str, algorithm: str | None, found: Mapping[str, Any]) -> float | None:
    """Bits a quantised weight takes with its scales, None where the file does not say."""
    if algorithm and algorithm.upper() in ALGORITHM_BITS:
        return ALGORITHM_BITS[algorithm.upper()]
    groups = found.get("config_groups")
    if isinstance(groups, Mapping):
        widths = {
            group_bits(weights)
            for entry in groups.values()
            if isinstance(entry, Mapping) and isinstance(weights := entry.get("weights"), Mapping)
        }
        if len(widths) == 1:
            return widths.pop()
    for key in ("bits", "w_bit"):
        bits_given = found.get(key)
        if isinstance(bits_given, int) and not isinstance(bits_given, bool):
            return float(bits_given)
    if method == "bitsandbytes":
        return 4.5 if found.get("load_in_4bit") or found.get("_load_in_4bit") else 8.0
    return METHOD_BITS.get(method)


def group_bits(weights: Mapping[str, Any]) -> float | None:
    """Bits of one weight of a group, its scale included: 16 bits a group, 8 for FP4."""
    bits, size = weights.get("num_bits"), weights.get("group_size")
    if isinstance(bits, bool) or not isinstance(bits, int):
        return None
    scale = 8.0 if weights.get("type") == "float" and bits == 4 else 16.0
    if isinstance(size, bool) or not isinstance(size, int) or size <= 0:
        return float(bits)
    return bits + scale / size


def _experts(found: Mapping[str, Any]) -> str | None:
    """How routed experts are stored, where one of the keys that set them apart says so."""
    if "mxfp4" in (found.get("routed_experts_quant_method"), found.get("store_dtype")):
        return "mxfp4"
    if (_text(found.get("moe_quant_algo")) or "").upper() == "NVFP4":
        return "nvfp4"
    algorithms = {value for name, value in _by_layer(found).items() if ".experts" in name}
    for algorithm in ("W4A16_NVFP4", "NVFP4"):
        if algorithm in algorithms:
            return algorithm.lower()
    groups = found.get("config_groups")
    for entry in groups.values() if isinstance(groups, Mapping) else ():
        weights = entry.get("weights") if isinstance(entry, Mapping) else None
        if isinstance(weights, Mapping) and [
            weights.get(key) for key in ("num_bits", "group_size", "strategy", "type")
        ] == [4, 32, "group", "int"]:
            return "int4_group32"
        if isinstance(entry, Mapping) and "mxfp4" in str(entry.get("format", "")):
            return "mxfp4"
    return None


def _by_layer(found: Mapping[str, Any]) -> dict[str, str]:
    """Layer -> algorithm, where a mixed checkpoint names them one by one."""
    layers = found.get("quantized_layers")
    return {
        name: str(entry.get("quant_algo", "")).upper()
        for name, entry in (layers.items() if isinstance(layers, Mapping) else ())
        if isinstance(name, str) and isinstance(entry, Mapping)
    }


def _ignored(found: Mapping[str, Any]) -> tuple[str, ...]:
    for key in ("modules_to_not_convert", "ignore", "exclude_modules", "ignored_layers"):
        value = found.get(key)
        if isinstance(value, list):
            # A list names each layer; what it says is which kinds of module.
            kinds = (re.sub(r"\d+", "*", entry) for entry in value if isinstance(entry, str))
            return tuple(dict.fromkeys(kinds))
    return ()
