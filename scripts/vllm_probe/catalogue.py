"""Put the answers of all devices together into one catalogue entry, and write it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scripts.vllm_probe.rows import OTHER_PLATFORMS

__all__ = ["entry", "rocm_entry", "write"]


def entry(
    version: str, devices: Mapping[str, Any], flags: Any, asked_with: Mapping[str, str]
) -> dict[str, Any]:
    """The catalogue entry of one release. ``devices`` maps ``9.0`` to what was asked there."""
    release = next(iter(devices.values()))["release"]
    answers = {sm: answer["device"] for sm, answer in devices.items()}
    names = [n for n, cls in release["members"].items() if cls]
    backends = {}
    for name in names:
        facets: dict[str, Any] = {}
        first = next(iter(answers.values()))["backends"][name]
        for facet in first:
            facets[facet] = _by_device(
                {sm: a["backends"][name].get(facet) for sm, a in answers.items()}
            )
        backends[name] = _short(facets)
    return {
        "schema_version": 1,
        "engine": "vllm",
        "version": version,
        "source": f"the Python files of the vllm {version} wheel, "
        "imported under a made-up CUDA device",
        "asked_with": dict(asked_with),
        "devices": list(answers),
        "selector_fields": release["selector_fields"],
        "kv_cache_dtypes": release["kv_cache_dtypes"],
        "quantized": release["quantized"],
        "block_size_choices": release["block_size_choices"],
        "checks": release["checks"],
        "members": release["members"],
        "failures": {
            name: why
            for name, why in release["failures"].items()
            if not name.startswith(OTHER_PLATFORMS)  # their texts tell of this machine
        },
        "flash_attention": {
            "default": _by_device(
                {sm: a["flash_attention"]["default"] for sm, a in answers.items()}
            ),
            "supported": _by_device(
                {sm: a["flash_attention"]["supported"] for sm, a in answers.items()}
            ),
        },
        "priorities": {
            "heads": _by_device({sm: a["priorities"]["heads"] for sm, a in answers.items()}),
            "order": _by_device({sm: a["priorities"]["order"] for sm, a in answers.items()}),
        },
        "backends": backends,
        "flags": flags,
    }


def rocm_entry(
    version: str, asked: Mapping[tuple[str, str], Any], asked_with: Mapping[str, str]
) -> dict[str, Any]:
    """The entry for ROCm. ``asked`` maps (gfx name, aiter setting) to what was asked there."""
    release = next(iter(asked.values()))["release"]
    told = {key: answer["device"]["backends"] for key, answer in asked.items()}
    facets: dict[str, dict[str, Any]] = {}
    for backends in told.values():
        for name, cells in backends.items():
            for facet in cells:
                values = {key: found.get(name, {}).get(facet) for key, found in told.items()}
                facets.setdefault(name, {})[facet] = _by_arch(values)
    members = {
        name: next(filter(None, (a["release"]["members"][name] for a in asked.values())), None)
        for name in release["members"]
    }
    return {
        "schema_version": 1,
        "engine": "vllm",
        "platform": "rocm",
        "version": version,
        "source": f"the Python files of the vllm {version} wheel, "
        "imported under a made-up ROCm device",
        "asked_with": dict(asked_with),
        "devices": list(dict.fromkeys(arch for arch, _ in asked)),
        **{name: release[name] for name in _SHARED},
        "members": members,
        "failures": {},
        "flash_attention": {"default": None, "supported": []},
        "priorities": {
            "heads": [],
            "order": _by_arch({key: a["device"]["order"] for key, a in asked.items()}),
        },
        "backends": {name: _short(cells) for name, cells in facets.items()},
    }


_SHARED = (
    "selector_fields", "kv_cache_dtypes", "quantized", "block_size_choices", "checks",
)  # fmt: skip


def _by_arch(values: Mapping[tuple[str, str], Any]) -> Any:
    """By gfx name, and within it by whether AMD's kernel package is there and used."""
    archs: dict[str, dict[str, Any]] = {}
    for (arch, kernels), value in values.items():
        archs.setdefault(arch, {})[kernels] = value
    return _by_device({arch: _by(cells, "aiter") for arch, cells in archs.items()})


def _by_device(values: Mapping[str, Any]) -> Any:
    """One value where all devices agree, else a table by compute capability or gfx name."""
    return _by(values, "sm")


def _by(values: Mapping[str, Any], name: str) -> Any:
    written = {sm: json.dumps(value, sort_keys=True) for sm, value in values.items()}
    (common, count), *_ = Counter(written.values()).most_common(1)
    if count == len(written):
        return json.loads(common)
    at: dict[str, Any] = {"*": json.loads(common)}
    at.update({sm: values[sm] for sm in values if written[sm] != common})
    return {"by": [name], "at": at}


def _short(facets: dict[str, Any]) -> dict[str, Any]:
    """Plain yes-or-no facets as lists of names; what couldn't be asked is named as unknown."""
    out: dict[str, Any] = {
        "yes": sorted(f for f, v in facets.items() if v is True),
        "no": sorted(f for f, v in facets.items() if v is False),
        "unknown": sorted(f for f, v in facets.items() if v is None),
    }
    if not out["unknown"]:
        del out["unknown"]
    out.update(
        {f: v for f, v in sorted(facets.items()) if v is not None and not isinstance(v, bool)}
    )
    return out


def write(data: dict[str, Any], path: Path) -> None:
    """JSON with one fact a line, so that two releases can be compared with ``diff``."""
    path.write_text(_json(data, 0) + "\n", encoding="utf-8")


_OPEN = {"flash_attention", "priorities", "backends", "members", "failures", "flags", "checks"}


def _json(value: Any, depth: int, key: str = "") -> str:
    inner = " " * (depth + 1)
    spread = depth == 0 or (depth == 1 and key in _OPEN) or (depth == 2 and key == "backends")
    if not spread or not value:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    if isinstance(value, dict):
        parts = (
            f"{inner}{json.dumps(k)}: {_json(v, depth + 1, key if depth else k)}"
            for k, v in value.items()
        )
        return "{\n" + ",\n".join(parts) + "\n" + " " * depth + "}"
    parts = (f"{inner}{_json(v, depth + 1, key)}" for v in value)
    return "[\n" + ",\n".join(parts) + "\n" + " " * depth + "]"
