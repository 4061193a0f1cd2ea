"""Which module of a checkpoint has how many bits: targets, exclusions, mixed precision."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from kvgate.architecture.quantization import ALGORITHM_BITS, METHOD_BITS, group_bits, section

__all__ = ["Scheme"]


class Scheme:
    """The quantisation of one checkpoint, asked module by module.

    A module is named as in the checkpoint, without what stands before ``layers.``
    (``layers.3.self_attn.q_proj``, ``lm_head``).
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        text: Mapping[str, Any],
        hf_quant_config: Mapping[str, Any] | None = None,
    ) -> None:
        self.default: float | None = None
        self.by_target: dict[str, float] = {}
        self.experts: float | None = None
        self.ignored: tuple[str, ...] = ()
        self._answers: dict[tuple[str, str], float | None] = {}
        found = section(config, text, hf_quant_config)
        if found is None:
            return
        self._read(found)
        if config.get("expert_dtype", found.get("expert_dtype")) == "fp4":
            self.experts = METHOD_BITS["mxfp4"]

    def _read(self, found: Mapping[str, Any]) -> None:
        algorithm = found.get("quant_algo")
        algorithm = algorithm.upper() if isinstance(algorithm, str) else ""
        method = str(found.get("quant_method") or "").lower().replace("_", "-")
        self.default = ALGORITHM_BITS.get(algorithm)
        if self.default is None and algorithm != "MIXED_PRECISION":
            self.default = METHOD_BITS.get(method) or METHOD_BITS.get(method.replace("-", "_"))
        if algorithm == "MIXED_PRECISION" and method == "fp8":
            self.default = METHOD_BITS["fp8"]
        bits = found.get("bits", found.get("w_bit"))
        if isinstance(bits, int) and not isinstance(bits, bool):
            size = found.get("group_size", found.get("q_group_size", 128))
            group = size if isinstance(size, int) and size > 0 else 0
            self.default = bits + ((16 + bits) / group if group else 0)
        groups = found.get("config_groups")
        for entry in groups.values() if isinstance(groups, Mapping) else ():
            self._group(entry)
        layers = found.get("quantized_layers")
        for name, entry in layers.items() if isinstance(layers, Mapping) else ():
            algo = entry.get("quant_algo") if isinstance(entry, Mapping) else None
            if isinstance(algo, str) and algo.upper() in ALGORITHM_BITS:
                self._target(name, ALGORITHM_BITS[algo.upper()])
        if not isinstance(layers, Mapping) and isinstance(found.get("moe_quant_algo"), str):
            self.experts = ALGORITHM_BITS.get(found["moe_quant_algo"].upper())
        for key in ("modules_to_not_convert", "ignore", "exclude_modules", "ignored_layers"):
            value = found.get(key)
            if isinstance(value, list):
                self.ignored = tuple(entry for entry in value if isinstance(entry, str))
                break

    def _group(self, entry: Any) -> None:
        weights = entry.get("weights") if isinstance(entry, Mapping) else None
        bits = group_bits(weights) if isinstance(weights, Mapping) else None
        if bits is None:
            return
        targets = entry.get("targets")
        for target in targets if isinstance(targets, list) and targets else ["Linear"]:
            if target == "Linear":
                self.default = bits
            elif isinstance(target, str):
                self._target(target, bits)

    def _target(self, name: str, bits: float) -> None:
        """Remember a module, and for one expert's matrix all experts of that layer."""
        short = _short(name)
        self.by_target[short] = bits
        layer, found, _ = short.partition(".experts.")
        if found and not name.startswith("re:"):
            self.by_target.setdefault(f"{layer}.experts", bits)

    def bits(self, module: str, *, expert: bool = False) -> float | None:
        """Bits of one weight of a linear module, None where it is not quantised."""
        if self.default is None and not self.by_target and self.experts is None:
            return None
        for target in _prefixes(module):
            if target in self.by_target:
                return self.by_target[target]
        for target, bits in self.by_target.items():
            if target.startswith("re:") and re.search(target[3:], module):
                return bits
        if any(_matches(entry, module) for entry in self.ignored):
            return None
        if expert and self.experts is not None:
            return self.experts
        return self.default


def _short(name: str) -> str:
    """A module's name from ``layers.`` on, or its last word."""
    if name.startswith("re:"):
        return name
    at = name.find("layers.")
    return name[at:] if at >= 0 else name.rpartition(".")[2]


def _prefixes(module: str) -> list[str]:
    words = module.split(".")
    return [".".join(words[:end]) for end in range(len(words), 0, -1)]


@cache
def _matches(entry: str, module: str) -> bool:
    if entry.startswith("re:"):
        return re.search(entry[3:], f"model.{module}") is not None
    at = entry.find("layers.")
    short = entry[at:] if at >= 0 else entry
    if "*" in short:
        return any(fnmatchcase(name, short) for name in (module, f"model.{module}")) or (
            at < 0 and fnmatchcase(module, f"*{short}")
        )
    return f".{short}." in f".{module}."
