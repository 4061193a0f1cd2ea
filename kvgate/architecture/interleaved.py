"""Windows that a family lists in words or keys of its own: GPT-Neo, Doge, PLaMo 3, Domyn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kvgate.architecture.config import MOST_LAYERS, Config
from kvgate.architecture.family import Family, Types, defaults
from kvgate.architecture.heads import active_window, attention, kept, renamed
from kvgate.architecture.layout import Kept, Layout, by_type
from kvgate.architecture.sinks import always, with_sinks
from kvgate.architecture.sliding import full_unless_listed, sliding_by_type

__all__ = ["TYPES", "domyn", "gpt_neo", "plamo3"]


def _windowed(config: Config, key: str) -> Kept:
    """A layer whose window is in ``key``, full where it does nothing."""
    window = active_window(config, key)
    layer = attention(config) if window is None else attention(config, "sliding", window)
    return kept(config, layer, *config.why(key))


def gpt_neo(config: Config) -> Layout:
    """``attention_layers``, or ``attention_types``: words and how often they repeat.

    Local layers see the last ``window_size`` tokens.
    """
    layers = config.layers()
    config.ignore("attention_types", "window_size")
    words = config.words("attention_layers", at_least=layers)
    if words is None:
        words = _unrolled(config)
        if len(words) != layers:
            config.problem(
                f"{config.name('attention_types')} spells {len(words)} layers, not {layers}"
            )
            return []
    makers = {
        "global": lambda: kept(config, attention(config)),
        "local": lambda: _windowed(config, "window_size"),
    }
    return by_type(config, "attention_layers", words[:layers], makers)


def _unrolled(config: Config) -> list[str]:
    """``[[["global", "local"], 12]]`` as 24 words."""
    words: list[str] = []
    for entry in config.items("attention_types") or []:
        match entry:
            case [[*names], int() as times] if 0 <= times <= MOST_LAYERS:
                words += [str(name) for name in names] * times
            case _:
                config.problem(f"{config.name('attention_types')} is no list of [words, times]")
                return []
    return words


def doge(config: Config) -> Layout:
    """Every layer slides where ``sliding_window`` is set; its dynamic mask frees nothing."""
    config.ignore("keep_window_size")
    layer = _windowed(config, "sliding_window")
    return [layer] * config.layers()


def plamo3(config: Config) -> Layout:
    """All slide over ``window_size`` tokens but each ``sliding_window_pattern``-th."""
    layers = config.layers()
    every = config.whole("sliding_window_pattern", default=8) or 8
    config.ignore("layer_types", "interleaved_sliding_window", "sliding_window")
    why = config.why("sliding_window_pattern")
    makers = {
        "full": lambda: kept(config, attention(config), *why),
        "sliding": lambda: _windowed(config, "window_size"),
    }
    words = ["full" if (index + 1) % every == 0 else "sliding" for index in range(layers)]
    return by_type(config, "sliding_window_pattern", words, makers)


def domyn(config: Config) -> Layout:
    """``window_sizes``: [left, right] a layer, 0 or less for none; the token itself is one more.

    ``per_layer_config`` may give each layer a head width of its own.
    """
    layers = config.layers()
    windows = config.items("window_sizes", at_least=layers)
    widths = config.raw("per_layer_config")
    if windows is None:
        config.problem(f"{config.name('window_sizes')} is missing")
        return []
    full = attention(config)
    layout: Layout = []
    for index, entry in enumerate(windows[:layers]):
        left = entry[0] if isinstance(entry, list | tuple) and entry else None
        if isinstance(left, bool) or not isinstance(left, int) or left > 2**40:
            config.problem(f"{config.name('window_sizes')}[{index}] is no [left, right] window")
            return []
        width = _own_width(config, widths, index) or full.head_dim
        layer = replace(full, head_dim=width, v_head_dim=width)
        if left > 0:
            layer = replace(layer, kind="sliding", window=left + 1)
        said = (f"window_sizes={left}", f"head_dim={width}")
        layout.append(((layer, (*said, *config.why("num_key_value_heads"))),))
    return layout


def _own_width(config: Config, widths: object, index: int) -> int | None:
    own = None
    if isinstance(widths, Mapping):
        own = widths.get(str(index), widths.get(f"{index:02}"))
    elif isinstance(widths, list) and index < len(widths):
        own = widths[index]
    if not isinstance(own, Mapping):
        return None
    inner = Config(own, path=f"{config.path}per_layer_config[{index}].", problems=config.problems)
    return inner.whole("head_dim", most=65_536)


def modernbert(config: Config) -> Layout:
    """ModernBERT's decoder: one layer in three is full; a window is half of ``local_attention``."""
    layers = config.layers()
    every = config.whole("global_attn_every_n_layers", default=3) or 3
    config.fill("sliding_window", (config.whole("local_attention", default=128) or 128) // 2)
    types = config.words("layer_types", at_least=layers)
    if types is None:
        types = [
            "sliding_attention" if index % every else "full_attention" for index in range(layers)
        ]
    return sliding_by_type(config, types[:layers])


def flint(config: Config) -> Layout:
    """``layer_types``; without the list, or with ``use_sliding_window`` false, all are full."""
    if config.flag("use_sliding_window", default=True):
        return full_unless_listed(config)
    config.ignore("layer_types", "sliding_window")
    layer = kept(config, attention(config), *config.why("use_sliding_window"))
    return [layer] * config.layers()


TYPES: Types = {
    "gpt_neo": Family(
        renamed(gpt_neo, {"num_attention_heads": "num_heads"}), defaults(window_size=256)
    ),
    "doge": Family(doge),
    "plamo3": Family(plamo3, defaults(4, 128, window_size=2048)),
    "domyn_edge": Family(domyn),
    "flint": Family(with_sinks(flint, always), defaults(4, 128, 513)),
    "modernbert-decoder": Family(modernbert),
}
