"""vLLM on AMD devices: which catalogue entry answers, and what is known of them.

The entries are in ``engines/vllm/rocm``, for the releases that were asked under a made-up ROCm
device; what an older one does there is unknown.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from packaging.version import Version

from kvgate.catalog.engines import Release
from kvgate.errors import InputError

__all__ = ["CAPABILITY", "FP8", "rocm_entry", "rocm_version"]

# gfx name -> the compute capability vLLM's platform gives it.
CAPABILITY = {"gfx942": (9, 4), "gfx950": (9, 5)}

# The bytes behind the one name fp8: MI300X's format has another bias than OCP's, and no -0.
FP8 = {"gfx942": "e4m3fnuz", "gfx950": "e4m3fn (OCP)"}


@cache
def _held() -> dict[Version, Traversable]:
    folder = files("kvgate.catalog") / "engines" / "vllm" / "rocm"
    found = folder.iterdir() if folder.is_dir() else ()
    entries = {Version(path.name.removesuffix(".json")): path for path in found}
    return dict(sorted(entries.items()))


def rocm_version(found: Release) -> tuple[Version, str]:
    """The release that answers on AMD devices, and a note where it is not the one asked about.

    Raises InputError where none asked under ROCm is old enough.
    """
    older = [v for v in _held() if v <= found.asked or v.release == found.asked.release]
    if not older:
        raise InputError(
            f"what vllm {found.asked} does on ROCm is unknown",
            hint=f"asked so far: {', '.join(map(str, _held())) or 'no release'}",
        )
    if older[-1].release == found.asked.release:
        return older[-1], ""
    return older[-1], f"vllm {found.asked} was not asked under ROCm; answered from {older[-1]}"


@cache
def rocm_entry(version: Version) -> dict[str, Any]:
    """The catalogue entry of a release that was asked under ROCm, as the script wrote it."""
    entry: dict[str, Any] = json.loads(_held()[version].read_text(encoding="utf-8"))
    return entry
