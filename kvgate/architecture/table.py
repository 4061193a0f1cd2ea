"""The closed table of model types: every family module's own, and those that kvgate cannot size."""

from __future__ import annotations

from kvgate.architecture import (
    chunked,
    compressed,
    conv,
    cross,
    delta,
    full,
    interleaved,
    kda,
    latentwindows,
    lightning,
    looped,
    mamba,
    mla,
    nas,
    paired,
    parallel,
    shared,
    sliding,
    sparse,
    streams,
)
from kvgate.architecture.family import Types

__all__ = ["TYPES", "UNSIZED"]

_MODULES = (
    full, sliding, interleaved, chunked, paired, shared, mla, compressed, sparse, delta, kda,
    lightning, mamba, conv, parallel, cross, nas, looped, latentwindows, streams,
)  # fmt: skip

TYPES: Types = {}
for _module in _MODULES:
    TYPES.update(_module.TYPES)

# Known by name, and refused with the reason: what their layers keep is no kind that kvgate has.
UNSIZED: dict[str, str] = {
    **dict.fromkeys(
        ("rwkv", "rwkv5", "rwkv6", "rwkv7", "rwkv6qwen2"),
        "its RWKV state is a layer kind that kvgate does not have",
    ),
    "recurrent_gemma": "its RG-LRU state is a layer kind that kvgate does not have",
    "xlstm": "its xLSTM state is a layer kind that kvgate does not have",
    "zaya": "its compressed convolutional attention is a layer kind that kvgate does not have",
    "zamba": "Zamba 1's grouped Mamba heads are a layer kind that kvgate does not have",
    "phi3small": "its block-sparse attention is a layer kind that kvgate does not have",
    **dict.fromkeys(
        ("inkling2", "inkling2_text", "inkling2_loop", "inkling2_loop_text"),
        "no engine that kvgate reads serves it, and what its layers keep is not read",
    ),
    "plamo2": "its attention is windowed in its own code and whole in vLLM's",
    "musespark1x_text": "its gated delta net and global layers are not read by kvgate",
    "idefics": "its cross-attention between layers is not read by kvgate",
    "evolla": "its cross-attention between layers is not read by kvgate",
    "blt": "it runs three models of bytes and patches, which kvgate does not size",
    "cpmant": "its prompt segments are not read by kvgate",
    "moshi": "it runs two decoders, which kvgate does not size",
    "pi0": "its action expert shares another model's cache, which kvgate does not size",
    **dict.fromkeys(
        ("kosmos-2", "kosmos-2.5", "blip"), "its text model is not read by kvgate"
    ),
    **dict.fromkeys(
        ("gemma4_assistant", "gemma4_unified_assistant"),
        "it drafts from its target's own cache; size the target",
    ),
    **dict.fromkeys(
        (
            "deepseek_mtp", "extract_hidden_states", "k3_dspark", "medusa", "minimax_m3_mtp",
            "mlp_speculator", "muse_spark_dspark",
        ),
        "it is a draft head; size its target with --speculative-config",
    ),
    **dict.fromkeys(
        (
            "t5", "mt5", "umt5", "bart", "whisper", "t5gemma", "t5gemma2", "marian", "m2m_100",
            "bigbird_pegasus", "blenderbot", "blenderbot-small", "cohere_asr", "florence2", "mbart",
            "musicgen", "musicgen_melody", "mvp", "nemotron_parse", "pegasus", "pix2struct",
            "plbart", "pp_formulanet", "prophetnet", "trocr", "udop", "vision-encoder-decoder",
        ),
        "kvgate sizes decoders, and this is an encoder-decoder",
    ),
    **dict.fromkeys(
        (
            "bert", "roberta", "xlm-roberta", "modernbert", "nomic_bert", "distilbert",
            "bert-generation", "big_bird", "camembert", "data2vec-text", "electra", "ernie",
            "llama_bidirec",
            "megatron-bert", "modernvbert", "reformer", "rembert", "roberta-prelayernorm",
            "roc_bert", "roformer", "ultrabert", "ultravbert", "xlm", "xlm-roberta-xl", "xlnet",
            "xmod",
        ),
        "kvgate sizes decoders, and an encoder keeps no KV cache",
    ),
}  # fmt: skip
