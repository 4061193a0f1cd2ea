"""The part of a plan that TensorRT-LLM and llama.cpp get: the need and the pool, no gates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kvgate.architecture.model import Architecture
from kvgate.architecture.weights import weights_per_rank
from kvgate.kvcache.llamacpp import LlamaOptions, slot_context
from kvgate.kvcache.size import Sizing, size
from kvgate.kvcache.trtllm import TrtllmOptions
from kvgate.plan.draft import Draft
from kvgate.plan.gguf import named_bits
from kvgate.plan.values import count, share
from kvgate.plan.vllm import draft_lacks

__all__ = ["fill"]

# llama.cpp's settings that leave the weights or the cache elsewhere than on one GPU.
_ELSEWHERE = (
    "cpu_moe", "n_cpu_moe", "override_tensor", "tensor_split", "device", "rpc", "split_mode",
)  # fmt: skip
# TensorRT-LLM's bounds of the pool that the fraction of free memory doesn't follow.
_BOUNDS = ("max_tokens", "max_gpu_total_bytes")


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the sizing is asked; ``open_`` says why nobody knows whether it fits ("" if so), and
    ``least`` that the weights are no less than ``weights``, the bytes of them."""

    length: int | None
    options: LlamaOptions | TrtllmOptions
    dtype: str = "auto"
    open_: str = ""
    weights: int | None = None
    least: bool = False


def fill(draft: Draft, kv_cache_memory: int | None) -> None:
    """Size the need, and the pool where the GPU is known, or the KV memory."""
    engine = draft.deployment.engine
    draft.lack("gates", f"kvgate reads no gates of {engine}")
    arch = draft.arch
    if arch is None:
        draft.lack("size", draft_lacks(draft, "model"))
        return
    read = _llama if engine == "llama.cpp" else _trtllm
    asked = draft.attempt("size", lambda: read(draft, arch))
    if asked is None:
        return

    def ask(*, pool: bool) -> Sizing:
        return size(
            arch, engine=engine, gpu=draft.gpu if pool else None, max_model_len=asked.length,
            kv_cache_memory=kv_cache_memory if pool else None,
            tp=count(draft.settings, "tensor_parallel_size") or 1,
            pp=count(draft.settings, "pipeline_parallel_size") or 1,
            kv_cache_dtype=asked.dtype, options=asked.options,
            weights_bytes=asked.weights if pool else None,
        )  # fmt: skip

    memory = kv_cache_memory is not None
    if (draft.gpu is None and not memory) or (asked.open_ and not memory):
        if draft.gpu is not None:
            draft.lack("size", f"whether it fits: {asked.open_}")
        draft.sizing = draft.attempt("size", lambda: ask(pool=False))
        return
    found: Sizing | None = draft.attempt("size", lambda: ask(pool=True))
    if found is None:
        found = draft.attempt("size", lambda: ask(pool=False))
    elif asked.least and not memory and found.pool is not None:
        if found.fits or found.pool.undecided:
            draft.lack("size", "whether it fits: how many bytes of weights the file holds")
            found = draft.attempt("size", lambda: ask(pool=False))
        else:
            draft.assumed.append("the weights take at least the bits that the file's name says")
    draft.sizing = found


def _llama(draft: Draft, arch: Architecture) -> _Asked:
    get = draft.settings.get
    options = LlamaOptions(
        slots=count(draft.settings, "parallel") or 1, unified=bool(get("kv_unified")),
        ubatch=count(draft.settings, "ubatch_size") or 512, swa_full=bool(get("swa_full")),
        cache_type_k=str(get("cache_type_k") or "f16").casefold(),
        cache_type_v=str(get("cache_type_v") or "f16").casefold(),
    )  # fmt: skip
    total = next((v for k in ("ctx_size", "n_ctx") if isinstance(v := get(k), int) and v > 0), 0)
    # Ollama multiplies by the slots before it starts its runner.
    alone = LlamaOptions() if draft.deployment.launcher == "ollama serve" else options
    length = slot_context(total, alone, arch.max_position_embeddings)
    bits = named_bits(draft.deployment.model)
    weights, least = None, False
    if bits is not None:
        weights = weights_per_rank(arch, dtype="float16") * bits[0] // 16
        least = not bits[1]
    return _Asked(length, options, "auto", _elsewhere(draft, arch), weights, least)


def _elsewhere(draft: Draft, arch: Architecture) -> str:
    """Why one GPU doesn't hold all of it, or nobody knows what that is; "" where neither."""
    get, name = draft.settings.get, draft.deployment.model
    told = [key for key in _ELSEWHERE if get(key) not in (None, False)]
    if told:
        return f"what --{told[0].replace('_', '-')} leaves on the GPU"
    if get("kv_offload") is False:
        return "the cache is kept on the host"
    layers = get("n_gpu_layers")
    if isinstance(layers, int) and 0 <= layers < arch.num_layers:
        return f"--n-gpu-layers {layers} leaves layers on the host"
    if "gguf" in name.casefold() and named_bits(name) is None:
        return "the bytes of the file's weights"
    return ""


def _trtllm(draft: Draft, arch: Architecture) -> _Asked:
    config = draft.deployment.config if isinstance(draft.deployment.config, Mapping) else {}
    given = config.get("kv_cache_config")
    cache: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    dtype = cache.get("dtype")
    windows = cache.get("max_attention_window")
    listed = windows if isinstance(windows, (list, tuple)) else ()
    kept = tuple(w for w in listed if type(w) is int and w > 0)
    name = "free_gpu_memory_fraction"
    options = TrtllmOptions(
        free_gpu_memory_fraction=share(cache, name) or share(draft.settings, name) or 0.9,
        tokens_per_block=count(cache, "tokens_per_block") or 32, max_attention_window=kept,
    )  # fmt: skip
    length = count(config, "max_seq_len") or count(draft.settings, "max_seq_len")
    bound = next((key for key in _BOUNDS if cache.get(key) is not None), None)
    open_ = f"kv_cache_config.{bound} bounds the pool besides" if bound else ""
    for key, why in (
        ("enable_attention_dp", "attention data parallelism keeps whole heads on every rank"),
        ("speculative_config", "what speculation holds is not counted"),
    ):
        if config.get(key) or draft.settings.get(key):
            open_ = why
    dtype = dtype if isinstance(dtype, str) and dtype else "auto"
    return _Asked(length, options, dtype, open_)
