"""Sliding windows: all layers, the layers of a list, or every layer but each n-th."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kvgate.architecture.config import Config
from kvgate.architecture.family import Family, Types, defaults
from kvgate.architecture.heads import active_window, attention, floored, kept
from kvgate.architecture.layers import Attention
from kvgate.architecture.layout import Kept, Layout, Reader, by_type, said
from kvgate.architecture.sinks import always, by_sink_flag, with_sinks

__all__ = ["TYPES", "alternating", "flagged", "pattern", "sliding_by_type", "windowed"]


def _full(config: Config) -> Kept:
    return kept(config, attention(config))


def _sliding(config: Config) -> Kept:
    """A sliding layer, which is a full one where the window does nothing."""
    window = active_window(config)
    because = config.why("sliding_window")
    if window is not None:
        return kept(config, attention(config, "sliding", window), *because)
    inert = tuple(f"{entry} (inert: not below max_position_embeddings)" for entry in because)
    return kept(config, attention(config), *(inert or ("sliding_window=null",)))


def sliding_by_type(config: Config, types: Sequence[str]) -> Layout:
    """``full_attention`` and ``sliding_attention``, one word a layer.

    A pattern that a file gives beside the list is what the list was made from. The list decides: a
    window beside a list without sliding layers does nothing.
    """
    config.ignore("sliding_window_pattern", "_sliding_window_pattern", "sliding_window")
    known = {"full_attention": lambda: _full(config), "sliding_attention": lambda: _sliding(config)}
    return by_type(config, "layer_types", types, known)


def windowed(config: Config) -> Layout:
    """Every layer slides where ``sliding_window`` is set (Mistral, Phi-3, StarCoder 2)."""
    layers = config.layers()
    types = config.words("layer_types", at_least=layers)
    if types is not None:
        return sliding_by_type(config, types[:layers])
    return [said(_sliding(config), config.why("num_hidden_layers"))] * layers


def flagged(config: Config) -> Layout:
    """Qwen's rule: with ``use_sliding_window``, layers from ``max_window_layers`` on slide."""
    layers = config.layers()
    config.ignore("sliding_window", "max_window_layers")
    use = config.flag("use_sliding_window", default=bool(config.defaults.get("use_sliding_window")))
    types = config.words("layer_types", at_least=layers)
    if types is not None and (use or "sliding_attention" not in types):
        return sliding_by_type(config, types[:layers])
    if not use or active_window(config) is None:
        because = config.why("use_sliding_window") or ("use_sliding_window=false (default)",)
        return [said(_full(config), because)] * layers
    first = config.whole("max_window_layers", least=0)
    if first is None:
        first = 0
    because = config.why("use_sliding_window", "max_window_layers")
    slide, attend = said(_sliding(config), because), said(_full(config), because)
    return [slide if index >= first else attend for index in range(layers)]


def pattern(
    config: Config, every: int, because: Sequence[str], *, full_first: bool = False
) -> Layout:
    """All slide but one in ``every``: the last of them, or the first (``full_first``)."""
    layers = config.layers()
    slide, attend = said(_sliding(config), because), said(_full(config), because)
    offset = 0 if full_first else 1
    return [slide if (index + offset) % every else attend for index in range(layers)]


def alternating(every: int, *, key: str = "", full_first: bool = False) -> Reader:
    """A reader for `pattern`; ``key`` is the config's own name for ``every``.

    ``layer_types`` wins where the file writes it out. Null ``sliding_window`` leaves all full.
    """

    def read(config: Config) -> Layout:
        layers = config.layers()
        step = every
        because: Sequence[str] = (f"one layer in {every} is full (default)",)
        if key:
            step = config.whole(key, default=every) or every
            because = config.why(key)
        types = config.words("layer_types", at_least=layers)
        if types is not None:
            return sliding_by_type(config, types[:layers])
        return pattern(config, step, because, full_first=full_first)

    return read


