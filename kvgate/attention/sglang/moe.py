"""The MoE runner that SGLang picks by model and SM: it decides some warnings and refusals."""

from __future__ import annotations

from collections.abc import Callable

from kvgate.attention.sglang.state import State

__all__ = ["moe_gate", "moe_hook", "moe_hook_late", "moe_sparse_mla"]

_QWEN = (
    "Qwen3MoeForCausalLM",
    "Qwen3VLMoeForConditionalGeneration",
    "Qwen3NextForCausalLM",
    "Qwen3_5MoeForConditionalGeneration",
    "InternS2PreviewForConditionalGeneration",
    "Qwen3_5ForConditionalGeneration",
    "Qwen4ExpForConditionalGeneration",
)
_MODELOPT = ("modelopt", "modelopt_fp8", "modelopt_fp4", "modelopt_mixed")


def _auto(state: State) -> bool:
    return bool(state["moe_runner_backend"] == "auto")


def _plain(state: State) -> bool:
    return _auto(state) and (state["moe_a2a_backend"] or "none") == "none"


def _take_checkpoints(state: State) -> object:
    """The checkpoint's quantisation becomes the option where the user named none."""
    if state["quantization"] is None and state.model.quantization is not None:
        state["quantization"] = state.model.quantization
    return state["quantization"]


def moe_hook(state: State) -> None:
    """The runner that the architecture's hook sets, before the lists of backends are asked."""
    rule = _RULES.get(state.architecture)
    if rule is not None and not _late(state):
        rule(state)


def moe_hook_late(state: State) -> None:
    """The same, in releases whose hooks asked their list of backends first."""
    rule = _RULES.get(state.architecture)
    if rule is not None and _late(state):
        rule(state)


def _late(state: State) -> bool:
    return state.rules.place("w.gpt_oss.sm100") == state.rules.place("allowed.gpt_oss")


def moe_sparse_mla(state: State) -> None:
    """The DeepSeek family on SM100, after its KV dtype is settled."""
    if not state.rules.among("deepseek", state.architecture) or state.major != 10:
        return
    unsaid = state.model.quantization is None and state["quantization"] is None
    quantization = _take_checkpoints(state)
    if (
        unsaid
        and state.architecture == "DeepseekV3ForCausalLM"
        and not state.rules.does("deepseek_probes_fp8")
        and not state.rules.does("deepseek_unquantized")
    ):
        quantization = state["quantization"] = "fp8"
    if not _plain(state) or state.architecture.startswith("LongcatFlash"):
        return
    fits = ["fp8", "modelopt_fp8", "modelopt_fp4", "modelopt_mixed"]
    if state.rules.does("deepseek_unquantized"):
        fits.append(None)  # type: ignore[arg-type]
    if quantization in fits or state.model.experts == "int4_group32":
        state["moe_runner_backend"] = "flashinfer_trtllm"


def _gpt_oss(state: State) -> None:
    if state.model.quantization != "mxfp4" or not _auto(state):
        return
    if state.major == 10:
        state["moe_runner_backend"] = "flashinfer_mxfp4"
        state.warn("w.gpt_oss.sm100")
    elif state.major == 12:
        runner = state.rules.sets("w.gpt_oss.sm120", "moe_runner_backend")
        state["moe_runner_backend"] = runner
        state.warn("w.gpt_oss.sm120")


def _mimo(state: State) -> None:
    if not _auto(state) or state.model.quantization != "fp8" or not state.rules.does("mimo_runner"):
        return
    fp4 = state.model.experts == "mxfp4"
    if state.major == 10 and _plain(state):
        state["moe_runner_backend"] = "flashinfer_mxfp4" if fp4 else "flashinfer_trtllm"
    elif state.major == 9 and fp4:
        state["moe_runner_backend"] = "marlin"


def _gemma4(state: State) -> None:
    if not state.rules.does("gemma4_runner"):
        return
    if state.major == 10 and _auto(state) and state.model.quantization == "modelopt_fp4":
        state["quantization"] = "modelopt_fp4"
        state["moe_runner_backend"] = "flashinfer_trtllm"


def _llama4(state: State) -> None:
    if state.major == 10 and _auto(state) and state["quantization"] in ("fp8", "modelopt_fp8"):
        state["moe_runner_backend"] = "flashinfer_trtllm"


def _qwen(state: State) -> None:
    if state.major != 10:
        return
    quantization = _take_checkpoints(state)
    if quantization == "modelopt_mixed" and state.model.experts == "w4a16_nvfp4":
        if _auto(state):
            state["moe_runner_backend"] = "marlin"
        return
    fits = ["fp8", "modelopt_fp4", None]
    if state.rules.does("qwen_mixed"):
        fits.append("modelopt_mixed")
    if quantization in fits and _plain(state):
        state["moe_runner_backend"] = "flashinfer_trtllm"


def _glm4(state: State) -> None:
    if state.major != 10:
        return
    quantization = _take_checkpoints(state)
    fits = {"modelopt_fp4", None} if state.rules.does("glm4_unquantized") else {"modelopt_fp4"}
    if quantization in fits and _plain(state):
        state["moe_runner_backend"] = "flashinfer_trtllm"


def _minimax_m2(state: State) -> None:
    if not state.rules.does("minimax_m2_runner"):
        return
    if state.major == 10 and _auto(state) and state.model.quantization == "modelopt_fp4":
        state["moe_runner_backend"] = "flashinfer_trtllm_routed"


