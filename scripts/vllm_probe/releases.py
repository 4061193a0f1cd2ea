"""Open a release under a made-up device: its registry, selector, order and FlashAttention rule.

Runs in the release's own environment. The places of these moved between releases; this module is
the one that knows where they are.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from scripts.vllm_probe.fakes import ROCM, fake_cuda, fake_rocm

__all__ = ["Release", "open_release"]


@dataclass
class Release:
    """What the rest of the probe asks of an opened release."""

    enum: Any
    selector_fields: tuple[str, ...]
    capability: Any
    platform: Any
    priorities: Callable[..., Any]
    fa_version: Callable[..., Any]
    config_module: Any
    invariant: bool = False

    @contextlib.contextmanager
    def configured(self, config: SimpleNamespace, row: dict[str, Any]) -> Iterator[None]:
        """Make this the engine's current configuration."""
        before = self.config_module._current_vllm_config
        self.config_module._current_vllm_config = config
        invariant = bool(row.get("batch_inv"))
        if invariant != self.invariant:
            set_invariance(invariant)
            self.invariant = invariant
        try:
            yield
        finally:
            self.config_module._current_vllm_config = before


def first(*places: str) -> Any:
    """The first of ``module:name`` that exists."""
    problem: Exception | None = None
    for place in places:
        module, _, name = place.partition(":")
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            problem = error
    raise LookupError(f"none of {places} is there: {problem}")


_caches: tuple[int, list[Any]] = (0, [])


def set_invariance(wanted: bool) -> None:
    """Switch batch invariance, as the environment would have before the engine started."""
    os.environ["VLLM_BATCH_INVARIANT"] = str(int(wanted))
    # Up to 0.18 a module reads the environment once, when it is imported.
    module = sys.modules.get("vllm.model_executor.layers.batch_invariant")
    if hasattr(module, "VLLM_BATCH_INVARIANT"):
        module.VLLM_BATCH_INVARIANT = wanted  # type: ignore[union-attr]
    clear_caches()


def clear_caches() -> None:
    """Empty every cache of vLLM's own functions: some depend on settings."""
    global _caches
    if _caches[0] != len(sys.modules):  # a scan is slow, and only an import brings new caches
        found = [
            thing
            for thing in gc.get_objects()
            if type(thing).__name__ == "_lru_cache_wrapper"
            and str(getattr(thing, "__module__", "")).startswith("vllm.")
        ]
        _caches = (len(sys.modules), found)
    for cached in _caches[1]:
        cached.cache_clear()


def open_release(device: str, kernels: str = "none") -> Release:
    """The release on ``sys.path``, on a device: ``9.0`` (CUDA) or ``gfx942`` (ROCm)."""
    if device in ROCM:
        platform, kind = fake_rocm(device, kernels), "rocm"
    else:
        major, minor = device.split(".")
        platform, kind = fake_cuda((int(major), int(minor))), "cuda"
    enum = first(
        "vllm.v1.attention.backends.registry:AttentionBackendEnum",
        "vllm.attention.backends.registry:AttentionBackendEnum",
    )
    selector = first(
        "vllm.v1.attention.selector:AttentionSelectorConfig",
        "vllm.attention.selector:AttentionSelectorConfig",
    )
    config_module = None
    for name in ("vllm.config.vllm", "vllm.config"):
        with contextlib.suppress(ImportError):
            module = importlib.import_module(name)
            if hasattr(module, "_current_vllm_config"):
                config_module = module
                break
    if config_module is None:
        raise LookupError("vLLM's current configuration is nowhere known")
    return Release(
        enum=enum,
        selector_fields=tuple(selector._fields),
        capability=platform.get_device_capability(),
        platform=platform,
        priorities=first(f"vllm.platforms.{kind}:_get_backend_priorities"),
        fa_version=first(
            "vllm.v1.attention.backends.fa_utils:get_flash_attn_version",
            "vllm.attention.utils.fa_utils:get_flash_attn_version",
        ),
        config_module=config_module,
    )
