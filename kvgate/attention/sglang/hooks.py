"""Model hooks: what SGLang sets for an architecture before it chooses a backend by itself."""

from __future__ import annotations

from kvgate.attention.sglang.choice import default_backend
from kvgate.attention.sglang.state import State

__all__ = ["allowed", "model_hook"]

_GDN_HOOK = (
    "Qwen3NextForCausalLM",
    "Qwen3_5MoeForConditionalGeneration",
    "Qwen3_5ForConditionalGeneration",
    "InternS2PreviewForConditionalGeneration",
    "InternS2MobiusForConditionalGeneration",
    "Qwen4ExpForConditionalGeneration",
)
_M3 = ("MiniMaxM3SparseForCausalLM", "MiniMaxM3SparseForConditionalGeneration")
_WINDOWED = ("Exaone4ForCausalLM", "ExaoneMoEForCausalLM", "ExaoneMoeForCausalLM")


def model_hook(state: State) -> None:
    """The architecture's own defaults: the release's table, then what no table can say."""
    name = state.architecture
    if name in _WINDOWED and not state.model.sliding:
        return
    if name == "GraniteMoeHybridForCausalLM" and state.model.state is None:
        return
    if name.startswith("MiniCPMFor"):
        return  # its sparse variant names itself in a remote config class that isn't read here
    _swa_warning(state)
    if name in _GDN_HOOK:
        _gated_delta(state)
    elif name.startswith("NemotronH") and state.rules.does("nemotron_speculation"):
        _nemotron(state)
    elif name in _M3:
        _minimax_m3(state)
    elif "Qwen3VL" in name:
        _qwen3_vl(state)
    elif name == "KimiK3ForConditionalGeneration":
        _kimi_k3(state)
    else:
        _gemma4_experts(state)
        _from_table(state)
        _mimo_cache(state)


def _gemma4_experts(state: State) -> None:
    """0.5.13 keeps Gemma 4's NVFP4 checkpoints with routed experts on triton."""
    asks = state.major == 10 and state.was_set != "base" and state.architecture.startswith("Gemma4")
    fp4 = state.model.quantization == "modelopt_fp4"
    if asks and fp4 and state.rules.does("gemma4_fp4_experts"):
        state.unknown.append("whether it takes triton: that asks for Gemma 4's routed experts")


def _mimo_cache(state: State) -> None:
    """Up to 0.5.18 MiMo-V2 has a hierarchical cache only with a radix tree of another kind."""
    gate, mimo = "cache.hierarchical_mimo", state.rules.among("mimo_v2", state.architecture)
    if mimo and state["enable_hierarchical_cache"] and state.rules.has(gate):
        raise state.refuse(gate)


def _from_table(state: State) -> None:
    was_set, gives = state.was_set, state.rules.hook(state.architecture, state.was_set, state.major)
    if state.model.index_topk is not None and state.rules.among("deepseek", state.architecture):
        return  # sparse MLA sets its own backend
    for setting, value in gives.items():
        if setting == "mamba":
            continue
        if setting == "page_size" and state["page_size"] not in (None, value):
            state.change(setting, value, f"{state.architecture} always takes it")
        elif setting == "attention_backend" and was_set == "base":
            state.change(setting, value, f"{state.architecture} has one backend")
        else:
            state[setting] = value
    if "attention_backend" in gives and "Llama4" in state.architecture:
        where = {9: "sm90", 10: "sm100"}.get(state.major, "other platforms")
        state.warn("w.llama4", backend=gives["attention_backend"], platform=where)


def _swa_warning(state: State) -> None:
    gives = state.rules.hook(state.architecture, state.was_set, state.major)
    if gives.get("disable_hybrid_swa_memory"):
        state.warn("w.swa.gemma" if "Gemma" in state.architecture else "w.swa.exaone")


def _gated_delta(state: State) -> None:
    """On SM100 triton with page 1, or trtllm_mha with page 64 where the radix cache allows it."""
    if state.major != 10 or state["attention_backend"] is not None:
        return
    choice = default_backend(state)
    page_one = (
        not state.extra_buffer
        and not state["disable_radix_cache"]
        and state["speculative_algorithm"] is None
    )
    wide = choice == "trtllm_mha" and not page_one
    state["attention_backend"] = "trtllm_mha" if wide else "triton"
    if state.rules.hook(state.architecture, "nothing", 10).get("page_size"):
        page = 64 if wide else 1
        state.change("page_size", page, f"{state.architecture} on SM100 with an automatic backend")
    if state.architecture == "Qwen4ExpForConditionalGeneration":
        state.change("page_size", 64, "compressed QSA addresses whole pages")