def lettered(config: Config) -> Layout:
    """EXAONE 4: ``sliding_window_pattern`` is a number, or letters: L for local, G for global.

    Letters repeat over the layers, and the last layer is full whatever they say.
    """
    letters = config.raw("sliding_window_pattern", default=False)
    if not isinstance(letters, str) or config.data.get("layer_types") is not None:
        config.ignore("sliding_window_pattern")
        number = isinstance(letters, int) and not isinstance(letters, bool)
        return alternating(4, key="sliding_window_pattern" if number else "")(config)
    layers = config.layers()
    if not letters or set(letters) - set("LG"):
        config.problem(f"{config.name('sliding_window_pattern')}={letters} is not made of L and G")
        return []
    why = config.why("sliding_window_pattern")
    slide, attend = said(_sliding(config), why), said(_full(config), why)
    layout = [slide if letters[index % len(letters)] == "L" else attend for index in range(layers)]
    return [*layout[:-1], attend]


def unpositioned(config: Config) -> Layout:
    """SmolLM 3: only layers without RoPE slide, and only with ``use_sliding_window``."""
    config.ignore("no_rope_layers", "no_rope_layer_interval")
    if config.flag("use_sliding_window") and config.data.get("layer_types") is None:
        config.problem(f"{config.name('use_sliding_window')}=true without layer_types")
    return flagged(config)


def from_layer(config: Config) -> Layout:
    """dots.llm1: the layers from ``max_window_layers`` on slide, without a flag."""
    layers = config.layers()
    types = config.words("layer_types", at_least=layers)
    if types is not None:
        config.ignore("max_window_layers")
        return sliding_by_type(config, types[:layers])
    first = config.whole("max_window_layers", least=0, default=62) or 0
    if first >= layers or active_window(config) is None:
        config.ignore("sliding_window")
        return [said(_full(config), config.why("max_window_layers"))] * layers
    why = config.why("max_window_layers")
    slide, attend = said(_sliding(config), why), said(_full(config), why)
    return [slide if index >= first else attend for index in range(layers)]


def _ending(every: int) -> Reader:
    """One layer in ``every`` is full, counted backwards from the last."""

    def read(config: Config) -> Layout:
        layers = config.layers()
        types = config.words("layer_types", at_least=layers)
        if types is None:
            types = [
                "sliding_attention" if (layers - 1 - index) % every else "full_attention"
                for index in range(layers)
            ]
        return sliding_by_type(config, types[:layers])

    return read


def _beam(config: Config) -> Layout:
    """One layer in six is full, and so is the last."""
    layout = alternating(6)(config)
    if config.data.get("layer_types") is None and layout:
        layout[-1] = _full(config)
    return layout


def _laguna(config: Config) -> Layout:
    """Laguna: ``num_attention_heads_per_layer`` gives each layer query heads of its own."""
    layout = full_unless_listed(config)
    heads = config.numbers("num_attention_heads_per_layer", at_least=len(layout), least=1)
    if heads is None:
        return layout
    return [
        tuple(
            (replace(layer, query_heads=count) if isinstance(layer, Attention) else layer, why)
            for layer, why in kept
        )
        for kept, count in zip(layout, heads, strict=False)
    ]


def full_unless_listed(config: Config) -> Layout:
    """All layers are full unless ``layer_types`` says otherwise; a window alone does nothing."""
    layers = config.layers()
    types = config.words("layer_types", at_least=layers)
    if types is not None:
        return sliding_by_type(config, types[:layers])
    config.ignore("sliding_window")
    return [said(_full(config), ("layer_types is absent",))] * layers


_MISTRAL = {
    "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
    "intermediate_size": 14336, "max_position_embeddings": 131072, "vocab_size": 32000,
}  # fmt: skip
_QWEN2 = {"sliding_window": 4096, "max_window_layers": 28}
_QWEN2_ALONE = {
    "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
    "intermediate_size": 22016, "max_position_embeddings": 32768, "vocab_size": 151936,
}  # fmt: skip
_GEMMA3 = {
    "num_attention_heads": 8, "vocab_size": 262208, "max_position_embeddings": 131072,
}  # fmt: skip
_EVERY = "sliding_window_pattern"

