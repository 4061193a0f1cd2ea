"""How vLLM groups layers: pages are made equal, layers bucketed, buckets split into equal groups.

All groups draw blocks from one pool, so a block is as large as the largest group's pages together.
Source: vllm v1/core/kv_cache_utils.py, from 0.29 on v1/core/kv_cache_planning.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import lcm

from kvgate.errors import InputError
from kvgate.kvcache.packing import pack, pack_tuples
from kvgate.kvcache.page import Demand, Page
from kvgate.kvcache.vllm_rules import VllmRules

__all__ = ["Group", "LayerPage", "asked_bytes", "block_bytes", "group_layers"]

LayerPage = tuple[int, Page]


@dataclass(frozen=True, slots=True)
class Group:
    """Layers that share one block table: (layer index, page), in the engine's order.

    ``wasted`` counts its padding layers, ``pages`` its distinct pages, ``bytes_`` the bytes of one
    block over all its layers.
    """

    layers: tuple[LayerPage, ...]
    wasted: int
    pages: tuple[Page, ...]
    bytes_: int

    @classmethod
    def of(cls, layers: Sequence[LayerPage], wasted: int = 0) -> Group:
        """The group of these layers. Its distinct pages and bytes are asked for many times over."""
        return cls(
            layers=tuple(layers),
            wasted=wasted,
            pages=tuple(dict.fromkeys(page for _, page in layers)),
            bytes_=sum(_stride(page) for _, page in layers),
        )

    @property
    def page(self) -> Page:
        """The page that stands for the group."""
        return self.layers[0][1]

    def blocks(self, demand: Demand) -> int:
        """Blocks that one request holds of this group."""
        return max(page.blocks(demand) for page in self.pages)

    def on_stage(self, stage: range) -> Group | None:
        """The part of the group that lies on a pipeline stage, None where there is none."""
        held = tuple(entry for entry in self.layers if entry[0] in stage)
        return Group.of(held, self.wasted) if held else None


def group_layers(
    layers: list[LayerPage], rules: VllmRules, *, hybrid: bool = True
) -> tuple[Group, ...]:
    """The engine's groups for these layers.

    ``hybrid`` False is ``--disable-hybrid-kv-cache-manager``: windows and chunks are then kept as
    full attention. Raises InputError where the engine raises NotImplementedError: pages that can
    neither be scaled nor padded to one size.
    """
    if not layers:
        return ()
    if not hybrid:
        layers = _unified(layers)
    pages = {page for _, page in layers}
    if _alike(pages):
        return (Group.of(layers),)
    if any(page.kind == "sliding_mla" for page in pages):
        packed = pack(layers) if rules.packs else pack_tuples(layers, padded=rules.pads_windows)
        return tuple(Group.of(part) for part in packed)
    try:
        layers = _one_page_size(layers, rules)
    except InputError:
        promoted = _promoted(layers)
        mixed = {page.kind for page in pages} >= {"mla", "sliding"}
        chunked = any(page.kind == "chunked" for page in pages)
        falls_back = rules.falls_back and mixed and not chunked
        if not (falls_back and _uniform({page for _, page in promoted})):
            raise
        return (Group.of(promoted),)
    return _split(layers, rules)


def block_bytes(groups: Sequence[Group], rules: VllmRules) -> int:
    """Bytes of one block of the pool that these groups share, on one rank."""
    if not groups:
        return 0
    if rules.mixed_blocks == "widest" or not _mixes(groups):
        return max(group.bytes_ for group in groups)
    if rules.mixed_blocks == "tuples":
        return _tuple_bytes(groups)
    held = [Counter(page.bytes_ for _, page in group.layers) for group in groups]
    most = {size: max(count[size] for count in held) for size in set().union(*held)}
    return sum(size * count for size, count in most.items())


def asked_bytes(groups: Sequence[Group], rules: VllmRules) -> int:
    """Bytes of one block as the start-up check counts them: of mixed pages, it went on counting
    whole tuples until it set a block aside."""
    if groups and not rules.null_block and _mixes(groups):
        return _tuple_bytes(groups)
    return block_bytes(groups, rules)


def _mixes(groups: Sequence[Group]) -> bool:
    return any(page.kind == "sliding_mla" for group in groups for page in group.pages)


def _tuple_bytes(groups: Sequence[Group]) -> int:
    """One page of each size of the first group (the full layers) is a tuple."""
    held = [Counter(page.bytes_ for _, page in group.layers) for group in groups]
    return sum(held[0]) * max(max(count.values()) for count in held)


def _identity(page: Page) -> tuple[object, ...]:
    return (page.kind, page.block_size, page.unpadded, page.padded, page.window, page.key,
            page.states)  # fmt: skip


def _uniform(pages: set[Page]) -> bool:
    """Whether all these pages need the same number of token slots, whatever their bytes."""
    if len({page.block_size for page in pages}) > 1:
        return False
    if all(page.grows for page in pages):
        return True
    kinds = {page.kind for page in pages}
    if kinds == {"state"}:
        return len({(page.states, page.bytes_) for page in pages}) == 1
    return len(kinds) == 1 and len({page.window for page in pages}) == 1


def _alike(pages: set[Page]) -> bool:
    """Whether one group holds all these pages."""
    return len({_identity(page) for page in pages}) == 1 or _uniform(pages)


def _unified(layers: list[LayerPage]) -> list[LayerPage]:
    """Every layer as full attention; InputError where the engine fails to make them one type."""
    if _alike({page for _, page in layers}):
        return layers
    promoted = _promoted(layers)
    for kind in ("sliding", "chunked"):
        if len({page.window for _, page in layers if page.kind == kind}) > 1:
            raise InputError(
                "vLLM refuses --disable-hybrid-kv-cache-manager for layers with several windows: "
                "all attention layers in the same KV cache group must have the same window size",
                hint="leave the hybrid KV cache manager on",
            )
    if not _alike({page for _, page in promoted}):
        raise InputError(
            "vLLM refuses --disable-hybrid-kv-cache-manager for this model: its layers cannot be "
            "converted to one unified type",
            hint="leave the hybrid KV cache manager on",
        )
    return promoted


def _promoted(layers: list[LayerPage]) -> list[LayerPage]:
    kinds = {"sliding": "full", "chunked": "full", "sliding_mla": "mla"}
    full = {page.block_size for _, page in layers if page.grows}
    if not full:
        return layers
    return [
        (i, replace(page, kind=kinds[page.kind], window=None) if page.kind in kinds else page)  # type: ignore[arg-type]
        for i, page in layers
    ]


def _one_page_size(layers: list[LayerPage], rules: VllmRules) -> list[LayerPage]:
    largest = max(page.bytes_ for _, page in layers)
    return [(i, _fit(page, largest, rules)) for i, page in layers]


def _fit(page: Page, size: int, rules: VllmRules) -> Page:
    if page.bytes_ == size:
        return page
    if page.kind == "state" and rules.pads_states:
        return replace(page, padded=size)
    if page.kind != "state" and size % page.bytes_ == 0 and rules.scales_blocks:
        return page.with_block_size(page.block_size * (size // page.bytes_))
    padded = ("full", "sliding", "chunked", *(("mla",) if rules.pads_latents else ()))
    if rules.pads_pages and page.kind in padded:
        return replace(page, padded=size)
    raise InputError(
        f"vLLM {rules.version} cannot give a page of {page.bytes_:,} bytes ({page.kind}) the size "
        f"of the largest, {size:,} bytes",
        hint="a newer vLLM pads such pages; or change --kv-cache-dtype or the tensor parallel size",
    )


def _split(layers: list[LayerPage], rules: VllmRules) -> tuple[Group, ...]:
    buckets: dict[tuple[object, ...], list[LayerPage]] = {}
    for entry in layers:
        buckets.setdefault(_identity(entry[1]), []).append(entry)
    counts = [len(bucket) for bucket in buckets.values()]
    size = min(counts)
    if rules.group_ratio is not None and max(counts) < size * rules.group_ratio:
        size = max(counts)
    groups = []
    for bucket in buckets.values():
        parts = -(-len(bucket) // size)
        padding = parts * size - len(bucket)
        # Strided, so that pipeline stages get a share of every group.
        for part in range(parts):
            held = tuple(bucket[part::parts])
            groups.append(Group.of(held, size - len(held) if padding else 0))
    return tuple(groups)


def _stride(page: Page) -> int:
    step = lcm(page.stride, 1)
    return -(-page.bytes_ // step) * step
