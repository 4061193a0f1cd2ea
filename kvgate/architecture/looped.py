"""Models that run their layers several times, with a cache for each time: Ouro, Dory, HRM-Text.

A layer that keeps several equal caches stands in its group as often.
"""

from __future__ import annotations

from kvgate.architecture.config import MOST_LAYERS, Config
from kvgate.architecture.family import Family, Types, defaults
from kvgate.architecture.heads import attention, full_kept, kept, query_heads, sliding_kept
from kvgate.architecture.layers import NoCache
from kvgate.architecture.layout import Kept, Layout, by_type, said

__all__ = ["TYPES", "dory", "hrm_text", "loopcoder", "ouro"]

_MOST_LOOPS = 1024
_MLP: Kept = ((NoCache("mlp"), ()),)


def ouro(config: Config) -> Layout:
    """Every layer runs ``total_ut_steps`` times, with a full cache for each."""
    layers = config.layers()
    config.ignore("sliding_window", "max_window_layers")
    if config.flag("use_sliding_window"):
        config.problem(f"{config.name('use_sliding_window')}=true is not supported in this family")
    types = config.words("layer_types", at_least=layers)
    odd = next((word for word in types or () if word != "full_attention"), None)
    if odd is not None:
        config.problem(f"{config.name('layer_types')}: {odd!r} is not supported in this family")
    loops = config.whole("total_ut_steps", most=_MOST_LOOPS, default=4) or 4
    return [said(full_kept(config), config.why("total_ut_steps")) * loops] * layers


def nanbeige(config: Config) -> Layout:
    """Nanbeige 4.2: every layer runs ``num_loops`` times, with a full cache for each."""
    loops = config.whole("num_loops", most=_MOST_LOOPS, default=1) or 1
    return [said(full_kept(config), config.why("num_loops")) * loops] * config.layers()


def loopcoder(config: Config) -> Layout:
    """The first of ``loop_num`` runs keeps everything, the others the last tokens of their own."""
    layers = config.layers()
    loops = config.whole("loop_num", most=_MOST_LOOPS, default=2) or 2
    window = config.whole("loop_window_size", default=64) or 64
    first = said(full_kept(config), config.why("loop_num"))
    why = config.why("loop_num", "loop_window_size")
    later = kept(config, attention(config, "sliding", window), *why)
    return [(*first, *later * (loops - 1))] * layers


def dory(config: Config) -> Layout:
    """``layer_types`` of attention and MLP; the recurrent stretch runs ``n_recurrent_loops`` times.

    With ``recurrent_kv_cache_mode`` last_loop, its runs write over each other in one cache.
    """
    layers = config.layers()
    types = config.words("layer_types", at_least=layers)
    if types is None:
        types = [
            "mlp" if index % 2 else "full_attention" if index % 8 == 6 else "sliding_attention"
            for index in range(layers)
        ]
    layout = by_type(
        config,
        "layer_types",
        types[:layers],
        {
            "mlp": lambda: _MLP,
            "full_attention": lambda: full_kept(config),
            "sliding_attention": lambda: sliding_kept(config),
        },
    )
    before = config.whole("n_input_layers", least=0, most=MOST_LAYERS, default=0) or 0
    after = config.whole("n_output_layers", least=0, most=MOST_LAYERS, default=0) or 0
    rest = layers - before - after
    turning = config.whole("n_recurrent_layers", least=0, most=MOST_LAYERS, default=max(0, rest))
    if turning != rest:
        config.problem(
            f"{config.name('n_input_layers')}={before}, n_recurrent_layers={turning} and "
            f"n_output_layers={after} are not {layers} layers together"
        )
    loops = config.whole("n_recurrent_loops", most=_MOST_LOOPS, default=1) or 1
    mode = config.text("recurrent_kv_cache_mode") or "per_loop"
    if mode not in ("per_loop", "last_loop"):
        config.problem(
            f"{config.name('recurrent_kv_cache_mode')}={mode} is neither per_loop nor last_loop"
        )
    if mode == "last_loop" or loops == 1:
        return layout
    why = config.why("n_recurrent_loops")
    return [
        said(one, why) * loops if before <= index < layers - after and word != "mlp" else one
        for index, (one, word) in enumerate(zip(layout, types, strict=False))
    ]


def hrm_text(config: Config) -> Layout:
    """Two stacks of ``num_layers_per_stack``: in each of ``H_cycles`` the low one runs
    ``L_cycles`` times, then the high one once.

    Beside ``num_layers_per_stack``, ``num_hidden_layers`` counts the runs; older files have only
    the latter, and mean a stack by it. The low stack's layers come first.
    """
    high = config.need("H_cycles", most=_MOST_LOOPS)
    low = config.need("L_cycles", most=_MOST_LOOPS)
    counted = config.layers()
    stack = config.whole("num_layers_per_stack", most=MOST_LAYERS)
    runs = high * (low + 1)
    if stack is None:
        stack = counted
    elif counted != stack * runs:
        config.problem(
            f"{config.name('num_hidden_layers')}={counted} is not num_layers_per_stack={stack} x "
            f"H_cycles={high} x (L_cycles={low} + 1)"
        )
    full = kept(config, attention(config, kv_heads=query_heads(config)))
    full = said(full, config.why("H_cycles", "L_cycles", "num_layers_per_stack"))
    return [full * (high * low)] * stack + [full * high] * stack


_RUNS = "each run of a layer keeps a cache of its own, and counts as a layer here"

TYPES: Types = {
    "ouro": Family(ouro, notes=(_RUNS,)),
    "nanbeige": Family(
        nanbeige,
        notes=(
            _RUNS,
            "the need counts a cache for each run, as its own code keeps; vLLM's transformers "
            "backend makes one cache a layer",
        ),
    ),
    "iquestloopcoder": Family(loopcoder, defaults(8, 128), notes=(_RUNS,)),
    "iquest_loopcoder": Family(loopcoder, defaults(8, 128), notes=(_RUNS,)),
    "dory": Family(
        dory,
        defaults(4, 256, 1024),
        notes=(_RUNS, "vLLM runs it at tensor parallel size 1 only"),
    ),
    "hrm_text": Family(hrm_text, ignores=("num_key_value_heads",), notes=(_RUNS,)),
}
