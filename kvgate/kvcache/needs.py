"""What a model needs: KV bytes that grow with a sequence, that stop at a window, and states.

Two answers exist to "how much KV", and this is the first: what the layers have to remember, before
any engine rounds it to pages. `kvgate.kvcache.pool` gives the second.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from math import ceil

from packaging.version import Version

from kvgate.architecture.layers import Attention, LayerGroup
from kvgate.architecture.model import Architecture
from kvgate.catalog.formats import kv_format
from kvgate.errors import InputError
from kvgate.kvcache.choice import KvChoice, choose_format, model_dtype, plain_layers
from kvgate.kvcache.cost import LayerCost, layer_cost
from kvgate.kvcache.stages import pipeline_stages
from kvgate.units import counted, format_bytes

__all__ = ["GroupNeed", "Needs", "Stage", "needs"]


@dataclass(frozen=True, slots=True)
class GroupNeed:
    """What the layers of one group need, whole model, one copy of everything.

    ``growing`` bytes a token; ``window_bytes`` a sequence once ``window`` tokens are reached;
    ``state_bytes`` a sequence. ``rank_growing``, ``rank_window_bytes`` and ``rank_state_bytes`` are
    one rank's (all of the group's layers, as if it held them all), whose 0-based ``indices`` are in
    the model, ``copies`` how many times the tensor-parallel group holds the same bytes, and
    ``index_copies`` how many times index keys beside K and V, where the layers have any.
    ``formula`` has the numbers in place, ``because`` the config keys that decided the group.
    """

    kind: str
    indices: tuple[int, ...]
    because: tuple[str, ...]
    formula: str
    growing: float
    window: int | None
    window_bytes: int
    state_bytes: int
    rank_growing: float
    rank_window_bytes: int
    rank_state_bytes: int
    copies: int
    draft: bool = False
    index_copies: int | None = None

    @property
    def count(self) -> int:
        """How many layers."""
        return len(self.indices)

    def held(self, ranks: int) -> str:
        """How often ``ranks`` tensor-parallel ranks hold these bytes; "" where once."""
        if self.index_copies is not None and self.index_copies != self.copies:
            often = "once" if self.copies == 1 else f"{self.copies} times"
            return f"K and V held {often}, index keys {self.index_copies} times over {ranks} ranks"
        return f"held {self.copies} times over {ranks} ranks" if self.copies > 1 else ""


@dataclass(frozen=True, slots=True)
class Stage:
    """What a rank of one stage needs: ``growing`` bytes a token, ``windows`` as (tokens, bytes a
    token), ``state`` bytes a sequence."""

    growing: float
    windows: tuple[tuple[int, int], ...]
    state: int

    def sequence_bytes(self, context: int) -> int:
        """Bytes for one sequence of ``context`` tokens."""
        total = self.growing * context + self.state
        for window, per_token in self.windows:
            total += per_token * (min(window, context))
        return ceil(total)


@dataclass(frozen=True, slots=True)
class Needs:
    """What a model needs, by group, whole and per rank. Bytes; ``stages`` are one rank's each.

    ``tp``, ``pp`` and ``dcp`` are the ranks that share layers, that hold layers in turn, and that
    share one sequence's cache.
    """

    choice: KvChoice
    tp: int
    pp: int
    dcp: int
    groups: tuple[GroupNeed, ...]
    whole: Stage
    stages: tuple[Stage, ...]
    assumptions: tuple[str, ...]

    @property
    def bytes_per_token(self) -> float:
        """Growing bytes a token, whole model, one copy."""
        return self.whole.growing

    @property
    def bytes_per_token_per_rank(self) -> float:
        """Growing bytes a token on the rank that holds most."""
        return max(stage.growing for stage in self.stages)

    @property
    def window_bytes_per_sequence(self) -> int:
        """Window-capped bytes of one sequence longer than every window, whole model."""
        return sum(group.window_bytes for group in self.groups)

    @property
    def state_bytes_per_sequence(self) -> int:
        """State bytes of one sequence, whole model."""
        return self.whole.state

    @property
    def state_bytes_per_sequence_per_rank(self) -> int:
        """State bytes of one sequence on the rank that holds most."""
        return max(stage.state for stage in self.stages)

    def sequence_bytes(self, context: int) -> int:
        """Bytes of one sequence of ``context`` tokens, whole model, one copy."""
        return self.whole.sequence_bytes(_tokens(context))

    def rank_sequence_bytes(self, context: int) -> int:
        """Bytes of one sequence of ``context`` tokens on the rank that holds most of it."""
        return max(stage.sequence_bytes(_tokens(context)) for stage in self.stages)

    def group_sequence_bytes(self, context: int) -> int:
        """Bytes of one sequence over all ranks, copies counted as often as they are held."""
        return self.tp * sum(stage.sequence_bytes(_tokens(context)) for stage in self.stages)

    def tokens_that_fit(self, rank_bytes: int, most: int) -> int:
        """The longest context, up to ``most``, whose sequence fits in ``rank_bytes`` per rank."""
        low, high = 0, most
        while low < high:
            middle = (low + high + 1) // 2
            if self.rank_sequence_bytes(middle) <= rank_bytes:
                low = middle
            else:
                high = middle - 1
        return low


# Sizing is asked for many times over with the same architecture. Hashing one takes longer than the
# sizing, so the cache is keyed by identity and holds the architecture, which keeps the id taken.
_CACHE: OrderedDict[tuple[object, ...], tuple[Architecture, Needs]] = OrderedDict()
_CACHE_SIZE = 4096


def needs(
    arch: Architecture,
    *,
    kv_cache_dtype: str = "auto",
    engine: str = "vllm",
    version: Version | None = None,
    sm: tuple[int, int] | None = None,
    tp: int = 1,
    pp: int = 1,
    dcp: int = 1,
    dtype: str = "auto",
    ssm_dtype: str = "auto",
    speculative: int = 0,
    encoder_tokens: int | None = None,
    skip_layers: tuple[str, ...] = (),
) -> Needs:
    """What ``arch`` needs for its KV cache and states.

    ``tp``, ``pp`` and ``dcp`` are the tensor, pipeline and decode-context parallel sizes.
    ``speculative`` > 0 counts the draft layers that the checkpoint brings along. Cross-attention
    layers need ``encoder_tokens``; where that is None they are left out and an assumption says so.
    ``skip_layers`` is vLLM's ``--kv-cache-dtype-skip-layers``.
    Raises InputError where the sizes do not divide the model, or the format does not fit it.
    """
    key = (id(arch), kv_cache_dtype, engine, version, sm, tp, pp, dcp, dtype, ssm_dtype,
           speculative, encoder_tokens, skip_layers)  # fmt: skip
    held = _CACHE.get(key)
    if held is not None and held[0] is arch:
        return held[1]
    found = _needs(
        arch,
        choose_format(
            arch, engine=engine, version=version, sm=sm, kv_cache_dtype=kv_cache_dtype, dtype=dtype
        ),
        engine, version, tp, pp, dcp, dtype, ssm_dtype, speculative, encoder_tokens, skip_layers,
    )  # fmt: skip
    _CACHE[key] = (arch, found)
    if len(_CACHE) > _CACHE_SIZE:
        _CACHE.popitem(last=False)
    return found


def _needs(
    arch: Architecture,
    choice: KvChoice,
    engine: str,
    version: Version | None,
    tp: int,
    pp: int,
    dcp: int,
    dtype: str,
    ssm_dtype: str,
    speculative: int,
    encoder_tokens: int | None,
    skip_layers: tuple[str, ...],
) -> Needs:
    _check_sizes(arch, tp, pp, dcp)
    runs_in, _ = model_dtype(arch, engine, dtype)
    assumptions = list(choice.assumed)
    plain = replace(choice, format=kv_format(runs_in))
    spared = plain_layers(arch, choice, skip_layers) if engine == "vllm" else frozenset()
    groups: list[tuple[LayerGroup, bool]] = [
        (part, False) for group in arch.groups for part in _parted(group, spared)
    ]
    if speculative and arch.draft is not None:
        groups += [(group, True) for group in arch.draft.groups]
    costs: list[tuple[LayerGroup, bool, LayerCost, LayerCost]] = []
    for group, draft in groups:
        kept = plain if spared.issuperset(group.indices) else choice
        whole, rank = (
            layer_cost(
                group.layer, kept, tp=size, engine=engine, version=version,
                model_type=arch.model_type, model_dtype=runs_in, ssm_dtype=ssm_dtype,
                speculative=speculative, inert_from=arch.max_position_embeddings,
                encoder_tokens=encoder_tokens,
            )
            for size in (1, tp)
        )  # fmt: skip
        if whole.kind == "none":
            continue
        costs.append((group, draft, whole, rank))
        if (
            isinstance(group.layer, Attention)
            and group.layer.kind == "cross"
            and not encoder_tokens
        ):
            assumptions.append(
                f"{group.count} cross-attention layers keep the encoder's tokens, not the "
                "decoder's; they are left out"
            )
        assumptions.extend(whole.notes)
    stages = []
    for stage in pipeline_stages(arch.num_layers, pp):
        last = stage.stop == arch.num_layers
        held = [
            (last * group.count if draft else sum(1 for i in group.indices if i in stage), rank)
            for group, draft, _, rank in costs
        ]
        stages.append(_stage(held, dcp))
    return Needs(
        choice=choice, tp=tp, pp=pp, dcp=dcp,
        groups=tuple(_group(group, draft, whole, rank, tp) for group, draft, whole, rank in costs),
        whole=_stage([(group.count, whole) for group, _, whole, _ in costs], 1),
        stages=tuple(stages),
        assumptions=tuple(dict.fromkeys(assumptions)),
    )  # fmt: skip


def _parted(group: LayerGroup, spared: frozenset[int]) -> tuple[LayerGroup, ...]:
    """A group, in two where some of its layers keep another dtype."""
    apart = tuple(i for i in group.indices if i in spared)
    if not apart or len(apart) == group.count:
        return (group,)
    rest = tuple(i for i in group.indices if i not in spared)
    return (
        replace(group, indices=rest),
        replace(group, indices=apart, because=(*group.because, "layers left unquantised")),
    )


def _stage(held: list[tuple[int, LayerCost]], dcp: int) -> Stage:
    windows: dict[int, int] = {}
    for count, cost in held:
        if count and cost.window is not None:
            windows[cost.window] = windows.get(cost.window, 0) + count * cost.window_per_token
    return Stage(
        growing=sum(count * cost.growing for count, cost in held) / dcp,
        windows=tuple(sorted(windows.items())),
        state=sum(count * (cost.state + cost.fixed) for count, cost in held),
    )


def _group(group: LayerGroup, draft: bool, whole: LayerCost, rank: LayerCost, tp: int) -> GroupNeed:
    count = group.count
    one, all_ranks = whole.total - whole.index_keys, (rank.total - rank.index_keys) * tp
    window = whole.window or 0
    return GroupNeed(
        kind=whole.kind,
        indices=group.indices,
        because=group.because,
        formula=f"{counted(count, 'layer')} x {whole.formula}{_total(count, whole)}",
        growing=count * whole.growing,
        window=whole.window,
        window_bytes=count * whole.window_per_token * window,
        state_bytes=count * (whole.state + whole.fixed),
        rank_growing=count * rank.growing,
        rank_window_bytes=count * rank.window_per_token * window,
        rank_state_bytes=count * (rank.state + rank.fixed),
        copies=max(1, round(all_ranks / one)) if one else 1,
        draft=draft,
        index_copies=tp if whole.index_keys else None,
    )


def _total(count: int, cost: LayerCost) -> str:
    window = cost.window_per_token * (cost.window or 0)
    terms = [
        (count * cost.growing, "/token"),
        (count * (window + cost.state + cost.fixed), "/sequence"),
    ]
    said = " and ".join(f"{format_bytes(size)}{per}" for size, per in terms if size)
    return f" = {said}" if said else ""


def _check_sizes(arch: Architecture, tp: int, pp: int, dcp: int) -> None:
    for name, size in (("tensor", tp), ("pipeline", pp), ("decode context", dcp)):
        if size < 1:
            raise InputError(f"{name} parallel size must be at least 1, not {size}")
    if tp % dcp:
        raise InputError(
            f"decode context parallel size {dcp} does not divide tensor parallel size {tp}",
            hint="DCP reuses the tensor-parallel ranks; choose a divisor",
        )
    if arch.query_heads % tp:
        raise InputError(
            f"{arch.id} has {arch.query_heads} attention heads, which tensor parallel size {tp} "
            "does not divide",
            hint=f"use a divisor of {arch.query_heads}",
        )
    for group in arch.groups:
        layer = group.layer
        if dcp > 1 and isinstance(layer, Attention):
            if layer.kind != "full":
                raise InputError(f"decode context parallelism does not support {layer.kind} layers")
            if layer.kv_heads * dcp > tp:
                raise InputError(
                    f"decode context parallel size {dcp} needs tensor parallel size "
                    f"{layer.kv_heads * dcp} or more: it uses copies of {layer.kv_heads} KV heads"
                )


def _tokens(context: int) -> int:
    if context < 0:
        raise InputError(f"a context of {context} tokens is impossible")
    return context
