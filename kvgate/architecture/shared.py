"""Gemma 3n and 4: sliding and full layers of different heads, and a tail that reuses their KV."""

from __future__ import annotations

from collections.abc import Sequence

from kvgate.architecture.config import MOST_LAYERS, Config
from kvgate.architecture.family import Family, Types, defaults
from kvgate.architecture.heads import active_window, attention, kept
from kvgate.architecture.layers import Attention, NoCache
from kvgate.architecture.layout import Kept, Layout, by_type

__all__ = ["TYPES", "gemma3n", "gemma4"]


def _layers(config: Config, every: int, *, last_is_full: bool) -> tuple[list[str], str]:
    layers = config.layers()
    types = config.words("layer_types", at_least=layers)
    config.ignore("sliding_window_pattern", "_sliding_window_pattern")
    key = "layer_types"
    if types is None:
        key = f"one layer in {every} is full (default)"
        types = [
            "sliding_attention" if (index + 1) % every else "full_attention"
            for index in range(layers)
        ]
    types = types[:layers]
    if last_is_full and types and types[-1] == "sliding_attention":
        types[-1] = "full_attention"
    return types, key


def _share(config: Config, layout: Layout, types: Sequence[str]) -> Layout:
    """The last ``num_kv_shared_layers`` read the KV of the last layer of their type before them."""
    shared = config.whole("num_kv_shared_layers", least=0, most=MOST_LAYERS) or 0
    if not shared:
        return layout
    first = len(layout) - shared
    if first <= 0 or not set(types) <= set(types[:first]):
        config.problem(
            f"{config.name('num_kv_shared_layers')}={shared} leaves no layer of each type to share"
        )
        return layout
    tail: Kept = ((NoCache("shares-kv"), config.why("num_kv_shared_layers")),)
    return [*layout[:first], *[tail] * shared]


def _read(config: Config, every: int, full: Attention, *, last_is_full: bool = False) -> Layout:
    types, key = _layers(config, every, last_is_full=last_is_full)
    window = active_window(config)

    def attend() -> Kept:
        why = ("global_head_dim", "num_global_key_value_heads")
        return ((full, (*config.why(*why), *kept(config, full)[0][1])),)

    def slide() -> Kept:
        if window is None:
            return kept(config, attention(config), "sliding_window is inert")
        return kept(config, attention(config, "sliding", window), *config.why("sliding_window"))

    known = {"full_attention": attend, "sliding_attention": slide}
    layout = by_type(config, key, types, known)
    return _share(config, layout, types)


def gemma3n(config: Config) -> Layout:
    """Gemma 3n: one layer in five is full, the last ``num_kv_shared_layers`` (15) share."""
    return _read(config, 5, attention(config))


def gemma4(config: Config) -> Layout:
    """Gemma 4: full layers have ``global_head_dim`` (512), and with ``attention_k_eq_v`` their own
    ``num_global_key_value_heads``. Keys and values are both cached even where they are equal.
    """
    local = attention(config)
    width, heads = _saved(config)
    width = config.whole("global_head_dim", default=width or 512) or 512
    heads = config.whole("num_global_key_value_heads", most=65_536) or heads
    alike = config.flag("attention_k_eq_v")
    kv_heads = heads if heads is not None and alike else local.kv_heads
    if local.query_heads % kv_heads:
        config.problem(
            f"{config.name('num_global_key_value_heads')}={kv_heads} does not divide "
            f"{config.name('num_attention_heads')}={local.query_heads}"
        )
    full = Attention("full", local.query_heads, kv_heads, width, width)
    return _read(config, 6, full, last_is_full=True)


def _saved(config: Config) -> tuple[int | None, int | None]:
    """What transformers writes in place of the two global keys: ``per_layer_config``."""
    layers = config.inner("per_layer_config")
    if layers is None or not layers.data:
        return None, None
    read = [layers.inner(index) for index in layers.data]
    found = {
        (layer.whole("head_dim"), layer.whole("num_key_value_heads"))
        for layer in read
        if layer is not None
    }
    if len(found) != 1:
        config.problem(f"{config.name('per_layer_config')} gives more than one kind of full layer")
        return None, None
    return found.pop()


TYPES: Types = {
    "gemma3n_text": Family(
        gemma3n,
        defaults(2, 256, 512, num_kv_shared_layers=15),
        ignores=("activation_sparsity_pattern",),
    ),
    **{
        name: Family(gemma4, defaults(4, 256, 512))
        for name in ("gemma4_text", "gemma4_unified_text", "diffusion_gemma_text")
    },
}
