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
    KimiDelta,
    Layer,
    LayerGroup,
    Mamba2,
    NoCache,
)
from kvgate.architecture.model import Architecture
from kvgate.catalog.formats import KvFormat
from kvgate.errors import InputError
from kvgate.kvcache.choice import KvChoice
from kvgate.kvcache.cost import INDEXER_KEY_BYTES, compressor_state_bytes, kv_heads_on_rank
from kvgate.kvcache.grouping import LayerPage
from kvgate.kvcache.page import Page
from kvgate.kvcache.states import state_bytes, state_dtypes
from kvgate.kvcache.vllm_rules import VllmRules

__all__ = ["PagePlan", "Setup", "default_block_size", "plan_pages"]

_ATTENTION = (Attention, MLA, CompressedAttention)
# The chunk a Mamba-2 kernel works in, where the architecture does not say: what most models use.
_MAMBA2_CHUNK = 256
# What vLLM takes for Mamba-1, which has no chunks.
_MAMBA1_CHUNK = 2048


@dataclass(frozen=True, slots=True)
class Setup:
    """What decides the pages besides the layers.

    ``mamba_mode``: ``none``, ``align``, ``all``. ``retained``: tokens below a window that several
    draft modules may fill again.
    """

    rules: VllmRules
    choice: KvChoice
    tp: int
    block_size: int
    max_model_len: int
    model_type: str
    model_dtype: str
    sm: tuple[int, int] | None = None
    mamba_mode: str = "none"
    ssm_dtype: str = "auto"
    speculative: int = 0
    plain: KvFormat | None = None
    spared: frozenset[int] = frozenset()
    retained: int = 0


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
        kept = _pages(group.layer, setup, padded)
        bare = kept
        if setup.spared.intersection(group.indices) and isinstance(group.layer, Attention):
            bare = _attention_pages(group.layer, setup, shared, plain=setup.plain)
        pages += [
            (index, order, page)
            for index in group.indices
            for page in (bare if index in setup.spared else kept)
        ]
    pages.sort(key=lambda entry: entry[:2])
    if setup.speculative and arch.draft is not None:
        last = arch.num_layers - 1
        drafted = [
            (last, order, page)
            for order, group in enumerate(arch.draft.groups)
            for _ in group.indices
            for page in _pages(group.layer, setup, padded)
        ]
        pages += drafted
        lines.append(
            f"draft: {len(drafted)} more cache layers ({arch.draft.kind}), "
            f"{setup.speculative} speculative tokens"
        )
    layers = [(index, page) for index, _, page in pages]
    return PagePlan(layers, setup.block_size, tuple(lines), tuple(assumptions))


