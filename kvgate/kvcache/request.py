"""What was asked of a sizing, with every default resolved that does not depend on the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from packaging.version import Version

from kvgate.architecture.model import Architecture
from kvgate.catalog.gpus import Gpu
from kvgate.errors import InputError, nearest

__all__ = ["NEWEST", "Request", "engine_version"]

# The newest release whose sources the sizing rules were read from.
NEWEST = {
    "vllm": Version("0.33.0"),
    "sglang": Version("0.5.23"),
    "llama.cpp": Version("0"),
    "tensorrt-llm": Version("0"),
}
_ALIASES = {
    "trtllm": "tensorrt-llm", "trt-llm": "tensorrt-llm", "tensorrt_llm": "tensorrt-llm",
    "llamacpp": "llama.cpp", "llama-cpp": "llama.cpp", "llama_cpp": "llama.cpp",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Request:
    """One sizing question. Sizes in bytes and tokens; None where nobody said.

    ``weights_bytes`` are those of the rank that holds most, ``stage_weights`` those of a rank of
    each pipeline stage, empty where only the most is known.
    """

    arch: Architecture
    gpu: Gpu | None
    engine: str
    version: Version
    tp: int
    pp: int
    dcp: int
    kv_cache_dtype: str
    dtype: str
    ssm_dtype: str
    max_model_len: int
    block_size: int | None
    max_num_batched_tokens: int | None
    max_num_seqs: int | None
    gpu_memory_utilization: float | None
    memory: Sequence[int] | None
    prefix_caching: bool | None
    weights_bytes: int | None
    speculative: int
    async_scheduling: bool | None
    hybrid: bool
    mamba_cache_mode: str | None
    enforce_eager: bool
    encoder_tokens: int | None
    skip_layers: tuple[str, ...] = ()
    stage_weights: tuple[int, ...] = ()

    @property
    def sm(self) -> tuple[int, int] | None:
        """The GPU's compute capability, None where no GPU was given (or it has none)."""
        return self.gpu.sm if self.gpu is not None else None


@lru_cache(maxsize=64)
def engine_version(spec: str | None) -> tuple[str, Version, str]:
    """(engine, version, what was assumed) of ``vllm==0.33.0``, ``sglang``, or None for newest vLLM.

    Raises InputError for an unknown engine or an unreadable version.

    >>> engine_version("vllm==0.19.0")[1]
    <Version('0.19.0')>
    """
    name, _, text = (spec or "vllm").partition("==")
    name = name.strip().casefold()
    name = _ALIASES.get(name, name)
    if name not in NEWEST:
        raise InputError(f"unknown engine {name!r}", hint=nearest(name, NEWEST))
    newest = NEWEST[name]
    text = text.strip().removeprefix("v")
    if not text:
        assumed = f"no engine version given: the rules of {name} {newest} are used"
        return name, newest, assumed if newest != Version("0") else ""
    try:
        version = Version(text)
    except ValueError:  # no version, or a number of more digits than Python reads
        raise InputError(f"{text!r} is not a version", hint=f"write {name}=={newest}") from None
    if newest == Version("0") or version.release == newest.release:
        return name, version, ""
    if version.release > newest.release:
        return name, version, f"{name} {version} is newer than the rules known, those of {newest}"
    if name == "sglang":
        return name, version, f"{name} {version} is sized by the rules of {newest}"
    return name, version, ""
