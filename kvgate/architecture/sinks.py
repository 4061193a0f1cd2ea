"""Attention sinks: a learned logit per head that kernels have to support."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kvgate.architecture.config import Config
from kvgate.architecture.layers import Attention
from kvgate.architecture.layout import Layout, Reader

__all__ = ["always", "by_flags", "by_sink_flag", "with_sinks"]

# Which kinds of layer have sinks, given the config, and the key that says so.
Rule = Callable[[Config], tuple[frozenset[str], tuple[str, ...]]]


def always(config: Config) -> tuple[frozenset[str], tuple[str, ...]]:
    """Every layer of this family has sinks (gpt-oss)."""
    return frozenset({"full", "sliding"}), ()


def by_flags(config: Config) -> tuple[frozenset[str], tuple[str, ...]]:
    """MiMo-V2: one flag for each kind of layer; the sliding one is on by default."""
    full = config.flag("add_full_attention_sink_bias")
    sliding = config.flag("add_swa_attention_sink_bias", default=True)
    kinds = {kind for kind, on in (("full", full), ("sliding", sliding)) if on}
    why = config.why("add_full_attention_sink_bias", "add_swa_attention_sink_bias")
    return frozenset(kinds), why


def by_sink_flag(config: Config) -> tuple[frozenset[str], tuple[str, ...]]:
    """Granite with windows: ``attention_sinks``, on by default."""
    on = config.flag("attention_sinks", default=True)
    return frozenset({"full", "sliding"} if on else ()), config.why("attention_sinks")


def with_sinks(read: Reader, rule: Rule = always) -> Reader:
    """The same layers, with sinks where the rule says so."""

    def reader(config: Config) -> Layout:
        kinds, why = rule(config)
        done: dict[int, tuple[object, object]] = {}
        layout: Layout = []
        for kept in read(config):
            if id(kept) not in done:
                marked = tuple(
                    (replace(layer, sinks=True), (*because, *why))
                    if isinstance(layer, Attention) and layer.kind in kinds
                    else (layer, because)
                    for layer, because in kept
                )
                done[id(kept)] = (kept, marked)
            layout.append(done[id(kept)][1])  # type: ignore[arg-type]
        return layout

    return reader
