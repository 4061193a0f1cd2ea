"""Limits that no backend sets: hierarchical cache, pool ratios, and the chunk's divisibility."""

from __future__ import annotations

from kvgate.attention.sglang.state import State

__all__ = [
    "cache_limits",
    "check",
    "chunk_by_memory",
    "decode_server",
    "decode_server_late",
    "hierarchical",
    "pipeline_parallel",
]

# --chunked-prefill-size by the driver's MiB: the first row whose bound lies above the memory.
_CHUNKS = ((20480, 2048), (61440, 4096), (163840, 8192))


def chunk_by_memory(memory_mib: int) -> int:
    """SGLang's default chunk for a GPU of this memory (sglang-facts section 6.1).

    >>> chunk_by_memory(81559)
    8192
    """
    return next((chunk for bound, chunk in _CHUNKS if memory_mib < bound), 16384)


def hierarchical(state: State) -> None:
    """Up to 0.5.10, fa3 cannot decode from a hierarchical cache: decode silently moves."""
    if not state["enable_hierarchical_cache"] or not state.rules.has("w.hicache.fa3"):
        return
    if state["hicache_io_backend"] != "kernel" or state.backends[1] != "fa3":
        return
    if state["decode_attention_backend"] is not None:
        state.warn("w.hicache.fa3")
        return
    decode = "flashinfer" if not state.mla or state.major == 10 else "triton"
    state["decode_attention_backend"] = decode


def cache_limits(state: State) -> None:
    """A hierarchical cache needs the radix cache; the window pool's ratio has a range."""
    if state["enable_hierarchical_cache"] and state["disable_radix_cache"]:
        raise state.refuse("cache.hierarchical_radix")
    ratio = state["swa_full_tokens_ratio"]
    if ratio is not None and not 0 < ratio <= 1:
        raise state.refuse("cache.swa_ratio")


def decode_server(state: State) -> None:
    """Since 0.5.11 first of all: a decode server keeps no radix cache, unless it is asked to."""
    if state["disaggregation_mode"] == "decode" and state.rules.since("0.5.11"):
        _no_radix(state)


def decode_server_late(state: State) -> None:
    """Up to 0.5.10 that comes after everything that looks at the radix cache."""
    if state["disaggregation_mode"] == "decode" and not state.rules.since("0.5.11"):
        _no_radix(state)


def _no_radix(state: State) -> None:
    if state["disaggregation_decode_enable_radix_cache"]:
        return
    state["disable_radix_cache"] = True
    state.warn("w.decode_radix")
    state.warn("w.decode_chunk")


def pipeline_parallel(state: State) -> None:
    """Pipeline parallelism and the overlap schedule exclude each other."""
    if state["pp_size"] > 1:
        state.warn("w.pipeline")
        state["disable_overlap_schedule"] = True


def check(state: State) -> None:
    """Stages speculate with EAGLE at most; the chunk has to be a multiple of the page."""
    if state["pp_size"] > 1 and state["speculative_algorithm"] is not None:
        eagle = str(state["speculative_algorithm"]).upper() in ("EAGLE", "DSPARK")
        for gate, holds in (("check.pipeline_any", True), ("check.pipeline", not eagle)):
            if holds and state.rules.has(gate):
                raise state.refuse(gate, "check")
    chunk, page = state["chunked_prefill_size"], state["page_size"]
    if chunk is None and state.memory_mib is not None:
        chunk = chunk_by_memory(state.memory_mib)
    if chunk is None:
        # Every default is a multiple of 2048.
        if 2048 % page:
            state.unknown.append(
                f"whether the chunk is a multiple of page {page}: it follows the GPU's memory"
            )
        return
    if chunk > 0 and state["disaggregation_mode"] != "decode" and chunk % page:
        raise state.refuse("check.chunk_page", "check")
