"""The size of an attention layer: query heads, key-value heads, widths of keys and values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from kvgate.architecture.config import Config
from kvgate.architecture.layers import Attention, Indexer
from kvgate.architecture.layout import Kept, Layout, Reader

__all__ = [
    "GEOMETRY", "MOST_HEADS", "active_window", "attention", "floored", "full_kept", "head_width",
    "kept", "query_heads", "renamed", "sliding_kept",
]  # fmt: skip

# The keys that give an attention layer its size, in the order in which an explanation says them.
GEOMETRY = ("num_attention_heads", "num_key_value_heads", "head_dim")
MOST_HEADS = 65_536


def query_heads(config: Config) -> int:
    """``num_attention_heads``."""
    return config.need("num_attention_heads", most=MOST_HEADS)


def attention(
    config: Config,
    kind: Literal["full", "sliding", "chunked", "cross"] = "full",
    window: int | None = None,
    *,
    kv_heads: int | None = None,
    sinks: bool = False,
    indexer: Indexer | None = None,
) -> Attention:
    """One attention layer from the usual keys; ``kv_heads`` where another key has given them.

    ``num_key_value_heads`` null or unknown to the family means one per query head; ``head_dim``
    null or absent means hidden_size / num_attention_heads, which must then be whole.
    """
    heads = query_heads(config)
    if kv_heads is None:
        kv_heads = config.whole("num_key_value_heads", most=MOST_HEADS)
    if kv_heads is None:
        kv_heads = heads
        config.assume("num_key_value_heads", heads, "default: num_attention_heads")
    elif heads % kv_heads and not config.problems:
        config.problem(
            f"{config.name(config.found('num_attention_heads'))}={heads} is not a multiple of "
            f"{config.name(config.found('num_key_value_heads'))}={kv_heads}"
        )
    head_dim = head_width(config, heads)
    return Attention(
        kind, heads, kv_heads, head_dim, _value_width(config, head_dim), window, sinks, indexer
    )


def head_width(config: Config, heads: int) -> int:
    """``head_dim``, or hidden_size / heads."""
    head_dim = config.whole("head_dim", most=MOST_HEADS)
    if head_dim is not None:
        return head_dim
    hidden = config.need("hidden_size", most=2**24)
    if hidden % heads and not config.problems:
        config.problem(
            f"{config.name('head_dim')} is missing, and {config.name('hidden_size')}={hidden} is "
            f"not a multiple of {config.name('num_attention_heads')}={heads}"
        )
    head_dim = max(1, hidden // heads)
    config.assume("head_dim", head_dim, "default: hidden_size / num_attention_heads")
    return head_dim


def floored(read: Reader) -> Reader:
    """For families whose code rounds hidden_size / heads down where a file gives no ``head_dim``.

    Most families' own classes refuse such a file, and so does kvgate.
    """

    def reader(config: Config) -> Layout:
        width = config.need("hidden_size", most=2**24) // query_heads(config)
        config.fill("head_dim", max(1, width))
        return read(config)

    return reader


def renamed(read: Reader, names: Mapping[str, str]) -> Reader:
    """For families with names of their own: the usual key -> what their files call it."""

    def reader(config: Config) -> Layout:
        for key, own in names.items():
            if config.data.get(own) is not None:
                config.fill(key, config.data[own])
        return read(config)

    return reader


def _value_width(config: Config, head_dim: int) -> int:
    return head_dim if "v_head_dim" not in config.defaults else config.need("v_head_dim")


def kept(config: Config, layer: Attention, *because: str) -> Kept:
    """A layer with the keys that decided it: ``because`` first, then its geometry."""
    return ((layer, (*because, *config.why(*GEOMETRY))),)


def active_window(config: Config, key: str = "sliding_window") -> int | None:
    """The window, or None where it does nothing: null, 0, or at least the longest context."""
    window = config.whole(key, least=0)
    if not window:
        return None
    longest = config.whole("max_position_embeddings")
    if longest is not None and window >= longest:
        return None
    return window


def full_kept(config: Config) -> Kept:
    """A full attention layer from the usual keys."""
    return kept(config, attention(config))


def sliding_kept(config: Config) -> Kept:
    """A sliding attention layer, full where its window does nothing."""
    window = active_window(config)
    layer = attention(config) if window is None else attention(config, "sliding", window)
    return kept(config, layer, *config.why("sliding_window"))
