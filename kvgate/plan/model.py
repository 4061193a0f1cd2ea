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
from kvgate.errors import Diagnostic
from kvgate.kvcache.size import Sizing
from kvgate.plan.command import changed
from kvgate.plan.ranks import available

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
    - ``forced_backend``: the attention backend that a flag or the environment forces, upper case.
    - ``problems``: values that the engine refuses, each at its flag.
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
    forced_backend: str | None = None
    problems: tuple[Diagnostic, ...] = ()
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

    @property
    def most_tp(self) -> int | None:
        """The largest tensor-parallel size that the GPUs there allow; None where nothing says."""
        have = available(self.deployment)
        stages = self.get("pipeline_parallel_size") or self.get("pp_size")
        return have // stages if have and isinstance(stages, int) and stages > 0 else have or None

    def get(self, name: str, default: Any = None) -> Any:
        """A setting by the engine's own name; the default where it isn't given."""
        return self.settings.get(name, default)

    def given(self, name: str) -> bool:
        """Whether the deployment says that setting, readable or not."""
        return name in self.settings or self.deployment.last(name) is not None

    def lacks(self, what: str) -> str | None:
        """The fact that ``what`` lacks, or None when it's settled."""
        return next((u.lacks for u in self.unknown if u.what == what), None)

    @property
    def kv_cache_dtype(self) -> str:
        """The cache's dtype as asked for, ``auto`` where nobody asked."""
        return str(self.get("kv_cache_dtype") or "auto")

    @property
    def reads_fp8(self) -> bool:
        """Whether the cache is fp8, by the flag or by the checkpoint's own scheme."""
        if self.kv_cache_dtype != "auto":
            return self.kv_cache_dtype.startswith("fp8")
        return self.sizing is not None and self.sizing.needs.choice.format.name.startswith("fp8")

    @property
    def max_model_len(self) -> int | None:
        """The longest sequence asked for, else the model's own, in tokens."""
        if self.sizing is not None:
            return self.sizing.max_model_len
        return self.arch.max_position_embeddings if self.arch is not None else None

    def with_flag(self, flag: str, value: str) -> str:
        """The command line with this flag set; for a manifest, the flag alone."""
        return changed(self.deployment, {flag: value})

    def without_flag(self, flag: str) -> str:
        """The command line without this flag; for a manifest, that it is to be left out."""
        return changed(self.deployment, {flag: None})

    def with_flags(self, flags: Mapping[str, str | None]) -> str:
        """The command line with each of these flags set, or left out where its value is None."""
        return changed(self.deployment, flags)

    def runs(self, engine: str) -> bool:
        """Whether the deployment starts this engine."""
        return self.engine == engine

    def since(self, version: str) -> bool:
        """Whether the engine's version, as asked, is this one or a later one."""
        from packaging.version import Version

        return self.release is not None and self.release.asked >= Version(version)
