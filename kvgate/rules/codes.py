"""The codes of findings that belong to no record: what the engine would say, pairs, waivers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["CODES"]

CODES: Mapping[str, str] = MappingProxyType(
    {
        "KV430": "the engine finds no attention backend for these settings",
        "KV431": "a backend is chosen, then fails",
        "KV432": "the KV cache does not fit",
        "KV433": "prefill and decode do not agree",
        "KV440": "a waiver has expired",
        "KV441": "a waiver accepted nothing",
    }
)
