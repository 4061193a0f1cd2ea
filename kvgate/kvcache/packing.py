"""Mixed page sizes side by side: how vLLM packs DeepSeek V4's caches into one block.

Until 0.28 a block is a number of "layer tuples", one page of each of the full layers' sizes; from
0.29 on the layers are split into groups that repeat a pattern, and a block is the widest group.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from kvgate.errors import InputError
from kvgate.kvcache.page import Page

__all__ = ["pack", "pack_tuples"]

Layers = list[tuple[int, Page]]


def pack_tuples(layers: Layers, *, padded: bool) -> list[Layers]:
    """The groups up to 0.28: full layers first, then windows split to as many layer tuples.

    Up to 0.26 pages of windowed layers are ``padded`` to the next larger page of the full layers.
    Raises InputError where there are no full layers, whose pages the tuples are made of.
    """
    full = [entry for entry in layers if entry[1].grows]
    if not full:
        raise InputError("kvgate does not know how vLLM packs windowed latents without full layers")
    windows: dict[tuple[int, int | None], Layers] = {}
    for entry in layers:
        if not entry[1].grows:
            windows.setdefault((entry[1].block_size, entry[1].window), []).append(entry)
    sizes = sorted({page.bytes_ for _, page in full}) if padded else []
    parts = [full, *([(i, _padded(page, sizes)) for i, page in b] for b in windows.values())]
    tuples = [_most_alike(part) for part in parts]
    per_group = _approximate_gcd(tuples, tuples[0])
    groups: list[Layers] = [full]
    for part, count in zip(parts[1:], tuples[1:], strict=True):
        by_size = _by_size(part)
        pattern = list(zip(*by_size.values(), strict=True))
        number = -(-count // per_group)
        groups.extend(
            [entry for repeat in pattern[i::number] for entry in repeat] for i in range(number)
        )
    return groups


def pack(layers: Layers) -> list[Layers]:
    """The groups from 0.29 on, in a block-outermost layout."""
    buckets: list[Layers] = []
    for entry in layers:
        for bucket in buckets:
            if _alike(bucket[0][1], entry[1]):
                bucket.append(entry)
                break
        else:
            buckets.append([entry])
    sized = [_by_size(bucket) for bucket in buckets]
    balanced = [len({len(part) for part in by_size.values()}) == 1 for by_size in sized]
    repeats = [max(len(part) for part in by_size.values()) for by_size in sized]
    floor = max(
        (r for r, s, b in zip(repeats, sized, balanced, strict=True) if b and len(s) > 1), default=0
    )
    per_group = (
        _approximate_gcd([r for r, b in zip(repeats, balanced, strict=True) if b], floor)
        if floor
        else None
    )

    def split(repeat: int, even: bool) -> int:
        return -(-repeat // per_group) if even and per_group is not None else 1

    def shrinks(page: Page) -> bool:
        return page.kind == "state" or (
            per_group is None and page.kind in ("sliding", "sliding_mla")
        )

    anchor = max(
        _widest(by_size, len(bucket) if shrinks(bucket[0][1]) else split(repeat, even))
        for bucket, by_size, repeat, even in zip(buckets, sized, repeats, balanced, strict=True)
    )
    groups: list[Layers] = []
    for bucket, by_size, repeat, even in zip(buckets, sized, repeats, balanced, strict=True):
        number = split(repeat, even)
        page = bucket[0][1]
        if shrinks(page):
            fit = max(anchor // page.bytes_, 1)
            number = max(number, -(-len(bucket) // fit))
        if number == 1:
            groups.append(bucket)
            continue
        pattern = list(zip(*by_size.values(), strict=True))
        groups.extend([entry for one in pattern[i::number] for entry in one] for i in range(number))
    return groups


def _alike(one: Page, other: Page) -> bool:
    if one.block_size != other.block_size:
        return False
    if one.grows or other.grows:
        return one.grows and other.grows
    if one.kind == "state":
        return other.kind == "state" and one.bytes_ == other.bytes_
    return one.kind == other.kind and one.window == other.window


def _by_size(layers: Layers) -> dict[int, Layers]:
    sizes: dict[int, Layers] = {}
    for entry in layers:
        sizes.setdefault(entry[1].bytes_, []).append(entry)
    return sizes


def _most_alike(layers: Layers) -> int:
    return Counter(page.bytes_ for _, page in layers).most_common(1)[0][1]


def _widest(by_size: dict[int, Layers], number: int) -> int:
    return sum(-(-len(part) // number) * size for size, part in by_size.items())


def _padded(page: Page, sizes: list[int]) -> Page:
    larger = min((size for size in sizes if size >= page.bytes_), default=page.bytes_)
    return page if larger == page.bytes_ else replace(page, padded=larger)


def _approximate_gcd(values: list[int], least: int) -> int:
    """The number, at least ``least``, to multiples of which rounding up the values adds least."""
    largest = max(values)
    if least > largest:
        return least
    best, best_padding = least, None
    for step in range(max(1, least), largest + 1):
        padding = sum(-value % step for value in values)
        if best_padding is None or padding <= best_padding:
            best, best_padding = step, padding
    return best
