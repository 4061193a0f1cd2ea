"""Values that vLLM refuses when it builds its configuration, each at the flag that gave it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from kvgate.catalog.engines import Release
from kvgate.deployment.model import Deployment
from kvgate.errors import Diagnostic, nearest

__all__ = ["count", "refused_values", "share", "text", "words"]

REFUSED = "KV434"

# Settings that are counted from 1 (vllm 0.33.0, the field bounds of its config classes).
_COUNTS = (
    "tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size",
    "decode_context_parallel_size", "prefill_context_parallel_size", "block_size",
    "max_num_batched_tokens", "max_num_seqs",
)  # fmt: skip


def count(settings: Mapping[str, Any], name: str) -> int | None:
    """A setting that is counted from 1; None where it isn't given or is no such number."""
    value = settings.get(name)
    return value if type(value) is int and value > 0 else None


def share(settings: Mapping[str, Any], name: str) -> float | None:
    """A share of 1; None where it isn't given or is none."""
    value = settings.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and 0 < value <= 1 else None


def text(value: Any) -> str:
    """A setting of one word; ``auto`` where it isn't given."""
    return value if isinstance(value, str) and value else "auto"


def words(value: Any) -> tuple[str, ...]:
    """A setting of several words, as the reader gives it: one of them, or a list."""
    if isinstance(value, (list, tuple)):
        return tuple(str(one) for one in value)
    return () if value is None else (str(value),)


def refused_values(deployment: Deployment, release: Release | None) -> Iterator[Diagnostic]:
    """What is out of range or unknown among the values that vLLM itself checks."""
    for name in _COUNTS:
        value = deployment.flags.get(name)
        if type(value) in (int, float) and count(deployment.flags, name) is None:
            yield _refused(deployment, name, value, "it is counted from 1")
    length = deployment.flags.get("max_model_len")
    if type(length) is int and (length < -1 or length == 0):
        yield _refused(deployment, "max_model_len", length, "write a length, or -1 or auto")
    name = "gpu_memory_utilization"
    value = deployment.flags.get(name)
    if type(value) in (int, float) and share(deployment.flags, name) is None:
        yield _refused(deployment, name, value, "it is a share of 1, such as 0.9")
    if release is None or release.read is None:
        return
    known = release.data()
    for name, words in (
        ("kv_cache_dtype", known.get("kv_cache_dtypes")),
        ("attention_backend", [*(known.get("members") or ()), "auto"]),
    ):
        value = deployment.flags.get(name)
        folded = {str(w).casefold() for w in words or ()}
        if isinstance(value, str) and folded and value.casefold() not in folded:
            hint = nearest(value, [str(w) for w in words or ()])
            yield _refused(deployment, name, value, hint)


def _refused(deployment: Deployment, name: str, value: object, hint: str) -> Diagnostic:
    given = deployment.last(name)
    place = given.place if given is not None else deployment.place
    written = given.written.split("=")[0] if given is not None else f"--{name.replace('_', '-')}"
    return Diagnostic(REFUSED, place, f"{written} {value} is refused by {deployment.engine}", hint)
