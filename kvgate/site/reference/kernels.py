"""Attention kernel families against compute capabilities: each is a closed set."""

from __future__ import annotations

from kvgate.catalog.gpus import gpus
from kvgate.catalog.kernels import Kernel, kernels
from kvgate.site.fragments import fragment
from kvgate.site.reference.columns import columns_of
from kvgate.site.virtual import WIDE, ToFrom, Virtual

__all__ = ["kernels_page"]


def kernels_page(to_from: ToFrom) -> Virtual:
    """The page of all kernel families."""
    path = "reference/kernels.md"
    capabilities = list(dict.fromkeys(g.capability for g in gpus() if g.sm))
    columns = columns_of(capabilities, lambda at: [_cell(k, at) for k in kernels()])
    cells = {k.id: [_cell(k, column[0]) for column in columns] for k in kernels()}
    body = fragment(
        "reference/kernels.html.j2",
        kernels=kernels(),
        columns=columns,
        cells=cells,
        to=to_from(path),
    )
    about = "Which attention kernel family has code for which compute capability."
    return Virtual(path, "Kernels", "# Kernels\n", about, body, searched=True, hide=WIDE)


def _cell(kernel: Kernel, at: str) -> tuple[str, str]:
    """What a family can do on a capability: a word for its look, and in words."""
    if at not in kernel.sm:
        return "no", "no code"
    if at not in kernel.paged_kv:
        return "part", "no paged cache"
    return ("yes", "paged, fp8 cache") if at in kernel.fp8_kv else ("mostly", "paged, 16-bit cache")
