"""What SGLang makes of a question: backends, page, KV dtype, warnings, or where it stops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["STAGES", "Later", "Note", "Outcome", "RefusedError", "Stage"]

Stage = Literal["argparse", "resolve", "check", "kv_dtype", "registry"]
STAGES: dict[Stage, str] = {
    "argparse": "at once, when the command line is parsed",
    "resolve": "within seconds, while the arguments are resolved, before the weights are loaded",
    "check": "within seconds, when the arguments are checked, before the weights are loaded",
    "kv_dtype": "after the weights are loaded, when the KV dtype is configured",
    "registry": "after the weights are loaded and the KV pool is allocated",
}


class RefusedError(Exception):
    """SGLang stops: the exception's class name and text, and the stage."""

    def __init__(self, text: str, stage: Stage) -> None:
        super().__init__(text)
        self.text = text
        self.stage = stage


@dataclass(frozen=True, slots=True)
class Note:
    """A setting that SGLang changed by itself: from what to what, and whether it says so."""

    setting: str
    asked: object
    became: object
    said: bool
    why: str

    def __str__(self) -> str:
        how = "with a warning" if self.said else "without a word"
        return f"{self.setting}: {self.asked} becomes {self.became}, {how} ({self.why})"


@dataclass(frozen=True, slots=True)
class Later:
    """A backend that every gate lets through and that can't be built: its name, the text."""

    backend: str
    text: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """How SGLang ends up for one model, GPU and set of options.

    ``error`` is the exception as SGLang prints it (class name, colon, text) and ``stage`` where it
    is raised; then the settings are None. ``kv_dtype`` is the resolved ``--kv-cache-dtype``, and
    ``kv_torch`` the element type that the pool gets. ``graph`` is the CUDA graph backend of decode
    and prefill, None in releases without such a choice. ``sparse`` are the DSA kernels of prefill
    and decode. ``then_fails`` are backends that were chosen and can't be built, after the weights
    are loaded and the pool is allocated. ``unknown`` lists what could not be told, and what it
    would take.
    """

    prefill: str | None = None
    decode: str | None = None
    page_size: int | None = None
    kv_dtype: str | None = None
    kv_torch: str | None = None
    graph: tuple[str, str] | None = None
    sparse: tuple[str, str] | None = None
    mamba_strategy: str | None = None
    linear_decode: str | None = None
    draft: str | None = None
    moe_runner: str | None = None
    nvfp4_prefill: str | None = None
    hybrid_swa_off: bool = False
    overlap_off: bool = False
    radix_off: bool = False
    warnings: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    error: str | None = None
    stage: Stage | None = None
    unknown: tuple[str, ...] = ()
    then_fails: tuple[Later, ...] = ()

    @property
    def selected(self) -> str | None:
        """The backend; ``prefill=fa3, decode=flashinfer`` where they differ; None where refused."""
        if self.prefill is None or self.prefill == self.decode:
            return self.prefill
        return f"prefill={self.prefill}, decode={self.decode}"

    @property
    def when(self) -> str:
        """When it stops, in words; empty where it starts."""
        return STAGES[self.stage] if self.stage else ""
