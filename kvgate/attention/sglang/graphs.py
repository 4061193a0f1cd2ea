"""CUDA graphs: when SGLang turns the prefill graph off by itself."""

from __future__ import annotations

from collections.abc import Callable

from kvgate.attention.sglang.sparse import is_sparse
from kvgate.attention.sglang.state import State

__all__ = ["breakable", "multimodal", "parse", "prefill_graph", "trtllm_mla_prefill_graph"]


def breakable(state: State) -> bool:
    """Whether the prefill graph is the breakable one by default: 0.5.14 has it, on request."""
    return state.rules.has("w.graph.breakable") and state.rules.since("0.5.15")


def parse(state: State) -> None:
    """What the user said of graphs, before any rule; a phase the user set stays as set."""
    asked = {
        "prefill": (state["disable_prefill_cuda_graph"], state["cuda_graph_backend_prefill"]),
        "decode": (state["disable_decode_cuda_graph"], state["cuda_graph_backend_decode"]),
    }
    for phase, (off, backend) in asked.items():
        if state["disable_cuda_graph"] or off:
            setattr(state, f"{phase}_graph", "disabled")
            state.locked.add(phase)
        if backend is not None:
            setattr(state, f"{phase}_graph", backend)
            state.locked.add(phase)


def multimodal(state: State) -> bool:
    """Whether SGLang serves the model as multimodal, the option and its own exceptions included."""
    enabled = state["enable_multimodal"]
    name = state.architecture
    if enabled is None:
        enabled = not state.rules.among("multimodal_off", name)
        if name == "MiMoV2ForCausalLM" and not state.model.multimodal:
            enabled = False
    if state["language_model_only"]:
        return False
    return bool(enabled and (state.rules.among("multimodal", name) or state.model.multimodal))


def prefill_graph(state: State) -> None:
    """The breakable prefill graph is off for the first of these that holds."""
    if "prefill" in state.locked or not breakable(state):
        return
    if state["pp_size"] > 1:
        state.prefill_graph = "disabled"
        return
    piecewise = state.rules.among("multimodal_piecewise", state.architecture)
    if piecewise and state.rules.does("piecewise_multimodal"):
        state.prefill_graph = "tc_piecewise"
        return
    for name in state.rules.graph_rules:
        if name in _REASONS and _REASONS[name](state):
            state.warn("w.graph.breakable", name=name)
            state.prefill_graph = "disabled"
            return


def _kda(state: State) -> bool:
    return state.model.state == "kda" and "Glm5Next" not in state.architecture


def _vision(state: State) -> bool:
    return multimodal(state) and not state.rules.among("multimodal_graph", state.architecture)


_VALIDATED = (None, "none", "deepep", "megamoe", "flashinfer")
_REASONS: dict[str, Callable[[State], bool]] = {
    "KDA hybrid linear attention": _kda,
    "MLA attention": lambda state: state.mla,
    "context parallel (attn_cp_size > 1)": lambda state: (state["attn_cp_size"] or 1) > 1,
    "LoRA": lambda state: bool(state["lora_paths"] or state["enable_lora"]),
    "MoE A2A backend": lambda state: state["moe_a2a_backend"] not in (None, "none"),
    "unvalidated a2a backend": lambda state: state["moe_a2a_backend"] not in _VALIDATED,
    "DP attention": lambda state: bool(state["enable_dp_attention"]),
    "MLA attention (non-DSA)": lambda state: state.mla and not is_sparse(state),
    "NemotronH (hybrid Mamba2 prefill)": lambda state: state.architecture.startswith("NemotronH"),
    "DeepSeek-V4 (heavy capture-pool memory pressure)": lambda state: state.architecture.startswith(
        "DeepseekV4For"
    ),
    "decode context parallel (dcp_size > 1)": lambda state: (state["dcp_size"] or 1) > 1,
    "two-batch overlap": lambda state: bool(state["enable_two_batch_overlap"]),
    "multimodal model": _vision,
}


def trtllm_mla_prefill_graph(state: State) -> None:
    """DeepSeek-V3 on trtllm_mla: a captured prefill graph would fall back to FlashAttention."""
    if "prefill" in state.locked or state.prefill_graph == "disabled":
        return
    if state.architecture != "DeepseekV3ForCausalLM" or state.backends[0] != "trtllm_mla":
        return
    if state.rules.has("w.graph.trtllm_mla"):
        state.warn("w.graph.trtllm_mla", backend=state.prefill_graph)
        state.prefill_graph = "disabled"
