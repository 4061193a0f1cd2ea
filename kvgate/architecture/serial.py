"""An `Architecture` as compact JSON, and back: the catalogue's own format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from kvgate.architecture.layers import (
    MLA,
    Attention,
    CompressedAttention,
    GatedDeltaNet,
    Indexer,
    KimiDelta,
    Layer,
    LayerGroup,
    Lightning,
    Mamba1,
    Mamba2,
    NoCache,
    ShortConv,
    StreamConv,
)
from kvgate.architecture.model import Architecture, Draft, Quantization
from kvgate.architecture.parts import Part

__all__ = ["dump", "load"]

_CLASSES: dict[str, type[Any]] = {
    "full": Attention, "sliding": Attention, "chunked": Attention, "cross": Attention,
    "mla": MLA, "compressed": CompressedAttention, "gdn": GatedDeltaNet, "mamba2": Mamba2,
    "mamba1": Mamba1, "kda": KimiDelta, "lightning": Lightning, "short_conv": ShortConv,
    "stream_conv": StreamConv,
    "none": NoCache,
}  # fmt: skip


def dump(architecture: Architecture) -> dict[str, Any]:
    """Plain values only; what equals the default is left out."""
    out = _values(architecture, skip=("groups", "draft", "quantization", "rope", "parts"))
    out["groups"] = [_group(group) for group in architecture.groups]
    if architecture.draft:
        groups = [_group(group) for group in architecture.draft.groups]
        out["draft"] = {"kind": architecture.draft.kind, "groups": groups}
    if architecture.quantization:
        out["quantization"] = _values(architecture.quantization)
    if architecture.rope:
        out["rope"] = dict(architecture.rope)
    if architecture.parts:
        out["parts"] = [_part(part) for part in architecture.parts]
    return out


def load(data: Mapping[str, Any]) -> Architecture:
    """The inverse of `dump`."""
    known = {f.name for f in fields(Architecture)}
    values = {key: _tuple(value) for key, value in data.items() if key in known}
    values["groups"] = tuple(_read_group(group) for group in data["groups"])
    if "draft" in data:
        groups = tuple(_read_group(group) for group in data["draft"]["groups"])
        values["draft"] = Draft(data["draft"]["kind"], groups)
    if "quantization" in data:
        section = {key: _tuple(value) for key, value in data["quantization"].items()}
        values["quantization"] = Quantization(**section)
    if "rope" in data:
        values["rope"] = tuple(data["rope"].items())
    if "parts" in data:
        values["parts"] = tuple(_read_part(part) for part in data["parts"])
    return Architecture(**values)


def _group(group: LayerGroup) -> dict[str, Any]:
    values = _values(group.layer, skip=("indexer",))
    indexer = getattr(group.layer, "indexer", None)
    if indexer is not None:
        values["indexer"] = _values(indexer)
    return {
        "kind": group.layer.kind,
        **values,
        "layers": _runs(group.indices),
        "because": list(group.because),
    }


def _read_group(data: Mapping[str, Any]) -> LayerGroup:
    values = {key: value for key, value in data.items() if key not in ("layers", "because")}
    kind = _CLASSES[data["kind"]]
    if kind is not Attention:
        del values["kind"]
    if "indexer" in values:
        values["indexer"] = Indexer(**values["indexer"])
    layer: Layer = kind(**values)
    return LayerGroup(layer, _indices(data["layers"]), tuple(data["because"]))


def _part(part: Part) -> list[Any]:
    """Role, parameters in each layer, the layers, split, heads, bits, and whether it is linear."""
    return [
        part.role,
        part.each,
        _runs(part.layers),
        part.split,
        part.heads,
        part.bits,
        part.linear,
    ]


def _read_part(row: Sequence[Any]) -> Part:
    role, each, layers, split, heads, bits, linear = row
    return Part(role, each, _indices(layers) if layers else (), split, heads, bits, linear)


def _values(value: Any, skip: Sequence[str] = ()) -> dict[str, Any]:
    out = {}
    for entry in fields(value):
        held = getattr(value, entry.name)
        if entry.name in skip or (entry.default is not MISSING and held == entry.default):
            continue
        out[entry.name] = list(held) if isinstance(held, tuple) else held
    return out


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _runs(indices: Sequence[int]) -> str:
    """Ascending indices as ``first-last/step`` runs: 3, 7, 11 is ``3-11/4``.

    Layers that stand in it several times follow with ``x`` and how often: ``0-23x4``.
    """
    often = Counter(indices)
    parts: list[str] = []
    for times in sorted(set(often.values())):
        runs = _once([index for index, count in often.items() if count == times])
        parts.extend(f"{run}x{times}" if times > 1 else run for run in runs)
    return ",".join(parts)


def _once(indices: Sequence[int]) -> list[str]:
    parts: list[str] = []
    rest = list(indices)
    while rest:
        if len(rest) == 1:
            parts.append(str(rest[0]))
            break
        step, length = rest[1] - rest[0], 2
        while length < len(rest) and rest[length] - rest[length - 1] == step:
            length += 1
        if length == 2 and step != 1:
            parts.append(str(rest.pop(0)))
            continue
        parts.append(f"{rest[0]}-{rest[length - 1]}" + (f"/{step}" if step != 1 else ""))
        rest = rest[length:]
    return parts


def _indices(runs: str) -> tuple[int, ...]:
    out: list[int] = []
    for part in runs.split(","):
        run, _, times = part.partition("x")
        span, _, step = run.partition("/")
        first, _, last = span.partition("-")
        out.extend(
            list(range(int(first), int(last or first) + 1, int(step or 1))) * int(times or 1)
        )
    return tuple(sorted(out))
