"""A model's layers as vLLM's cache specs: page sizes, block sizes, states padded to a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import lcm

from kvgate.architecture.layers import (
    MLA,
    Attention,
    CompressedAttention,
    GatedDeltaNet,
    Layer,
    LayerGroup,
    Mamba2,
    NoCache,
    StreamConv,
)
from kvgate.architecture.model import Architecture
from kvgate.errors import InputError
from kvgate.kvcache.cost import (
    kv_heads_on_rank,
)
from kvgate.kvcache.grouping import LayerPage
from kvgate.kvcache.page import Page
from kvgate.kvcache.vllm_layers import ATTENTION, Setup, attention_pages, layer_pages, state_size
from kvgate.kvcache.vllm_rules import VllmRules

__all__ = ["PagePlan", "Setup", "default_block_size", "plan_pages"]

# The chunk a Mamba-2 kernel works in, where the architecture does not say: what most models use.
_MAMBA2_CHUNK = 256
# Looped families that vLLM serves through transformers' code: it makes one cache a layer, and every
# run writes it (0.33.0, model_executor/models/transformers/base.py).
_ONE_FOR_ALL_RUNS = frozenset({"nanbeige"})
# What vLLM takes for Mamba-1, which has no chunks.
_MAMBA1_CHUNK = 2048


@dataclass(frozen=True, slots=True)
class PagePlan:
    """The pages by layer, the attention block they came to, and what was decided on the way."""

    layers: list[LayerPage]
    block_size: int
    lines: tuple[str, ...]
    assumptions: tuple[str, ...]


def default_block_size(arch: Architecture, rules: VllmRules, sm: tuple[int, int] | None) -> int:
    """Tokens a block where the user names none: what the backend chosen by default brings."""
    layers = [group.layer for group in arch.groups]
    if any(isinstance(layer, CompressedAttention) for layer in layers):
        return 256
    mla = next((layer for layer in layers if isinstance(layer, MLA)), None)
    if mla is None:
        return 16
    if mla.sparse:
        return 64
    if sm is not None and sm[0] == 10:
        if rules.version.release < (0, 13):
            return 128
        return (
            128
            if rules.version.release < (0, 15)
            else 64
            if rules.version.release < (0, 20)
            else 32
        )
    if rules.version.release < (0, 12):
        return 64
    return 16


def plan_pages(arch: Architecture, setup: Setup) -> PagePlan:
    """Every layer's page, in the engine's order: the model's layers, then draft layers.

    Raises InputError for a layer that vLLM keeps in a way not known here.
    """
    groups = list(arch.groups)
    lines: list[str] = []
    assumptions: list[str] = []
    modules = sum(group.count for group in arch.draft.groups) if arch.draft is not None else 0
    if min(modules, setup.speculative) > 1 and setup.rules.retains_drafts:
        setup = replace(setup, retained=setup.speculative - 1)
    setup, padded = _hybrid_block(groups, setup, lines, assumptions)
    setup, shared = _skip_block(groups, setup, lines)
    pages: list[tuple[int, int, Page]] = []
    for order, group in enumerate(groups):
        kept = layer_pages(group.layer, setup, padded)
        bare = kept
        if setup.spared.intersection(group.indices) and isinstance(group.layer, Attention):
            bare = attention_pages(group.layer, setup, shared, plain=setup.plain)
        indices = group.indices
        if setup.model_type in _ONE_FOR_ALL_RUNS:
            indices = tuple(dict.fromkeys(indices))
        pages += [
            (index, order, page)
            for index in indices
            for page in (bare if index in setup.spared else kept)
        ]
    pages.sort(key=lambda entry: entry[:2])
    if setup.speculative and arch.draft is not None:
        last = arch.num_layers - 1
        drafted = [
            (last, order, page)
            for order, group in enumerate(arch.draft.groups)
            for _ in group.indices
            for page in layer_pages(group.layer, setup, padded)
        ]
        pages += drafted
        lines.append(
            f"draft: {len(drafted)} more cache layers ({arch.draft.kind}), "
            f"{setup.speculative} speculative tokens"
        )
    layers = [(index, page) for index, _, page in pages]
    return PagePlan(layers, setup.block_size, tuple(lines), tuple(assumptions))


def _hybrid_block(
    groups: list[LayerGroup], setup: Setup, lines: list[str], assumptions: list[str]
) -> tuple[Setup, int | None]:
    """Enlarge the block until an attention page holds a state, and pad states to that page."""
    stateless = (*ATTENTION, NoCache, StreamConv)
    states = [g.layer for g in groups if not isinstance(g.layer, stateless)]
    attention = [g.layer for g in groups if isinstance(g.layer, ATTENTION)]
    if not states:
        return setup, None
    state = max(state_size(layer, setup) for layer in states)
    if not attention:
        return setup, None
    per_token = _token_bytes(attention[0], setup)
    latent = isinstance(attention[0], MLA)
    step = _hybrid_step(setup, states, latent, attention[0], assumptions)
    block = step * -(-state // (step * per_token))
    if setup.mamba_mode == "all" and setup.rules.version.release >= (0, 12):
        step = lcm(_chunk(states, assumptions), step)
        tokens = -(-state // per_token)
        block = step * -(-tokens // step)
    if block > setup.block_size:
        lines.append(
            f"block: {step} x ceil({state:,} B state / ({step} x {per_token:,} B a token)) = "
            f"{block} tokens, so that an attention page holds a state"
        )
        setup = replace(setup, block_size=block)
    page = setup.block_size * per_token
    return setup, page if page > state else None


def _chunk(states: Sequence[Layer], assumptions: list[str]) -> int:
    """Tokens that the Mamba kernel works on at a time."""
    given = [layer.chunk for layer in states if isinstance(layer, Mamba2)]
    if not given:
        return _MAMBA1_CHUNK
    known = [chunk for chunk in given if chunk is not None]
    if not known:
        assumptions.append(
            f"the config names no chunk of the Mamba kernel; {_MAMBA2_CHUNK} tokens are assumed"
        )
    return known[0] if known else _MAMBA2_CHUNK


def _hybrid_step(
    setup: Setup, states: Sequence[Layer], latent: bool, first: Layer, assumptions: list[str]
) -> int:
    rules = setup.rules
    old = rules.version.release < (0, 20)
    step = 16 if old else max(16, setup.block_size)
    if latent:
        # Without a rule of its own, what the kernel of the backend chosen by default takes.
        kernel = 32 if setup.sm is not None and setup.sm[0] == 10 else 16
        align = rules.mla_hybrid_align or kernel
        step = align if old else max(setup.block_size, align)
    elif (
        (0, 13) <= rules.version.release < (0, 18)
        and setup.sm is not None
        and setup.sm[0] == 10
        and isinstance(first, Attention)
        and first.head_dim == 256
    ):
        step = 32
    aligned = setup.mamba_mode == "align" and rules.version.release >= (0, 33)
    if aligned and all(isinstance(layer, GatedDeltaNet) for layer in states):
        if setup.sm is None:
            assumptions.append(
                "no GPU given: prefill checkpoints of delta-net layers (SM 9.0, 10.x, 12.x) are "
                "left out"
            )
        elif setup.sm[0] in (9, 10, 12):
            step = lcm(step, 64)
    return step


def _skip_block(
    groups: list[LayerGroup], setup: Setup, lines: list[str]
) -> tuple[Setup, int | None]:
    """Layers left in the model's dtype share the pool: the quantised page must cover theirs."""
    attention = [g for g in groups if isinstance(g.layer, Attention)]
    bare = [g.layer for g in attention if setup.spared.intersection(g.indices)]
    quantised = [g.layer for g in attention if not setup.spared.issuperset(g.indices)]
    if not bare or not quantised or setup.plain is None:
        return setup, None
    primary = _token_bytes(quantised[0], setup)
    unquantised = replace(setup, choice=replace(setup.choice, format=setup.plain))
    plain = max(_token_bytes(layer, unquantised) for layer in bare)
    if plain == primary:
        return setup, None
    step = max(16, setup.block_size)
    block = step * -(-(plain * 16) // (step * primary))
    if block > setup.block_size:
        lines.append(f"block: {block} tokens, so that a quantised page covers an unquantised one")
        setup = replace(setup, block_size=block)
    return setup, setup.block_size * primary


def _token_bytes(layer: Layer, setup: Setup) -> int:
    match layer:
        case Attention():
            heads = kv_heads_on_rank(layer.kv_heads, setup.tp)
            return heads * setup.choice.format.head_bytes(layer.head_dim, layer.v_head_dim)
        case MLA():
            return setup.choice.format.latent_bytes(layer.head_size)
        case _:
            raise InputError("vLLM has no hybrid of compressed attention and states")
