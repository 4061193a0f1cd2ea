"""What vLLM's settings ask of its attention backends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvgate.architecture.model import Architecture
from kvgate.attention import backends
from kvgate.attention.report import Report
from kvgate.catalog.engines import Release
from kvgate.catalog.gpus import Gpu
from kvgate.plan.transfer import connectors
from kvgate.plan.values import count, text, words

__all__ = ["gates_of"]


def gates_of(
    arch: Architecture, gpu: Gpu, release: Release, settings: Mapping[str, Any], forced: str | None
) -> Report:
    """The release's verdict on each layer with these settings; ``forced`` is the named backend.

    Raises InputError where the release has no such setting, or can't be asked.
    """
    get = settings.get
    text_only = bool(get("language_model_only")) or _no_images(get("limit_mm_per_prompt"))
    return backends(
        arch, gpu=gpu, engine=str(release), force=forced,
        block_size=count(settings, "block_size"),
        tp=count(settings, "tensor_parallel_size") or 1,
        dcp=count(settings, "decode_context_parallel_size") or 1,
        pcp=count(settings, "prefill_context_parallel_size") or 1,
        text_only=text_only, kv_cache_dtype=text(get("kv_cache_dtype")),
        dtype=text(get("dtype")), skip_layers=words(get("kv_cache_dtype_skip_layers")),
        kv_connector=bool(connectors(settings, release.asked)),
    )  # fmt: skip


def _no_images(limits: Any) -> bool:
    return isinstance(limits, dict) and bool(limits) and all(v == 0 for v in limits.values())
