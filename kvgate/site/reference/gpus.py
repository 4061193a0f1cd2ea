"""The GPUs of the catalogue: exact compute capability, and the memory their drivers report."""

from __future__ import annotations

from kvgate.catalog.gpus import gpus
from kvgate.catalog.kernels import kernels
from kvgate.site.book import Book
from kvgate.site.fragments import fragment
from kvgate.site.virtual import ToFrom, Virtual

__all__ = ["gpus_page"]


def gpus_page(book: Book, to_from: ToFrom) -> Virtual:
    """The page of all GPUs, by generation."""
    path = "reference/gpus.md"
    generations: dict[str, list[object]] = {}
    for card in gpus():
        generations.setdefault(card.arch, []).append(card)
    reach = {
        arch: [k.name for k in kernels() if _capability(arch) in k.paged_kv] for arch in generations
    }
    body = fragment(
        "reference/gpus.html.j2",
        generations=generations,
        reach=reach,
        counts={arch: len(records) for arch, records in book.by_gpu.items()},
        to=to_from(path),
    )
    about = "Compute capability, memory as the driver reports it, and bandwidth of each known GPU."
    return Virtual(path, "GPUs", "# GPUs\n", about, body, searched=True)


def _capability(arch: str) -> str:
    """``9.0`` for ``sm_90``; a ROCm generation stays as it is."""
    digits = arch.removeprefix("sm_")
    return f"{digits[:-1]}.{digits[-1]}" if digits != arch else arch
