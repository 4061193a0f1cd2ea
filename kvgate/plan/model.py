"""The plan: what the engine makes of a deployment; what check and the rules look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from kvgate.architecture.model import Architecture
from kvgate.attention.report import Report
from kvgate.attention.sglang.outcome import Outcome
from kvgate.catalog.engines import Release
from kvgate.catalog.gpus import Gpu
from kvgate.deployment.model import Deployment
from kvgate.kvcache.size import Sizing

__all__ = ["Plan", "Unknown"]

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something the plan couldn't settle, and the fact that it lacks, in words.

    ``what`` is one of ``version``, ``model``, ``gpu``, ``gates``, ``size``, or a setting's name.
    """

    what: str
    lacks: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A deployment after the engine's own defaults and silent rewrites.

    - ``release``: the catalogue's answer for the version; None for an engine without releases in
      it. ``arch`` and ``gpu``: None where not known.
    - ``settings``: the values given, by the engine's own names.
    - ``gates``: vLLM's verdict on each layer group; ``outcome``: SGLang's resolution. None where
      they couldn't be asked; ``unknown`` says why.
    - ``sizing``: both KV answers and the pool.
    - ``assumed``: what was taken for granted, in words; ``unknown``: what stays open.
    """

    deployment: Deployment
    release: Release | None = None
    arch: Architecture | None = None
    gpu: Gpu | None = None
    settings: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    gates: Report | None = None
    outcome: Outcome | None = None
    sizing: Sizing | None = None
    assumed: tuple[str, ...] = ()
    unknown: tuple[Unknown, ...] = ()

    @property
    def engine(self) -> str:
        """vllm, sglang, tensorrt-llm or llama.cpp."""
        return self.deployment.engine

    @property
    def tp(self) -> int:
        """Tensor-parallel ranks of one replica."""
        size = self.get("tensor_parallel_size") or self.get("tp_size")
        return size if isinstance(size, int) and size > 0 else 1

    def get(self, name: str, default: Any = None) -> Any:
        """A setting by the engine's own name; the default where it isn't given."""
        return self.settings.get(name, default)

    def given(self, name: str) -> bool:
        """Whether the deployment says that setting, readable or not."""
        return name in self.settings or self.deployment.last(name) is not None

    def lacks(self, what: str) -> str | None:
        """The fact that ``what`` lacks, or None when it's settled."""
        return next((u.lacks for u in self.unknown if u.what == what), None)

    def runs(self, engine: str) -> bool:
        """Whether the deployment starts this engine."""
        return self.engine == engine

    def since(self, version: str) -> bool:
        """Whether the engine's version, as asked, is this one or a later one."""
        from packaging.version import Version

        return self.release is not None and self.release.asked >= Version(version)
