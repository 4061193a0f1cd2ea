"""Full attention with an indexer beside it: MiniMax-M3, Qwen4."""

from __future__ import annotations

from kvgate.architecture.config import Config
from kvgate.architecture.family import Family, Types, defaults
from kvgate.architecture.heads import attention, kept
from kvgate.architecture.layers import Indexer
from kvgate.architecture.layout import Kept, Layout, by_type
from kvgate.architecture.states import gated_delta_net

__all__ = ["TYPES", "minimax_m3", "qwen4"]


def minimax_m3(config: Config) -> Layout:
    """Which layers choose blocks of tokens by an index key: ``sparse_attention_config`` says so.

    transformers writes ``layer_types`` and flat ``index_*`` keys instead.
    """
    layers = config.layers()
    full = kept(config, attention(config))
    config.ignore(*_FLAT)
    sparse = config.inner("sparse_attention_config")
    if sparse is None:
        return _flat(config, layers, full)
    config.ignore("layer_types")
    if not sparse.flag("use_sparse_attention", default=True):
        return [full] * layers
    marks = sparse.numbers("sparse_attention_freq", at_least=layers, most=1)
    if marks is None:
        sparse.problem(f"{sparse.name('sparse_attention_freq')} is missing")
        return []
    indexer = Indexer(
        head_dim=sparse.need("sparse_index_dim"),
        topk=sparse.need("sparse_topk_blocks"),
        heads=sparse.need("sparse_num_index_heads"),
    )
    why = sparse.why("sparse_index_dim", "sparse_topk_blocks")
    indexed = kept(config, attention(config, indexer=indexer), *why)
    named = {
        mark: tuple(
            (layer, (f"sparse_attention_config.sparse_attention_freq={mark}", *rest))
            for layer, rest in entry
        )
        for mark, entry in ((0, full), (1, indexed))
    }
    return [named[mark] for mark in marks[:layers]]


# transformers' own names for what released files keep in sparse_attention_config.
_FLAT = ("index_n_heads", "index_head_dim", "index_topk_blocks", "index_block_size")


def _flat(config: Config, layers: int, full: Kept) -> Layout:
    """``layer_types`` says which layers have an indexer; without the list none has."""
    types = config.words("layer_types", at_least=layers)
    if types is None:
        return [full] * layers

    def indexed() -> Kept:
        indexer = Indexer(
            head_dim=config.need("index_head_dim"),
            topk=config.need("index_topk_blocks"),
            heads=config.need("index_n_heads"),
        )
        why = config.why("index_head_dim", "index_topk_blocks")
        return kept(config, attention(config, indexer=indexer), *why)

    known = {"full_attention": lambda: full, "minimax_m3_sparse": indexed}
    return by_type(config, "layer_types", types[:layers], known)


def qwen4(config: Config) -> Layout:
    """Gated delta net with indexed attention, plainly full without ``indexer_*`` widths."""
    layers = config.layers()
    config.ignore("number_of_conv_states", "ple_conv_kernel_size")
    interval = config.whole("full_attention_interval", default=4) or 4
    heads = config.whole("indexer_n_heads")
    indexer = None
    if heads is not None:
        indexer = Indexer(
            head_dim=config.need("indexer_head_dim"),
            topk=config.need("indexer_budget"),
            heads=heads,
        )
        config.ignore("indexer_kv_heads", "indexer_compress_ratio")

    def attend() -> Kept:
        return kept(
            config,
            attention(config, indexer=indexer),
            *config.why("indexer_head_dim", "indexer_budget"),
        )

    types = config.words("layer_types", at_least=layers)
    if types is None:
        types = [
            "linear_attention" if (index + 1) % interval else "full_attention"
            for index in range(layers)
        ]
    known = {
        "linear_attention": lambda: gated_delta_net(config),
        "indexed_attention": attend,
        "full_attention": attend,
    }
    return by_type(config, "layer_types", types[:layers], known)


TYPES: Types = {
    **{
        name: Family(minimax_m3, defaults(4, 128), draft=("num_mtp_modules",))
        for name in ("minimax_m3", "minimax_m3_text", "minimax_m3_vl_text")
    },
    "qwen4_exp_text": Family(
        qwen4,
        defaults(2, 256),
        draft=("mtp_num_hidden_layers",),
        notes=("index keys are averaged: one for indexer_compress_ratio tokens",),
    ),
}
