"""The feed-forward part of each layer: dense, a mixture of experts, both, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from kvgate.architecture.config import MOST_LAYERS, Config
from kvgate.architecture.ledger import Ledger
from kvgate.units import whole_number

__all__ = ["Ffn", "ffn_of", "replace_shared", "write"]

_EXPERTS = ("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts")
_EXPERT_WIDTH = ("moe_intermediate_size", "expert_ffn_hidden_size", "intermediate_size")
_SHARED_WIDTH = (
    "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size",
    "shared_intermediate_size", "share_expert_dim",
)  # fmt: skip
_SHARED_COUNT = (
    "n_shared_experts",
    "num_shared_experts",
    "num_shared_expert",
    "moe_num_shared_experts",
)
_MOST = 2**24


@dataclass(frozen=True, slots=True)
class Ffn:
    """Widths of one layer's feed-forward part, 0 where it has none of that.

    ``matrices`` is 3 where a gate multiplies the way up, else 2. ``latent`` is the width that
    experts work in where that is not the model's own. ``router`` counts the router's parameters.
    """

    dense: int = 0
    experts: int = 0
    expert: int = 0
    shared: int = 0
    matrices: int = 3
    latent: int = 0
    shared_gate: bool = False
    bias: bool = False
    router_bias: bool = False
    router_extra: int = 0


def write(
    ledger: Ledger, index: int, ffn: Ffn, hidden: int, *, names: tuple[str, str, str]
) -> None:
    """Write down one layer's part; ``names`` are its dense, expert and shared modules."""
    dense, expert, shared = names
    ups = ["gate_proj", "up_proj"][-(ffn.matrices - 1) :]
    if ffn.dense:
        for name in (*ups, "down_proj"):
            ledger.layer(index, "mlp", f"{dense}.{name}", hidden * ffn.dense)
        if ffn.bias and not ffn.experts:
            ledger.plain(index, "norm", ffn.dense * len(ups) + hidden)
    if not ffn.experts:
        return
    width = ffn.latent or hidden
    ledger.layer(
        index,
        "experts",
        f"{expert}.0.down_proj",
        ffn.matrices * width * ffn.expert * ffn.experts,
        expert=True,
    )
    if ffn.bias:
        # The kernels of the one family whose experts have biases want tiles of 256 by 128.
        tiles = (-(-width // 256) * 256) * (-(-ffn.expert // 256) * 256)
        ledger.layer(
            index,
            "padding",
            f"{expert}.0.down_proj",
            ffn.matrices * ffn.experts * (tiles - width * ffn.expert),
            expert=True,
        )
        ledger.plain(
            index, "experts", ffn.experts * (ffn.expert * len(ups) + hidden), split="tensor"
        )
    if ffn.latent:
        ledger.layer(index, "router", f"{expert}.latent_proj", 2 * hidden * width, split="none")
    router = hidden * (ffn.experts + ffn.router_extra) + (ffn.experts if ffn.router_bias else 0)
    ledger.plain(index, "router", router + (hidden if ffn.shared_gate else 0))
    if ffn.shared:
        for name in (*ups, "down_proj"):
            ledger.layer(index, "shared-experts", f"{shared}.{name}", hidden * ffn.shared)


def replace_shared(ffn: Ffn, shared: int) -> Ffn:
    """The same part with a shared expert of that width."""
    return replace(ffn, shared=shared)


def _first(config: Config, keys: tuple[str, ...]) -> int:
    for key in keys:
        value = config.data.get(key)
        if isinstance(value, list) and value and isinstance(value[0], int):
            return int(value[0])
        if isinstance(value, int) and not isinstance(value, bool):
            return min(max(value, 0), _MOST)
    return 0


def ffn_of(config: Config, matrices: int, *, bias: bool = False) -> Callable[[int], Ffn]:
    """From a layer's index to its feed-forward part, by whichever keys the config has."""
    width = _dense_width(config, gated=matrices > 2)
    experts = _first(config, _EXPERTS)

    def missing(key: str) -> Ffn:
        config.problem(f"{key} is missing")
        return Ffn()

    dense = Ffn(dense=width or 0, matrices=matrices, bias=bias)
    if experts <= 1:
        widths = config.data.get("intermediate_size")
        if isinstance(widths, list) and widths and all(isinstance(entry, int) for entry in widths):
            return lambda index: Ffn(dense=widths[min(index, len(widths) - 1)], matrices=matrices)
        return lambda index: dense if width is not None else missing("intermediate_size")
    moe = Ffn(
        experts=experts,
        expert=_first(config, _EXPERT_WIDTH),
        shared=_shared(config),
        matrices=matrices,
        latent=_first(config, ("moe_latent_size", "routed_expert_hidden_size")),
        shared_gate="shared_expert_intermediate_size" in config.data,
        bias=bias,
        router_bias=any(config.data.get(key) for key in ("use_routing_bias", "use_expert_bias"))
        or config.data.get("topk_method") == "noaux_tc",
    )
    sparse = _sparse(config)

    def ffn(index: int) -> Ffn:
        if sparse(index):
            return moe if moe.expert else missing("moe_intermediate_size")
        return dense if width is not None else missing("intermediate_size")

    return ffn


def _dense_width(config: Config, *, gated: bool) -> int | None:
    for key in ("intermediate_size_mlp", "dense_intermediate_size"):
        if config.data.get(key):
            return _first(config, (key,))
    width = config.whole("intermediate_size", most=_MOST) if _plain(config) else None
    if width is None and gated and config.data.get("ffn_mult") is None:
        # Four times the model's width is a habit of layers without a gate.
        return None
    if width is None:
        multiple = config.data.get("ffn_mult")
        hidden = config.whole("hidden_size", most=_MOST) or 0
        width = (
            4 * hidden if multiple is None or not isinstance(multiple, int) else multiple * hidden
        )
    if config.data.get("block_auto_adjust_ff_dim"):
        of = _first(config, ("block_multiple_of",)) or 256
        width = -(-(2 * width // 3) // of) * of
    return width


def _plain(config: Config) -> bool:
    return not isinstance(config.data.get("intermediate_size"), list)


def _shared(config: Config) -> int:
    width, count = _first(config, _SHARED_WIDTH), _first(config, _SHARED_COUNT)
    if width:
        return width * max(1, count if "shared_intermediate_size" in config.data else 1)
    return count * _first(config, _EXPERT_WIDTH)


def _sparse(config: Config) -> Callable[[int], bool]:
    """Which layers have experts: a list, a frequency, a first layer, or an interval."""
    data = config.data
    types = data.get("mlp_layer_types")
    if isinstance(types, list):
        return lambda index: index >= len(types) or types[index] != "dense"
    frequency = data.get("moe_layer_freq")
    if isinstance(frequency, list):
        return lambda index: index >= len(frequency) or bool(frequency[index])
    listed = data.get("moe_layers_enum", data.get("moe_layers"))
    if isinstance(listed, str | list) and listed:
        words = listed.split(",") if isinstance(listed, str) else listed
        chosen = {whole_number(str(word).strip()) for word in words}
        return lambda index: index in chosen or index >= MOST_LAYERS
    period = _first(config, ("expert_layer_period",))
    if period:
        offset = _first(config, ("expert_layer_offset",))
        return lambda index: index % period == offset
    interleave = _first(config, ("interleave_moe_layer_step",))
    if interleave:
        return lambda index: (index + 1) % interleave == 0
    first = _first(
        config,
        (
            "first_k_dense_replace",
            "num_dense_layers",
            "moe_layer_start_index",
            "moe_layer_num_skipped",
        ),
    )
    every = _first(config, ("moe_layer_freq",)) or 1
    only = data.get("mlp_only_layers")
    dense = {entry for entry in only if isinstance(entry, int)} if isinstance(only, list) else set()
    step = _first(config, ("decoder_sparse_step", "moe_layer_interval")) or 1
    return lambda index: (
        index >= first and index % every == 0 and index not in dense and (index + 1) % step == 0
    )
