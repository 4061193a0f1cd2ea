"""Multi-head latent attention, dense and sparse: DeepSeek V2 to V3.2, Kimi K2, GLM-5, MiniCPM 3."""

from __future__ import annotations

from collections.abc import Sequence

from kvgate.architecture.config import MOST_LAYERS, Config
from kvgate.architecture.family import Family, Types
from kvgate.architecture.heads import GEOMETRY, attention, query_heads
from kvgate.architecture.layers import MLA, Indexer, NoCache
from kvgate.architecture.layout import Kept, Layout, uniform
from kvgate.errors import nearest

__all__ = ["TYPES", "indexer", "indexer_modes", "latent", "latent_why", "mla", "mla_kept"]

_GEOMETRY = ("kv_lora_rank", "qk_rope_head_dim")
_MOST = 65_536


def latent(
    config: Config,
    indexer: Indexer | None = None,
    *,
    shares: bool = False,
    sparse: bool = False,
    nope: bool = False,
) -> MLA:
    """One MLA layer. With ``nope`` the latent carries no RoPE part, and its width may be 0."""
    config.ignore("head_dim", "num_key_value_heads", "q_lora_rank", "qk_head_dim")
    return MLA(
        query_heads=query_heads(config),
        kv_lora_rank=config.need("kv_lora_rank", most=_MOST),
        qk_rope_head_dim=_width(config, "qk_rope_head_dim", 0 if nope else 1),
        qk_nope_head_dim=config.need("qk_nope_head_dim", most=_MOST),
        v_head_dim=config.need("v_head_dim", most=_MOST),
        indexer=indexer,
        shares_indexer=shares,
        sparse=sparse,
    )


def _width(config: Config, key: str, least: int) -> int:
    if least:
        return config.need(key, most=_MOST)
    value = config.whole(key, least=0, most=_MOST)
    if value is None and config.data.get(key) is None:
        config.problem(f"{config.name(key)} is missing")
    return value or 0


def latent_why(config: Config) -> tuple[str, ...]:
    """The keys that give a latent its width."""
    return config.why(*_GEOMETRY)


def indexer(config: Config) -> Indexer | None:
    """The indexer of a sparse model, None where ``index_topk`` is absent."""
    topk = config.whole("index_topk")
    if topk is None:
        return None
    return Indexer(
        head_dim=config.need("index_head_dim", most=_MOST),
        topk=topk,
        heads=config.need("index_n_heads", most=_MOST),
    )


def indexer_modes(config: Config, layers: int) -> list[str] | None:
    """``full`` or ``shared`` for each layer (GLM-5.2), None where each layer has its own indexer.

    The list may be written out, be a pattern of F and S, or follow from a frequency and an offset:
    layer i runs its own indexer where max(i - offset + 1, 0) is a multiple of the frequency.
    """
    modes = config.words("indexer_types", at_least=layers)
    pattern = config.raw("index_topk_pattern")
    frequency = config.whole("index_topk_freq", default=1) or 1
    offset = config.whole("index_skip_topk_offset", least=0, default=2)
    if modes is not None:
        key = "indexer_types"
    elif pattern is not None:
        key, words = "index_topk_pattern", {"F": "full", "S": "shared"}
        if not isinstance(pattern, str | list) or len(pattern) < layers:
            config.problem(f"{config.name(key)} must have an entry for each of {layers} layers")
            return None
        modes = [words.get(str(letter), str(letter)) for letter in pattern]
    elif frequency > 1:
        key = "index_topk_freq"
        modes = [
            "full" if max(index - (offset or 0) + 1, 0) % frequency == 0 else "shared"
            for index in range(layers)
        ]
    else:
        return None
    for position, mode in enumerate(modes[:layers]):
        if mode not in ("full", "shared"):
            config.problem(f"{config.name(key)}[{position}] is {mode!r}, not 'full' or 'shared'")
            return None
    return modes[:layers]


def mla_kept(config: Config, mode: str | None = None, *, nope: bool = False) -> Kept:
    """One layer: dense without an indexer, sparse with its own or with an earlier layer's."""
    found = indexer(config)
    why: Sequence[str] = ()
    if found is None:
        layer = latent(config, nope=nope)
    elif mode == "shared":
        layer = latent(config, shares=True, sparse=True, nope=nope)
        why = ("indexer_types=shared",)
    else:
        layer = latent(config, found, sparse=True, nope=nope)
        full = ("indexer_types=full",) if mode else ()
        why = (*full, *config.why("index_topk", "index_head_dim"))
    return ((layer, (*why, *latent_why(config))),)


_SPARSE = frozenset(
    {"indexed_attention", "deepseek_sparse_attention", "sparse_attention", "sparse"}
)