TYPES: Types = {
    "mistral": Family(windowed, defaults(8, window=4096), nested=_MISTRAL),
    "ministral": Family(windowed, defaults(8, window=4096)),
    "ministral3": Family(windowed, defaults(8, 128)),
    "mixtral": Family(windowed, defaults(8)),
    "minimax_m2_mtp": Family(windowed, defaults(8, 128)),
    "phi3": Family(windowed),
    "phi3_v": Family(windowed),
    "phi4mm": Family(windowed),
    "phi4_multimodal": Family(windowed, defaults(8)),
    "phimoe": Family(windowed, defaults(8)),
    "solar": Family(windowed),
    "kyutai_speech_to_text": Family(windowed, defaults(32, 64, 375)),
    "starcoder2": Family(windowed, defaults(2)),
    "voxtral_realtime_text": Family(windowed, defaults(8, window=4096)),
    "qwen2": Family(flagged, defaults(32, **_QWEN2), nested=_QWEN2_ALONE),
    "qwen2_moe": Family(flagged, defaults(16, **_QWEN2)),
    "qwen2_vl": Family(flagged, defaults(8, **_QWEN2)),
    "qwen2_vl_text": Family(flagged, defaults(8, **_QWEN2)),
    "qwen2_5_vl": Family(flagged, defaults(8, **_QWEN2)),
    "qwen2_5_vl_text": Family(flagged, defaults(8, **_QWEN2)),
    "qwen2_5_omni_text": Family(flagged, defaults(4, **_QWEN2)),
    "qwen2_audio_encoder": Family(flagged, defaults(32, **_QWEN2)),
    "dots_ocr": Family(flagged, defaults(32, **_QWEN2)),
    "kimi_audio": Family(flagged, _QWEN2),
    "minicpmv": Family(flagged, _QWEN2),
    "minicpmo": Family(flagged, _QWEN2),
    "mimo": Family(flagged, defaults(32, **_QWEN2)),
    "qwen3": Family(flagged, defaults(32, 128, **_QWEN2)),
    "qwen3_moe": Family(flagged, defaults(4, window=4096)),
    "qwen3_vl_text": Family(flagged, defaults(32, 128)),
    "qwen3_vl_moe_text": Family(flagged, defaults(16)),
    "qwen3_omni_moe_text": Family(floored(flagged), defaults(4)),
    "k2_horizon": Family(flagged, defaults(8, 64)),
    "smollm3": Family(unpositioned, defaults(4)),
    "dots1": Family(from_layer, defaults(32, window=4096)),
    "gemma2": Family(
        alternating(2),
        defaults(4, 256, 4096),
        nested={"max_position_embeddings": 8192},
        ignores=("sliding_window_size",),
    ),
    "vaultgemma": Family(alternating(2), defaults(4, 256, 4096)),
    "gemma3_text": Family(alternating(6, key=_EVERY), defaults(4, 256, 4096), nested=_GEMMA3),
    "gpt_oss": Family(with_sinks(alternating(2), always), defaults(8, 64, 128)),
    "cohere2": Family(
        alternating(4, key=_EVERY),
        defaults(window=4096),
        ignores=("layer_switch", "order_of_interleaved_layers"),
    ),
    "cohere2_moe": Family(
        alternating(4, key=_EVERY),
        defaults(None, 128, 4096),
        ignores=("prefix_dense_sliding_window_pattern",),
    ),
    "exaone4": Family(lettered, defaults(32, window=4096)),
    "exaone4_5_text": Family(lettered, defaults(32, window=4096)),
    "exaone_moe": Family(lettered, defaults(32, window=4096)),
    "olmo3": Family(alternating(4), defaults(window=4096)),
    "afmoe": Family(alternating(4, key="global_attn_every_n_layers"), defaults(None, 128, 1024)),
    "cwm": Family(alternating(4, full_first=True), defaults(8, 128, 8192)),
    "granite_swa": Family(
        with_sinks(alternating(4, full_first=True), by_sink_flag), defaults(4, window=128)
    ),
    "granitemoe_swa": Family(
        with_sinks(alternating(4, full_first=True), by_sink_flag), defaults(window=128)
    ),
    "kolibri1": Family(alternating(5), defaults(4, 128, 513)),
    "mellum": Family(full_unless_listed, defaults(4, 128, 1024), draft=("num_mtp_layers",)),
    "laguna": Family(_laguna, defaults(8, 128, 512)),
    "cohere_compass_text": Family(full_unless_listed, defaults(window=4096)),
    "beam": Family(_beam, defaults(8, 128, 512)),
    "muse_glimmer_text": Family(_ending(4), defaults(2, 128, 2048)),
    "muse_spark_text": Family(_ending(4), defaults(16, 64, 2048)),
}
