"""Speculative decoding: the algorithm's own defaults, and what it refuses of page and backend."""

from __future__ import annotations

from kvgate.attention.sglang.state import State

__all__ = ["speculate"]

_WIDE = ("LlamaForCausalLM", "Grok1ForCausalLM", "Grok1VForCausalLM")


def speculate(state: State) -> None:
    """Resolve and check the speculative options, after the backend and the page are settled."""
    algorithm = state["speculative_algorithm"]
    if algorithm is None:
        return
    name = str(algorithm).upper()
    if name == "NEXTN":
        name = "EAGLE"
    state["speculative_algorithm"] = name
    if name in ("EAGLE", "EAGLE3", "STANDALONE"):
        _eagle(state, name)
    elif name == "NGRAM":
        _ngram(state)
    else:
        state.unknown.append(f"speculative algorithm {name}: its own checks are not modelled")


def _requests(state: State) -> None:
    if state["max_running_requests"] is None:
        state["max_running_requests"] = 48
        state.warn("w.spec.requests")


def _eagle(state: State, name: str) -> None:
    _requests(state)
    _overlap(state)
    if state["enable_mixed_chunk"] and state.rules.has("w.spec.mixed"):
        state["enable_mixed_chunk"] = False
        state.warn("w.spec.mixed")
    if state["speculative_num_steps"] is None:
        wide = state.architecture in _WIDE and name != "STANDALONE"
        steps, topk, tokens = (5, 4, 8) if wide else (3, 1, 4)
        state["speculative_num_steps"] = steps
        state["speculative_eagle_topk"] = topk
        state["speculative_num_draft_tokens"] = tokens
    topk = state["speculative_eagle_topk"] or 1
    if topk > 1 and "trtllm_mha" in _mha_named(state):
        raise state.refuse("trtllm_mha.topk")
    steps = state["speculative_num_steps"]
    if topk == 1 and state["speculative_num_draft_tokens"] != steps + 1:
        state["speculative_num_draft_tokens"] = steps + 1
        state.warn("w.spec.adjusted")
    if topk > 1 and state["page_size"] > 1:
        fits = state.rules.members("spec.page_topk")
        if state["attention_backend"] not in fits:
            raise state.refuse("spec.page_topk")


def _overlap(state: State) -> None:
    """Speculation beside the overlap schedule: never, with topk 1 only, or always."""
    if state.rules.has("w.spec.overlap_off"):
        state["disable_overlap_schedule"] = True
        state.warn("w.spec.overlap_off")
    elif state.rules.has("w.spec.v1"):
        why = "overlap schedule is disabled"
        if (state["speculative_eagle_topk"] or 0) > 1 and not state["disable_overlap_schedule"]:
            state["disable_overlap_schedule"] = True
            why = "spec v2 currently only supports topk = 1"
        if state["disable_overlap_schedule"]:
            state.warn("w.spec.v1", value=why)
        else:
            state.warn("w.spec.v2")
    else:
        off = state["disable_overlap_schedule"]
        state.warn("w.spec.no_overlap" if off else "w.spec.overlap")


def _mha_named(state: State) -> set[str | None]:
    effective = state.rules.does("topk_effective")
    return set(state.backends) if effective else set(state.any_backend)


def _ngram(state: State) -> None:
    _requests(state)
    if state.rules.does("ngram_no_overlap"):
        state["disable_overlap_schedule"] = True
    breadth = state["speculative_eagle_topk"] = state["speculative_ngram_max_bfs_breadth"]
    if state["speculative_num_draft_tokens"] is None:
        state["speculative_num_draft_tokens"] = 12
        state.warn("w.ngram.tokens")
    state.warn("w.ngram.mixed")
    if breadth > 1 and state["page_size"] > 1 and state["attention_backend"] != "flashinfer":
        raise state.refuse("spec.ngram_page")