def mla(config: Config) -> Layout:
    """Every layer is MLA, sparse where the config has an indexer.

    ``layer_types``, where a file writes it out, may leave some layers dense.
    """
    layers = config.layers()
    modes: list[str | None] = [None] * layers
    if config.data.get("index_topk") is not None:
        modes = list(indexer_modes(config, layers) or modes)
    types = config.words("layer_types", at_least=layers)
    words = types[:layers] if types is not None else []
    for position, word in enumerate(words):
        if word not in _SPARSE and word != "full_attention":
            config.problem(
                f"{config.name('layer_types')}[{position}] is {word!r}, which is no layer type of "
                f"this family ({nearest(word, [*sorted(_SPARSE), 'full_attention'])})"
            )
            break
    if set(words) & _SPARSE and config.data.get("index_topk") is None:
        config.problem(f"{config.name('index_topk')} is missing, and layer_types is sparse")
    mixed = bool(set(words) & _SPARSE)
    dense: Kept = ()
    if mixed and "full_attention" in words:
        dense = ((latent(config), ("layer_types=full_attention", *latent_why(config))),)
    kept = {mode: mla_kept(config, mode) for mode in dict.fromkeys(modes)}
    return [
        dense if mixed and word == "full_attention" else kept[mode]
        for mode, word in zip(modes, words or [""] * layers, strict=True)
    ]


def sparse_mla(config: Config) -> Layout:
    """MLA of a family whose every model has an indexer."""
    config.need("index_topk")
    return mla(config)


def mla_or_mha(config: Config) -> Layout:
    """DeepSeek V2: its small vision models say ``use_mla`` false and keep plain keys and values."""
    if not config.flag("use_mla", default=True):
        config.ignore("kv_lora_rank", "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim")
        config.ignore("v_head_dim")
        layer = attention(config)
        why = (*config.why("use_mla"), *config.why(*GEOMETRY))
        return uniform(config.layers(), layer, why)
    return mla(config)


def minicpm3(config: Config) -> Layout:
    """MiniCPM 3: values are hidden_size / heads wide where the file does not say."""
    if config.data.get("v_head_dim") is None:
        width = config.need("hidden_size") // query_heads(config)
        config.defaults = {**config.defaults, "v_head_dim": max(1, width)}
    return mla(config)


def longcat(config: Config) -> Layout:
    """LongCat-Flash: each of ``num_layers`` blocks runs MLA twice, and keeps two caches.

    transformers counts 2 x ``num_layers`` as ``num_hidden_layers``; a file may say either.
    """
    blocks = config.whole("num_layers", most=MOST_LAYERS)
    counted = config.whole("num_hidden_layers", most=MOST_LAYERS) if blocks is None else None
    config.ignore("num_hidden_layers")
    if blocks is None:
        if counted is None or counted % 2:
            config.problem(f"{config.name('num_layers')} is missing")
            return []
        blocks = counted // 2
    why = (*config.why("num_layers"), "model_type=longcat_flash (two MLA layers a block)")
    return [tuple((layer, (*why, *rest)) for layer, rest in mla_kept(config))] * (2 * blocks)


def sourced(config: Config) -> Layout:
    """Mistral Large 4: sparse MLA whose layers may read the latents of ``kv_source_layers``."""
    layout = sparse_mla(config)
    sources = config.numbers("kv_source_layers", at_least=len(layout), most=MOST_LAYERS)
    config.ignore("no_rope_layers", "no_rope_layer_interval")
    if sources is None:
        return layout
    reads: Kept = ((NoCache("shares-kv"), ("kv_source_layers",)),)
    return [
        kept if source == index else reads
        for index, (kept, source) in enumerate(zip(layout, sources, strict=False))
    ]


_GLM = ("rope_interleave", "indexer_rope_interleave", "index_share_for_mtp_iteration")

TYPES: Types = {
    **{
        name: Family(mla, ignores=_GLM)
        for name in (
            "axk1", "deepseek_v3", "glm4_moe_lite", "kimi_k2", "mistral4", "pangu_ultra_moe",
            "sarvam_mla", "youtu",
        )
    },
    **{
        name: Family(sparse_mla, ignores=_GLM)
        for name in ("axk2", "deepseek_v32", "glm_moe_dsa", "hy_v4", "hy_v4_vl_text")
    },
    "deepseek_v2": Family(mla_or_mha, ignores=_GLM),
    "minicpm3": Family(
        minicpm3,
        notes=(
            "vLLM caches this family's keys and values decompressed: num_attention_heads x "
            "(qk_nope_head_dim + qk_rope_head_dim) for each of them",
        ),
    ),
    "mistral_large4_text": Family(sourced, ignores=_GLM),
    "longcat_flash": Family(longcat, ignores=("mla_scale_q_lora", "mla_scale_kv_lora")),
}  # fmt: skip
