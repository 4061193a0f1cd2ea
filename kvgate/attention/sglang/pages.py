"""Page sizes: what the backends force, in the order in which they are asked."""

from __future__ import annotations

from kvgate.attention.sglang.state import State

__all__ = ["backend_pages", "default_page", "fa4_page", "page_of"]


# Backends with a page rule, in the order asked, and the gate that may stand before it.
_GATES = {
    "flashmla": None,
    "cutlass_mla": None,
    "trtllm_mla": "trtllm_mla.sm",
    "tokenspeed_mla": "tokenspeed_mla.sm",
    "cutedsl_mla": "cutedsl_mla.sm",
    "trtllm_mha": "trtllm_mha.prefill_sm",
    "hpc_ops": None,
}


def backend_pages(state: State) -> None:
    """A backend that takes some page sizes only replaces any other one, with a warning."""
    asked = state.any_backend | {state["speculative_draft_attention_backend"]}
    if asked.isdisjoint(_GATES):
        return
    for backend in [name for name in _GATES if name in asked]:
        gate = _GATES[backend]
        # Up to 0.5.10 a backend with a gate asked it first, and only then for the page.
        if gate is None or state.rules.place(f"w.page.{backend}") != state.rules.place(gate):
            page_of(state, backend)


def page_of(state: State, backend: str) -> None:
    """What one backend makes of the page size, where it is in use."""
    split = backend in ("cutedsl_mla", "trtllm_mha", "hpc_ops")
    draft = backend == "trtllm_mha" and state.rules.does("draft_page")
    _snap(state, backend, f"w.page.{backend}", prefill=split, draft=draft)


def _snap(state: State, backend: str, key: str, *, prefill: bool, draft: bool = False) -> None:
    named = {state["attention_backend"], state["decode_attention_backend"]}
    if prefill:
        named.add(state["prefill_attention_backend"])
    if draft:
        named.add(state["speculative_draft_attention_backend"])
    if backend not in named or not state.rules.has(key):
        return
    page, fits = state.rules.page(key), state.rules.members(key)
    always = backend in ("flashmla", "cutlass_mla")
    if not always and state["page_size"] in (fits or [page]):
        return
    state.warn(key)
    state.change("page_size", page, f"{backend} takes no other", said=True)


def fa4_page(state: State) -> None:
    """fa4 on SM100 outside MLA takes page 128; the draft tree of topk above 1 keeps its own."""
    if state.mla or state.major != 10:
        return
    wide = state.rules.does("fa4_page_base")
    named = state.any_backend if wide else {state["prefill_attention_backend"]}
    topk = state["speculative_eagle_topk"] or 0
    keeps_tree = state.rules.does("fa4_page_keeps_tree")
    if "fa4" not in named or (keeps_tree and topk > 1):
        return
    state.warn("w.page.fa4")
    state.change("page_size", state.rules.page("w.page.fa4"), "fa4 on SM100", said=True)


def default_page(state: State) -> None:
    """The page size is 1 where nothing set one."""
    if state["page_size"] is None:
        state["page_size"] = 1