def _minimax_m3(state: State) -> None:
    quantization = _take_checkpoints(state)
    if not _auto(state):
        return
    if state.major == 10 and quantization == "mxfp8":
        state["moe_runner_backend"] = "deep_gemm"
    elif state.major == 10 and quantization == "modelopt_mixed":
        state["moe_runner_backend"] = "flashinfer_trtllm_routed"
    elif quantization is None:
        state["moe_runner_backend"] = "triton"


def _nemotron(state: State) -> None:
    modelopt = state.model.quantization in _MODELOPT
    if modelopt:
        state["quantization"] = state.model.quantization
    if not state.rules.does("nemotron_runner"):
        if modelopt and state.rules.does("nemotron_sm100"):
            if _auto(state):
                trtllm = state.major == 10 and _plain(state)
                name = "flashinfer_trtllm" if trtllm else "flashinfer_cutlass"
                state["moe_runner_backend"] = name
        elif modelopt:
            state["moe_runner_backend"] = "flashinfer_cutlass"
        return
    if state.model.experts == "w4a16_nvfp4" and state["quantization"] == "modelopt_mixed":
        if _auto(state):
            state["moe_runner_backend"] = "marlin"
        return
    if not (modelopt or state.model.quantization is None) or not _auto(state):
        return
    fp4 = state.model.quantization in ("modelopt_fp4", "modelopt_mixed")
    if state.major == 10 and _plain(state):
        state["moe_runner_backend"] = "flashinfer_trtllm"
    elif fp4 and 8 <= state.major < 10:
        state["moe_runner_backend"] = "marlin"
    else:
        state["moe_runner_backend"] = "flashinfer_cutlass"


def _v4(state: State) -> None:
    if not _auto(state):
        return
    if state.model.experts == "nvfp4" and state.rules.does("v4_nvfp4_routed"):
        state["moe_runner_backend"] = "flashinfer_trtllm_routed"
    elif (
        state.rules.does("v4_mxfp4_experts")
        and _plain(state)
        and state.major in (9, 10, 12)
        and state.model.experts in (None, "mxfp4")
    ):
        state["moe_runner_backend"] = "flashinfer_mxfp4"
    elif state.major == 12:
        for runner in ("marlin", "mxfp4"):
            if state.rules.does(f"v4_{runner}_sm120"):
                name = "flashinfer_mxfp4" if runner == "mxfp4" else runner
                state["moe_runner_backend"] = name


def _kimi_k3(state: State) -> None:
    if state.major == 10 and _auto(state) and state.model.experts == "mxfp4":
        state["moe_runner_backend"] = "flashinfer_mxfp4"


def _command_a(state: State) -> None:
    fits = state.model.quantization is None or state.model.experts == "nvfp4"
    if state.major == 10 and _auto(state) and fits:
        state["moe_runner_backend"] = "flashinfer_trtllm"


_BY_NAMES: tuple[tuple[tuple[str, ...], Callable[[State], None]], ...] = (
    (("GptOssForCausalLM",), _gpt_oss),
    (("MiMoV2ForCausalLM", "MiMoV2FlashForCausalLM"), _mimo),
    (("Gemma4ForConditionalGeneration", "Gemma4ForCausalLM",
      "Gemma4UnifiedForConditionalGeneration"), _gemma4),
    (("Llama4ForConditionalGeneration", "Llama4ForCausalLM"), _llama4),
    (_QWEN, _qwen),
    (("Glm4MoeForCausalLM",), _glm4),
    (("MiniMaxM2ForCausalLM",), _minimax_m2),
    (("MiniMaxM3SparseForCausalLM", "MiniMaxM3SparseForConditionalGeneration"), _minimax_m3),
    (
        ("NemotronHForCausalLM", "NemotronHPuzzleForCausalLM", "NemotronH_Omni_Reasoning_V3"),
        _nemotron,
    ),
    (("DeepseekV4ForCausalLM",), _v4),
    (("KimiK3ForConditionalGeneration",), _kimi_k3),
    (("Cohere2VisionForConditionalGeneration", "Cohere2MoeForCausalLM"), _command_a),
)  # fmt: skip
_RULES = {name: rule for names, rule in _BY_NAMES for name in names}


_GATES = {
    "flashinfer_cutlass": "moe.cutlass",
    "flashinfer_trtllm": "moe.trtllm",
    "flashinfer_trtllm_routed": "moe.trtllm_routed",
}


def moe_gate(state: State) -> None:
    """The runner's list of quantisations, and the warning that shared experts aren't fused."""
    runner = state["moe_runner_backend"]
    small = state.major == 12 or (state.major == 11 and state.rules.does("small_fp4_cutlass"))
    if runner == "auto" and state["quantization"] == "modelopt_fp4" and small:
        runner = state["moe_runner_backend"] = "flashinfer_cutlass"
    if runner == "auto" and state["quantization"] == "mxfp8":
        runner = state["moe_runner_backend"] = "flashinfer_trtllm"
    key = _GATES.get(runner)
    if key is None:
        return
    if state["quantization"] not in state.rules.members(key):
        raise state.refuse(key)
    if runner != "flashinfer_cutlass":
        state.warn("w.moe.trtllm" if runner == "flashinfer_trtllm" else "w.moe.trtllm_routed")
