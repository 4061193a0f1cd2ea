"""What backend selection says of a model: an answer per group of layers, and their sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["BackendVerdict", "Failure", "Group", "Report"]


@dataclass(frozen=True, slots=True)
class BackendVerdict:
    """One backend on one layer group: valid, or the engine's reasons in its order."""

    name: str
    valid: bool
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """A backend that is chosen and then fails: at which stage, with which text.

    ``stage`` is ``layer`` (while the model is built), ``kv-cache`` (once memory is measured) or
    ``request`` (at the first one). ``layers`` are the 0-based indices of those it fails for.
    ``certain`` is False for what is reported, not read in the code.
    """

    backend: str
    stage: Literal["layer", "kv-cache", "request"]
    text: str
    source: str
    certain: bool
    layers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Layers that get the same answer: ``layers`` are their 0-based indices.

    ``selected`` is the backend, None where ``error`` says why there is none. ``head_size`` is None
    for state layers, which no gate asks. ``kv_cache_dtype`` is what the layers store once the
    backend is chosen, ``flash_attention`` FLASH_ATTN's version, ``block_size`` the tokens
    of a block that the layers run with: the user's, or what the backend or the platform makes of
    it.
    """

    layers: tuple[int, ...]
    kind: str
    head_size: int | None
    backends: tuple[BackendVerdict, ...]
    selected: str | None
    error: str | None
    kv_cache_dtype: str | None = None
    flash_attention: int | None = None
    block_size: int | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """The whole model's answer.

    ``error`` is the engine's text at the first layer that has none, in layer order. ``then_fails``
    is what the selector takes and start-up or the first request refuses. ``warnings`` are the
    engine's, ``notes`` ours: which release answered, which model hook spoke.
    """

    engine: str
    gpu: str
    groups: tuple[Group, ...]
    error: str | None = None
    warnings: tuple[str, ...] = ()
    then_fails: tuple[Failure, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def selected(self) -> str | None:
        """The attention layers' backend, several joined by " + " in layer order; None on error."""
        if self.error is not None:
            return None
        names = [g.selected for g in self.groups if g.head_size is not None and g.selected]
        return " + ".join(dict.fromkeys(names)) or None

    def as_json(self) -> dict[str, Any]:
        """The documented form of ``kvgate backends --json``."""
        return {
            "schema_version": 1,
            "engine": self.engine,
            "gpu": self.gpu,
            "selected": self.selected,
            "error": self.error,
            "groups": [
                {
                    "layers": list(g.layers),
                    "kind": g.kind,
                    "head_size": g.head_size,
                    "selected": g.selected,
                    "kv_cache_dtype": g.kv_cache_dtype,
                    "flash_attention": g.flash_attention,
                    "block_size": g.block_size,
                    "backends": [
                        {"name": b.name, "valid": b.valid, "reasons": list(b.reasons)}
                        for b in g.backends
                    ],
                }
                for g in self.groups
            ],
            "then_fails": [
                {
                    "backend": f.backend,
                    "stage": f.stage,
                    "text": f.text,
                    "source": f.source,
                    "certain": f.certain,
                    "layers": list(f.layers),
                }
                for f in self.then_fails
            ],
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }
