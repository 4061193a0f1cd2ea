"""Attention kernel families and the exact set of compute capabilities each has code for."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from kvgate.catalog.gpus import Gpu, gpu
from kvgate.errors import InputError, nearest

__all__ = ["Kernel", "kernel", "kernels", "kernels_on"]


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel family. ``sm``, ``fp8_kv`` and ``paged_kv`` are compute capabilities, ``"9.0"``.

    ``fp8_kv`` and ``paged_kv`` are subsets of ``sm``: where it also reads an FP8 cache, and a
    paged one, which serving engines need.
    """

    id: str
    name: str
    built_on: str
    sm: tuple[str, ...]
    fp8_kv: tuple[str, ...]
    paged_kv: tuple[str, ...]
    head_dims: str
    note: str
    sources: tuple[str, ...]

    def runs_on(self, where: str | Gpu) -> bool:
        """Whether the family has code for this GPU. Raises InputError for an unknown GPU.

        >>> kernel("fa3").runs_on("H100"), kernel("fa3").runs_on("B200")
        (True, False)
        """
        return (where if isinstance(where, Gpu) else gpu(where)).capability in self.sm


@cache
def kernels() -> tuple[Kernel, ...]:
    """Every kernel family of the catalogue."""
    text = (files("kvgate.catalog") / "kernels.toml").read_text(encoding="utf-8")
    entries: list[dict[str, Any]] = tomllib.loads(text)["kernel"]
    return tuple(_kernel(entry) for entry in entries)


def kernel(name: str) -> Kernel:
    """The kernel family of that id. Raises InputError for an unknown one, with the nearest.

    Gives the capabilities it has code for. Source: the library and commit that it names.
    """
    for entry in kernels():
        if entry.id == name.casefold():
            return entry
    raise InputError(
        f"unknown kernel family {name!r}", hint=nearest(name, [k.id for k in kernels()])
    )


def kernels_on(where: str, *, paged: bool = True) -> tuple[str, ...]:
    """Ids of the families with code for this GPU; by default only those that read a paged cache.

    Gives names, in the catalogue's order. Source: the libraries and commits that they name.

    Raises InputError for an unknown GPU.

    >>> kernels_on("A100 80GB SXM")
    ('fa2', 'flashinfer-fa2')
    """
    at = gpu(where).capability
    return tuple(k.id for k in kernels() if at in (k.paged_kv if paged else k.sm))


def _kernel(entry: dict[str, Any]) -> Kernel:
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
    return Kernel(**fields)
