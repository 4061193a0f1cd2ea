"""The second gate: what every check lets through and a backend's constructor then refuses.

It speaks after the weights are loaded and the pool is allocated, in the release's own words.
"""

from __future__ import annotations

from kvgate.attention.sglang.outcome import Later
from kvgate.attention.sglang.sparse import is_sparse
from kvgate.attention.sglang.state import State

__all__ = ["refuses"]

_EAGLE = ("EAGLE", "EAGLE3", "STANDALONE")
# The head size of HPC-Ops' kernels (sglang 0.5.17 to 0.5.23,
# srt/layers/attention/hpc_ops_backend.py, seen 2026-11-30).
_HPC_HEAD = 128


def refuses(state: State, kv_torch: str) -> tuple[Later, ...]:
    """Backends that were chosen and can't be built, decode's first; then the draft model's."""
    prefill, decode = state.backends
    for backend in dict.fromkeys((str(decode), str(prefill))):
        text = _built(state, backend, kv_torch)
        if text is not None:
            return (Later(backend, text),)
    return _draft(state, str(prefill), str(decode))


def _built(state: State, backend: str, kv_torch: str) -> str | None:
    if backend in ("dsa", "nsa"):
        return None if is_sparse(state) else _said(state, "start.dsa")
    if backend in ("dsv4", "compressed"):
        # Its own latent is 512 wide; a model of that head size would get further, and isn't read.
        same = state.model.heads is not None and state.model.heads[2] == 512
        v4 = state.architecture.startswith("DeepseekV4")
        return None if v4 or same else _said(state, "start.dsv4")
    if backend in ("fa3", "fa4", "flashinfer", "triton"):
        crossed = state.rules.among("encoder_decoder", state.architecture)
        return _said(state, "start.cross") if crossed and state.model.sliding else None
    if backend in ("minicpm_flashattn", "minicpm_flashinfer"):
        other = not state.architecture.startswith("MiniCPM")
        return _said(state, "start.minicpm") if other else None
    if backend == "trtllm_mha":
        return _trtllm_page(state)
    if backend == "hpc_ops" and state.rules.has("start.hpc_sm"):
        state.unknown.append("whether the hpc package that hpc_ops imports is installed")
        return _hpc_ops(state, kv_torch)
    return None


def _said(state: State, key: str, **values: object) -> str | None:
    if not state.rules.has(key):
        return None
    return str(state.refuse(key, "registry", **values))


def _rank_heads(state: State) -> tuple[int, int, int, int] | None:
    """(query heads, KV heads, key width, value width) of one rank; None where they aren't known."""
    if state.model.heads is None or state["enable_dp_attention"]:
        return None
    heads, kv_heads, width, value = state.model.heads
    tp = state["tp_size"] or 1
    return heads // tp, max(1, kv_heads // tp), width, value


def _trtllm_page(state: State) -> str | None:
    """Pages of 128 tokens and more need grouped heads and equal widths outside XQA."""
    page = state["page_size"]
    if page < 128 or state.major in (9, 12) or not state.rules.has("start.trtllm_page"):
        return None
    known = _rank_heads(state)
    if known is None:
        state.unknown.append(f"whether trtllm_mha has kernels for page {page}: heads are unknown")
        return None
    heads, kv_heads, width, value = known
    if heads // kv_heads > 1 and width == value:
        return None
    return _said(
        state, "start.trtllm_page", num_q_heads=heads, num_kv_heads=kv_heads, head_dim=width,
        v_head_dim=value,
    )  # fmt: skip


def _hpc_ops(state: State, kv_torch: str) -> str | None:
    if state.major != 9:
        return _said(state, "start.hpc_sm", major=state.sm[0], minor=state.sm[1])
    if kv_torch not in ("bfloat16", "float8_e4m3fn"):
        return _said(state, "start.hpc_kv", kv_cache_dtype=f"torch.{kv_torch}")
    known = _rank_heads(state)
    if known is None:
        state.unknown.append("whether hpc_ops has kernels for this model: its heads are unknown")
        return None
    heads, kv_heads, width, _ = known
    shapes = state.rules.listed("start.hpc_fp8", "FP8_ROPE_SUPPORTED_HEAD_CONFIGS")
    if kv_torch == "float8_e4m3fn" and (heads, kv_heads) not in shapes:
        return _said(state, "start.hpc_fp8", heads=(heads, kv_heads))
    groups = state.rules.listed("start.hpc_heads", "_SUPPORTED_GQA_GROUP_SIZES")
    if width != _HPC_HEAD or heads // kv_heads not in groups:
        return _said(
            state, "start.hpc_heads", _SUPPORTED_HEAD_DIM=_HPC_HEAD, head_dim=width,
            num_q_heads=heads, num_kv_heads=kv_heads,
        )  # fmt: skip
    return None


def _draft(state: State, prefill: str, decode: str) -> tuple[Later, ...]:
    """EAGLE's draft model has backends of its own list, for its steps and for its prefill."""
    if state["speculative_algorithm"] not in _EAGLE:
        return ()
    asked = state["speculative_draft_attention_backend"]
    phases = [("draft_decode", "decode attention", decode)]
    if (state["speculative_num_steps"] or 0) <= 1:
        phases = []  # one step needs no backend for several
    mode = state["speculative_attention_mode"]
    phases.append(("draft_extend", "attention", decode if mode == "decode" else prefill))
    for table, words, backend in phases:
        fits, name = state.rules.choices(table), asked or backend
        if fits and name not in fits:
            # The text is the same in every release from 0.5.10 to 0.5.23 (draft_utils.py).
            return (Later(name, f"ValueError: EAGLE is not supported in {words} backend {name}"),)
    return ()
