"""The closed table of model types: every family module's own, and those that kvgate cannot size."""

from __future__ import annotations

from kvgate.architecture import (
    chunked,
    compressed,
    conv,
    cross,
    delta,
    full,
    kda,
    lightning,
    mamba,
    mla,
    nas,
    paired,
    parallel,
    shared,
    sliding,
    sparse,
)
from kvgate.architecture.family import Types

__all__ = ["TYPES", "UNSIZED"]

_MODULES = (
    full, sliding, chunked, paired, shared, mla, compressed, sparse, delta, kda, lightning, mamba,
    conv, parallel, cross, nas,
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
        ("inkling_text", "inkling_model", "inkling2_text"),
        "its convolution caches beside attention are a layer kind that kvgate does not have",
    ),
    "dots3_note_text": "its sliding MLA is a layer kind that kvgate does not have",
    **dict.fromkeys(
        ("iquest_loopcoder", "iquestloopcoder", "dory", "hrm_text", "ouro"),
        "it runs its layers several times with a cache for each, which kvgate does not count",
    ),
    **dict.fromkeys(
        ("t5", "mt5", "umt5", "bart", "whisper", "t5gemma", "marian", "m2m_100"),
        "kvgate sizes decoders, and this is an encoder-decoder",
    ),
    **dict.fromkeys(
        ("bert", "roberta", "xlm-roberta", "modernbert", "nomic_bert", "distilbert"),
        "kvgate sizes decoders, and an encoder keeps no KV cache",
    ),
}
