"""A plan in the making."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kvgate.architecture.model import Architecture
from kvgate.attention.report import Report
from kvgate.attention.sglang.outcome import Outcome
from kvgate.catalog.engines import Release
from kvgate.catalog.gpus import Gpu
from kvgate.deployment.model import Deployment
from kvgate.errors import Diagnostic, InputError
from kvgate.kvcache.size import Sizing
from kvgate.plan.model import Unknown

__all__ = ["Draft"]


@dataclass(slots=True)
class Draft:
    """A plan in the making: each engine's module adds what it finds."""

    deployment: Deployment
    release: Release | None
    arch: Architecture | None
    gpu: Gpu | None
    settings: dict[str, Any]
    gates: Report | None = None
    outcome: Outcome | None = None
    sizing: Sizing | None = None
    forced_backend: str | None = None
    problems: list[Diagnostic] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    unknown: list[Unknown] = field(default_factory=list)

    def lack(self, what: str, lacks: str) -> None:
        """Note that ``what`` stays open for want of ``lacks``."""
        self.unknown.append(Unknown(what, lacks))

    def attempt(self, what: str, ask: Callable[[], Any]) -> Any:
        """What ``ask`` gives; where it refuses, None, and its reason as the fact that's lacking."""
        try:
            return ask()
        except InputError as error:
            self.lack(what, f"{error.message}{f' ({error.hint})' if error.hint else ''}")
            return None