def _pages(layer: Layer, setup: Setup, padded: int | None) -> list[Page]:
    block = setup.block_size
    match layer:
        case NoCache():
            return []
        case Attention():
            return _attention_pages(layer, setup, None)
        case MLA():
            latent = setup.choice.format.latent_bytes(layer.head_size)
            pages = [Page("mla", block, block * latent, ("latent", layer.head_size, latent))]
            if layer.indexer is not None and not layer.shares_indexer:
                keys = layer.indexer.head_dim + 4 * -(-layer.indexer.head_dim // 128)
                pages.append(Page("mla", block, block * keys, ("indexer", layer.indexer.head_dim)))
            return pages
        case CompressedAttention():
            return _compressed_pages(layer, setup)
        case _:
            size = _state_size(layer, setup)
            mode = setup.mamba_mode
            states: int | None = {"none": 1, "align": 2}.get(mode)
            if states is not None:
                states += setup.speculative if setup.rules.mamba_modes else 0
                states += _checkpoints(layer, setup) if mode == "align" else 0
            tokens = setup.max_model_len if mode == "none" else block
            drafts = mode == "all" and setup.rules.version.release >= (0, 22)
            extra = setup.speculative if drafts else 0
            return [
                Page("state", tokens, size, ("state", layer.kind), padded=padded, states=states,
                     retained=extra)
            ]  # fmt: skip


def _attention_pages(
    layer: Attention, setup: Setup, shared: int | None, *, plain: KvFormat | None = None
) -> list[Page]:
    heads = kv_heads_on_rank(layer.kv_heads, setup.tp)
    fmt = plain or setup.choice.format
    values = layer.v_head_dim if setup.rules.value_widths else layer.head_dim
    per_token = heads * fmt.head_bytes(layer.head_dim, values)
    key = (heads, layer.head_dim, values, fmt.name)
    block = setup.block_size
    # Only windowed layers choose a block of their own, and pad it up to the shared page.
    padded = shared if layer.kind == "sliding" else None
    if padded is not None and shared is not None:
        block = max(16, shared // per_token // 16 * 16)
    match layer.kind:
        case "sliding":
            page = Page(
                "sliding", block, block * per_token, key, layer.window, padded,
                retained=setup.retained,
            )  # fmt: skip
        case "chunked":
            page = Page("chunked", block, block * per_token, key, layer.window, padded)
        case "cross":
            page = Page("cross", block, block * per_token, key)
        case _:
            page = Page("full", block, block * per_token, key)
    if layer.indexer is None:
        return [page]
    keys = layer.indexer.head_dim * INDEXER_KEY_BYTES
    return [page, Page("mla", setup.block_size, setup.block_size * keys, ("index keys", keys))]


def _compressed_pages(layer: CompressedAttention, setup: Setup) -> list[Page]:
    """DeepSeek V4: window cache, compressed cache, compressor scratch, indexer and its scratch."""
    fmt = setup.choice.format
    window = setup.choice.window or fmt
    if layer.version == "v4.1":
        raise InputError(
            "kvgate does not know how vLLM packs DeepSeek V4.1's caches into a pool",
            hint="what the model needs is still computed: kvgate.kvcache.needs",
        )
    align = fmt.page_multiple

    def aligned(size: int) -> int | None:
        rounded = -(-size // align) * align
        return rounded if rounded != size else None

    def page(kind: str, block: int, size: int, key: str, reach: int | None = None) -> Page:
        kept = setup.retained if kind == "sliding_mla" else 0
        return Page(kind, block, size, (key,), reach, aligned(size), retained=kept)  # type: ignore[arg-type]

    raw = 64 * (window.record_bytes or 0)
    pages = [page("sliding_mla", 64, raw, "window", layer.window)]
    if not layer.ratio:
        return pages
    block = setup.block_size
    rows = block // layer.ratio
    overlap = 2 if layer.ratio == 4 else 1
    tail, reach = (4, overlap * layer.ratio) if layer.ratio == 4 else (8, layer.ratio)
    pages.append(page("mla", block, rows * (fmt.record_bytes or 0), f"compressed {layer.ratio}"))
    scratch = compressor_state_bytes(layer)
    pages.append(page("sliding_mla", tail, tail * scratch, "compressor", reach))
    if layer.indexer is not None:
        keys = layer.indexer.head_dim + 4
        pages.append(page("mla", block, rows * keys, "indexer"))
        small = 2 * overlap * layer.indexer.head_dim * 4
        pages.append(page("sliding_mla", tail, tail * small, "indexer compressor", reach))
    return pages


def _hybrid_block(
    groups: list[LayerGroup], setup: Setup, lines: list[str], assumptions: list[str]
) -> tuple[Setup, int | None]:
    """Enlarge the block until an attention page holds a state, and pad states to that page."""
    states = [g.layer for g in groups if not isinstance(g.layer, (*_ATTENTION, NoCache))]
    attention = [g.layer for g in groups if isinstance(g.layer, _ATTENTION)]
    if not states:
        return setup, None
    state = max(_state_size(layer, setup) for layer in states)
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


def _checkpoints(layer: Layer, setup: Setup) -> int:
    """State blocks that a request holds for checkpoints inside a prefill."""
    release = setup.rules.version.release
    new_card = setup.sm is not None and setup.sm[0] in (9, 10, 12)
    match layer:
        case Mamba2():
            return int(release >= (0, 32))
        case GatedDeltaNet():
            return int(release >= (0, 33) and new_card)
        case KimiDelta():
            known = setup.model_type.startswith(("kimi_k3", "glm5"))
            return int(release >= (0, 29) and new_card and known)
        case _:
            return 0


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


def _state_size(layer: Layer, setup: Setup) -> int:
    assert not isinstance(layer, (*_ATTENTION, NoCache))
    dtypes = state_dtypes(
        layer, engine="vllm", model_type=setup.model_type, model_dtype=setup.model_dtype,
        version=setup.rules.version, ssm_dtype=setup.ssm_dtype,
    )  # fmt: skip
    return state_bytes(layer, dtypes, setup.tp, speculative=setup.speculative)
