"""GPUs: exact compute capability and the memory their driver reports, from ``gpus.toml``."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

from kvgate.catalog.resource import read
from kvgate.errors import InputError, nearest
from kvgate.units import MiB

__all__ = ["Gpu", "gpu", "gpus"]

_SIZED = re.compile(r"(.+?)[\s_-]*(\d{1,3})\s?GB", re.IGNORECASE)
# sm_120, SM90, 9.0
_CAPABILITY = re.compile(r"sm[ _]?(\d{1,2})\.?(\d)[af]?|(\d{1,2})\.(\d)")
_COUNTED = re.compile(r"^\d{1,3}\s?[x*×]|[x*×:]\s?\d{1,3}$", re.IGNORECASE)
# A driver reports a little less (or more) than the size that the card is sold by.
_SOLD = 0.1


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU model.

    ``sm`` is CUDA's compute capability as (major, minor), None for AMD, whose ``arch`` is the gfx
    name. ``memory_mib`` is the driver's total in MiB; ``bandwidth_gb_s`` the peak in 1e9 bytes
    a second, None where no source gave it. ``fp8`` and ``fp4``: tensor cores compute in it.
    """

    name: str
    vendor: str
    sm: tuple[int, int] | None
    arch: str
    memory_mib: int
    bandwidth_gb_s: float | None
    fp8: bool
    fp4: bool
    aliases: tuple[str, ...]
    sources: tuple[str, ...]
    note: str = ""

    @property
    def memory_bytes(self) -> int:
        """The driver's total, in bytes."""
        return self.memory_mib * MiB

    @property
    def capability(self) -> str:
        """``9.0`` for CUDA, ``gfx942`` for ROCm."""
        return f"{self.sm[0]}.{self.sm[1]}" if self.sm else self.arch


@cache
def gpus() -> tuple[Gpu, ...]:
    """Every GPU of the catalogue, in its order (by compute capability)."""
    return tuple(_gpu(entry) for entry in _file()["gpu"])


@cache
def gpu(name: str) -> Gpu:
    """The GPU of that name or alias; case, spaces, dashes and vendor words don't matter.

    Gives memory in MiB as the driver reports it, bandwidth in 1e9 bytes a second and the exact
    compute capability. Source: what its entry names.

    Raises InputError when nothing fits (with the nearest names) or when several do (naming them).

    >>> gpu("NVIDIA H100 80GB HBM3").sm
    (9, 0)
    >>> gpu("rtx4090").capability
    '8.9'
    """
    asked = _fold(name)
    found = _index().get(asked)
    if found:
        return found
    several = {_fold(key): names for key, names in _file()["ambiguous"].items()}.get(asked)
    if several:
        raise InputError(f"{name!r} names several GPUs", hint=f"say which: {', '.join(several)}")
    sized = _with_its_size(name)
    if sized:
        return sized
    if _COUNTED.search(name.strip()):
        raise InputError(
            f"{name!r} counts GPUs", hint="name one of them; how many there are is --tp, --pp …"
        )
    if said := _CAPABILITY.fullmatch(name.strip().casefold()):
        of = f"{said[1] or said[3]}.{said[2] or said[4]}"
        cards = [g.name for g in gpus() if g.capability == of]
        raise InputError(
            f"{name!r} is a compute capability, not a GPU",
            hint=f"name one that has it: {', '.join(cards[:6])}" if cards else "",
        )
    raise InputError(f"unknown GPU {name!r}", hint=nearest(name, [g.name for g in gpus()]))


def _with_its_size(name: str) -> Gpu | None:
    """``A40-48GB``: a card with the size that it is sold by, where that is the card's own."""
    found = _SIZED.fullmatch(name.strip())
    card = _index().get(_fold(found.group(1))) if found else None
    if found is None or card is None:
        return None
    sold = int(found.group(2))
    return card if abs(card.memory_mib / 1024 - sold) < _SOLD * sold else None


def _fold(name: str) -> str:
    words = re.sub(r"\b(nvidia|amd|geforce|tesla|instinct)\b", " ", name.casefold())
    return re.sub(r"[\s_\-()]+", "", words)


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads(read("gpus.toml"))


@cache
def _index() -> dict[str, Gpu]:
    index: dict[str, Gpu] = {}
    for entry in gpus():
        for name in (entry.name, *entry.aliases):
            index.setdefault(_fold(name), entry)
    return index


def _gpu(entry: dict[str, Any]) -> Gpu:
    sm = entry.get("sm")
    return Gpu(
        name=entry["name"],
        vendor=entry["vendor"],
        sm=(sm[0], sm[1]) if sm else None,
        arch=entry.get("arch", f"sm_{sm[0]}{sm[1]}" if sm else ""),
        memory_mib=entry["memory_mib"],
        bandwidth_gb_s=entry.get("bandwidth_gb_s"),
        fp8=entry["fp8"],
        fp4=entry["fp4"],
        aliases=tuple(entry["aliases"]),
        sources=tuple(entry["sources"]),
        note=entry.get("note", ""),
    )
