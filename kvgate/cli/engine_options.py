"""Flags that only one engine has, as that engine's options for a sizing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvgate.errors import InputError

__all__ = ["FLAGS", "engine_options", "request_length"]

# Flag -> (engine, its name in that engine's options).
FLAGS: dict[str, tuple[str, str]] = {
    "--mem-fraction-static": ("sglang", "mem_fraction_static"),
    "--max-running-requests": ("sglang", "max_running_requests"),
    "--max-total-tokens": ("sglang", "max_total_tokens"),
    "--chunked-prefill-size": ("sglang", "chunked_prefill_size"),
    "--page-size": ("sglang", "page_size"),
    "--swa-full-tokens-ratio": ("sglang", "swa_full_tokens_ratio"),
    "--mamba-full-memory-ratio": ("sglang", "mamba_full_memory_ratio"),
    "--disable-radix-cache": ("sglang", "disable_radix_cache"),
    "--parallel": ("llama.cpp", "slots"),
    "--kv-unified": ("llama.cpp", "unified"),
    "--ubatch-size": ("llama.cpp", "ubatch"),
    "--swa-full": ("llama.cpp", "swa_full"),
    "--cache-type-k": ("llama.cpp", "cache_type_k"),
    "--cache-type-v": ("llama.cpp", "cache_type_v"),
    "--gguf-mla": ("llama.cpp", "mla"),
    "--free-gpu-memory-fraction": ("tensorrt-llm", "free_gpu_memory_fraction"),
    "--tokens-per-block": ("tensorrt-llm", "tokens_per_block"),
    "--max-attention-window": ("tensorrt-llm", "max_attention_window"),
}


def engine_options(spec: str | None, given: Mapping[str, Any]) -> object | None:
    """The options of the engine that ``spec`` names, None where none of its own flags was given.

    Raises InputError for a flag of another engine.
    """
    asked = {flag: value for flag, value in given.items() if value not in (None, False)}
    if not asked:
        return None
    from kvgate.kvcache.request import engine_version

    engine = engine_version(spec)[0]
    for flag in asked:
        if FLAGS[flag][0] != engine:
            raise InputError(
                f"{flag} is a flag of {FLAGS[flag][0]}, and the engine is {engine}",
                hint=f"say --engine {FLAGS[flag][0]}",
            )
    values = {FLAGS[flag][1]: value for flag, value in asked.items()}
    match engine:
        case "sglang":
            from kvgate.kvcache.sglang_options import SglangOptions

            return SglangOptions(**values)
        case "llama.cpp":
            from kvgate.kvcache.llamacpp import LlamaOptions

            return LlamaOptions(**values)
        case _:
            from kvgate.kvcache.trtllm import TrtllmOptions

            return TrtllmOptions(**values)


def request_length(
    tokens: int, spec: str | None, options: object | None, trained: int | None
) -> int | None:
    """The tokens of one request for ``--ctx-size``, which llama.cpp divides by its slots."""
    from kvgate.kvcache.request import engine_version

    if engine_version(spec)[0] != "llama.cpp":
        return tokens
    from kvgate.kvcache.llamacpp import LlamaOptions, slot_context

    own = options if isinstance(options, LlamaOptions) else LlamaOptions()
    return slot_context(tokens, own, trained)
