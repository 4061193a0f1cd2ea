"""What vLLM's settings come to as arguments of `kvgate.size`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from packaging.version import Version

from kvgate.architecture.model import Architecture
from kvgate.architecture.weights import weights_by_stage
from kvgate.plan.transfer import manager_off
from kvgate.plan.values import count, share, text, words
from kvgate.units import GiB

__all__ = ["arguments", "held_weights", "offloaded_gib", "unread"]

_COUNTS = {
    "pp": "pipeline_parallel_size", "dcp": "decode_context_parallel_size",
    "block_size": "block_size", "max_num_batched_tokens": "max_num_batched_tokens",
    "max_num_seqs": "max_num_seqs", "kv_cache_memory": "kv_cache_memory_bytes",
}  # fmt: skip
_SHARE = "gpu_memory_utilization"


def arguments(settings: Mapping[str, Any], asked: Version | None) -> dict[str, Any]:
    """The arguments of `kvgate.size` but for the GPU, the engine and the weights' bytes.

    ``settings`` are vLLM's own names, ``asked`` is the version (None where nobody names one).
    """
    get = settings.get
    off = manager_off(settings, asked)
    counts = {key: count(settings, name) for key, name in _COUNTS.items()}
    mamba, waits = get("mamba_cache_mode"), get("async_scheduling")
    return {
        **counts, "pp": counts["pp"] or 1, "dcp": counts["dcp"] or 1,
        "tp": count(settings, "tensor_parallel_size") or 1,
        "max_model_len": count(settings, "max_model_len"),
        "gpu_memory_utilization": share(settings, _SHARE),
        "prefix_caching": get("enable_prefix_caching"),
        "enforce_eager": bool(get("enforce_eager")),
        "hybrid_kv_cache_manager": off is None or not off[1],
        "async_scheduling": waits if isinstance(waits, bool) else None,
        "mamba_cache_mode": mamba if isinstance(mamba, str) and mamba else None,
        "ssm_dtype": text(get("mamba_ssm_cache_dtype")),
        "kv_cache_dtype_skip_layers": words(get("kv_cache_dtype_skip_layers")),
        "speculative_tokens": _speculative(get("speculative_config")),
        "kv_cache_dtype": text(get("kv_cache_dtype")), "dtype": text(get("dtype")),
    }  # fmt: skip


def unread(settings: Mapping[str, Any]) -> set[str]:
    """Arguments whose setting is there and can't be read, such as a template's hole."""
    given = {key: name for key, name in _COUNTS.items() if settings.get(name) is not None}
    odd = {key for key, name in given.items() if count(settings, name) is None}
    if settings.get(_SHARE) is not None and share(settings, _SHARE) is None:
        odd.add(_SHARE)
    return odd


def offloaded_gib(settings: Mapping[str, Any]) -> int | float:
    """GiB of weights of each GPU that stay in host memory."""
    asked = settings.get("cpu_offload_gb")
    return asked if isinstance(asked, int | float) and asked > 0 else 0


def held_weights(
    arch: Architecture, settings: Mapping[str, Any], *, tp: int | None = None
) -> tuple[int, ...]:
    """Bytes of weights on a GPU of each stage, with what the settings change of the model's own.

    ``tp`` stands in for the tensor-parallel size that was given. Raises InputError where the
    model's weights aren't known.
    """
    quantization = settings.get("quantization")
    dtype = text(settings.get("dtype"))
    stages = weights_by_stage(
        arch,
        tp=tp or count(settings, "tensor_parallel_size") or 1,
        pp=count(settings, "pipeline_parallel_size") or 1,
        dp=count(settings, "data_parallel_size") or 1,
        dtype=None if dtype == "auto" else dtype,
        # A checkpoint that is quantised already says how; the flag then only repeats it.
        quantization=quantization if arch.quantization is None else None,
        draft=_speculative(settings.get("speculative_config")) > 0,
    )
    offloaded = round(offloaded_gib(settings) * GiB)
    return tuple(max(0, held - offloaded) for held in stages)


def _speculative(config: Any) -> int:
    if not isinstance(config, dict):
        return 0
    tokens = config.get("num_speculative_tokens")
    return tokens if isinstance(tokens, int) and tokens > 0 else 0
