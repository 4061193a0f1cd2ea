"""DeepSeek V4: its one backend, its page of 256, and the KV dtypes it takes."""

from __future__ import annotations

from kvgate.attention.sglang.state import State

__all__ = ["deepseek_v4"]


def deepseek_v4(state: State) -> None:
    """KV dtype, requests and speculation limits; backend and page come from the hook's table."""
    if state.architecture != "DeepseekV4ForCausalLM" or not state.rules.has("v4.kv"):
        return
    first = not state.rules.since("0.5.14")
    if first:
        _requests(state)
    dtype = state["kv_cache_dtype"]
    if dtype == "auto":
        dtype = "fp8_e4m3"
        state.warn("w.v4.kv", kv_cache_dtype=dtype)
    if dtype not in state.rules.members("v4.kv"):
        raise state.refuse("v4.kv", kv_cache_dtype=dtype)
    state["kv_cache_dtype"] = dtype
    if not first:
        _requests(state)
    algorithm = state["speculative_algorithm"]
    if algorithm is None:
        return
    newer = state.rules.has("v4.speculation")
    if algorithm not in (("EAGLE", "DSPARK") if newer else ("EAGLE",)):
        raise state.refuse("v4.speculation" if newer else "v4.speculation_eagle")
    if algorithm == "EAGLE" and state["speculative_eagle_topk"] != 1:
        raise state.refuse("v4.topk")


def _requests(state: State) -> None:
    if state["max_running_requests"] is None:
        state["max_running_requests"] = 256
        state.warn("w.v4.requests")
