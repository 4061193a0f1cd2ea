"""Engine releases: which ones the catalogue holds, and which one answers for a version.

A release is an entry ``engines/<engine>/<version>.json``, written by a program in ``scripts/``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from packaging.version import Version

from kvgate.catalog.resource import read
from kvgate.errors import InputError, nearest

__all__ = ["ENGINES", "Release", "release", "releases"]

ENGINES = ("vllm", "sglang", "llama.cpp", "tensorrt-llm")
_ALIASES = {
    "trtllm": "tensorrt-llm",
    "trt-llm": "tensorrt-llm",
    "llamacpp": "llama.cpp",
    "llama-cpp": "llama.cpp",
}


@dataclass(frozen=True, slots=True)
class Release:
    """The engine version asked about, and the catalogue entry that answers for it.

    ``read`` is None where the catalogue holds no release of this engine. ``note`` says in words
    when ``read`` is not ``asked``, and is empty when it is.
    """

    engine: str
    asked: Version
    read: Version | None
    note: str

    def __str__(self) -> str:
        return f"{self.engine}=={self.asked}"

    def data(self) -> dict[str, Any]:
        """The catalogue entry, as the script wrote it. Raises InputError where there is none."""
        if self.read is None:
            raise InputError(self.note)
        return _entry(self.engine, str(self.read))


@cache
def releases(engine: str) -> tuple[Version, ...]:
    """The versions of one engine that the catalogue holds, oldest first; none for some engines.

    Gives versions. Source: one file of the catalogue for each release that was read.

    Raises InputError for an unknown engine.
    """
    if engine not in ENGINES:
        raise InputError(f"unknown engine {engine!r}", hint=nearest(engine, ENGINES))
    # Imported here, where a folder is listed: it takes longer than reading a file.
    from importlib.resources import files

    folder = files("kvgate.catalog") / "engines" / engine
    if not folder.is_dir():
        return ()
    names = (entry.name for entry in folder.iterdir() if entry.name.endswith(".json"))
    return tuple(sorted(Version(name.removesuffix(".json")) for name in names))


@cache
def release(spec: str) -> Release:
    """The release for ``vllm==0.33.0``; a bare ``vllm`` means the newest one in the catalogue.

    A version between two entries is answered by the nearest older one, and a version newer than all
    by the newest; the note says so. Raises InputError for an unknown engine or an unreadable
    version, and for a version older than the oldest entry.

    >>> release("vllm==0.33.0").note
    ''
    """
    name, equal, version = spec.partition("==")
    name = name.strip().casefold()
    name = _ALIASES.get(name, name)
    if name not in ENGINES:
        known = _ALIASES.get(bare := re.split(r"[^a-z.-]", name)[0], bare)
        if known in ENGINES and not equal:
            raise InputError(f"{spec!r} is not one version of an engine", hint=_write(known))
        raise InputError(f"unknown engine {name!r}", hint=nearest(name, ENGINES))
    held = releases(name)
    if not version.strip():
        if "=" in spec or "<" in spec or ">" in spec:
            raise InputError(f"{spec!r} is not one version of an engine", hint=_write(name))
        if not held:
            return Release(name, Version("0"), None, f"the catalogue holds no release of {name}")
        return Release(name, held[-1], held[-1], "")
    try:
        # llama.cpp's versions are build numbers, b7539.
        build = name == "llama.cpp" and version.strip().startswith("b")
        asked = Version(version.strip()[1:] if build else version.strip())
    except ValueError:  # no version, or a number of more digits than Python reads
        raise InputError(
            f"{version.strip()!r} is not a version of {name}",
            hint=nearest(version.strip(), map(str, reversed(held))) if held else "",
        ) from None
    if not held:
        return Release(name, asked, None, f"the catalogue holds no release of {name}")
    # A build's local part (0.19.0+cu130) and its pre-release part don't move a gate by themselves.
    base = Version(asked.base_version)
    older = [v for v in held if v <= asked or v == base]
    if not older:
        raise InputError(
            f"{name} {asked} is older than the oldest release in the catalogue, {held[0]}",
            hint="kvgate does not guess backwards",
        )
    read = older[-1]
    if read == base:
        note = ""
        if asked.is_prerelease:
            note = f"{asked.public} is no final release; answered from {read}"
        elif asked.is_postrelease:
            note = f"{name} {asked.public} is not in the catalogue; answered from {read}"
        return Release(name, asked, read, note)
    why = (
        "is newer than the newest release in the catalogue"
        if read == held[-1]
        else "is not in the catalogue"
    )
    return Release(name, asked, read, f"{name} {asked} {why}; answered from {read}")


def _write(name: str) -> str:
    held = releases(name)
    return f"write {name}=={held[-1]}" if held else f"write {name}==VERSION"


@cache
def _entry(engine: str, version: str) -> dict[str, Any]:
    entry: dict[str, Any] = json.loads(read("engines", engine, f"{version}.json"))
    return entry