def _nemotron(state: State) -> None:
    """Blackwell: trtllm_mha on SM100; with speculation triton and a draft backend of its own."""
    if not state.blackwell or state.was_set != "nothing":
        return
    algorithm = state["speculative_algorithm"]
    if algorithm is None:
        if state.major == 10:
            state["attention_backend"] = "trtllm_mha"
        return
    name = str(algorithm).upper()
    if state.major == 10 and state["speculative_eagle_topk"] in (None, 1):
        state["attention_backend"] = "trtllm_mha"
        if state["page_size"] is None:
            state["page_size"] = 64
        if state["mamba_radix_cache_strategy"] == "auto":
            state["mamba_radix_cache_strategy"] = "extra_buffer"
        drafts, backend = ["EAGLE", "NEXTN", "DSPARK"], "trtllm_mha"
    else:
        state["attention_backend"] = "triton"
        drafts, backend = ["EAGLE", "NEXTN", "DFLASH", "DSPARK"], "flashinfer"
    if state["speculative_draft_attention_backend"] is None and name in drafts:
        state["speculative_draft_attention_backend"] = backend


def _minimax_m3(state: State) -> None:
    """fa4 on SM100 (trtllm_mha for FP8 KV), fa3 on SM90, page 128 where the user set none."""
    unset = state.was_set == "nothing"
    mixed = state.model.experts == "nvfp4" and state.model.quantization == "mxfp8"
    if mixed and state.rules.has("m3.page"):
        _minimax_m31(state, unset=unset)
        return
    if state["kv_cache_dtype"] == "fp8_e5m2":
        state.warn("w.m3.e5m2")
    if state.major not in (9, 10):
        return
    if unset:
        fp8 = state["kv_cache_dtype"] == "fp8_e4m3"
        choice = "fa3" if state.major == 9 else "trtllm_mha" if fp8 else "fa4"
        state["attention_backend"] = choice
    paged = ("fa3",) if state.major == 9 else ("fa4", "trtllm_mha")
    if state["page_size"] is None and state["attention_backend"] in paged:
        state["page_size"] = 128


def _minimax_m31(state: State, *, unset: bool) -> None:
    if state["page_size"] not in (None, 128):
        raise state.refuse("m3.page")
    state["page_size"] = 128
    if state.blackwell:
        if state["kv_cache_dtype"] == "auto":
            state["kv_cache_dtype"] = "fp8_e4m3"
        elif state["kv_cache_dtype"] != "fp8_e4m3":
            raise state.refuse("m3.kv")
    if unset:
        state["attention_backend"] = "trtllm_mha" if state.blackwell else "fa3"


def _qwen3_vl(state: State) -> None:
    """On a Hopper with 60 GiB or more, decode goes to flashinfer and prefill keeps its default."""
    serving = state.rules.hook(state.architecture, "nothing", 9)
    if "decode_attention_backend" not in serving or state.major != 9:
        return
    if state.memory_mib is None:
        state.unknown.append("decode backend: Qwen3-VL on Hopper asks for the GPU's memory")
    elif state.memory_mib < 60 * 1024:
        return
    if state["attention_backend"] is None and state["decode_attention_backend"] is None:
        state["decode_attention_backend"] = "flashinfer"


def _kimi_k3(state: State) -> None:
    if state.sm in ((10, 0), (10, 3)) and state.was_set == "nothing":
        state["prefill_attention_backend"] = state["decode_attention_backend"] = "trtllm_mla"


def allowed(state: State) -> None:
    """Architectures that take some backends only; they refuse, they don't swap."""
    name = state.architecture
    if name == "GptOssForCausalLM":
        _both(state, "allowed.gpt_oss")
    elif name.startswith("Gemma4"):
        _both(state, "allowed.gemma4")
    elif "Llama4" in name:
        _base(state, "allowed.llama4")
    elif name in _WINDOWED and state.model.sliding:
        _base(state, "allowed.exaone4")
    elif name == "Olmo2ForCausalLM" and state["attention_backend"] == "flashinfer":
        raise state.refuse("allowed.olmo2")
    elif name.startswith("NemotronH") and state["attention_backend"] == "triton":
        if state.rules.has("allowed.nemotron_h"):
            raise state.refuse("allowed.nemotron_h")
    elif name in ("Lfm2ForCausalLM", "Lfm2MoeForCausalLM"):
        if state["attention_backend"] == "triton" and state.rules.has("allowed.first_layer"):
            raise state.refuse("allowed.first_layer")
    elif name == "MossVLForConditionalGeneration" and (
        state.backends[0] != "flashinfer" and state.rules.has("allowed.moss_vl")
    ):
        raise state.refuse("allowed.moss_vl")


def _both(state: State, key: str) -> None:
    if state.rules.has(key) and not set(state.backends) <= set(state.rules.members(key)):
        raise state.refuse(key)


def _base(state: State, key: str) -> None:
    if state.rules.has(key) and state["attention_backend"] not in state.rules.members(key):
        raise state.refuse(key)
