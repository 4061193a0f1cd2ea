"""Backends by release: which one vLLM picks, which others it has, and why the rest are refused."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from kvgate.catalog.engines import release, releases
from kvgate.site.fragments import fragment
from kvgate.site.reference.columns import columns_of
from kvgate.site.reference.matrix import TABLES, Cell, Choice, Matrix, changes, matrix
from kvgate.site.virtual import WIDE, ToFrom, Virtual

__all__ = ["backend_pages", "backend_tables", "choices"]


def backend_tables() -> dict[str, list[Matrix]]:
    """Every table of each vLLM release of the catalogue, oldest release first."""
    return {str(v): [matrix(str(v), table) for table in TABLES] for v in releases("vllm")}


def backend_pages(made: dict[str, list[Matrix]], to_from: ToFrom) -> Iterator[Virtual]:
    """A page for each vLLM release of the catalogue, and the index over them, newest first."""
    versions = list(made)
    moved = {
        after: [
            (new.table.title, list(changes(old, new)))
            for old, new in zip(made[before], made[after], strict=True)
            if not (old.unknown or new.unknown)
        ]
        for before, after in pairwise(versions)
    }
    path = "reference/backends/index.md"
    latest = versions[-1]
    body = fragment(
        "reference/backends.html.j2", versions=versions[::-1], moved=moved, latest=latest,
        matrices=made[latest], columns=_columns(made[latest]), choices=choices, to=to_from(path),
    )  # fmt: skip
    about = "The attention backend vLLM picks, by release, compute capability and head size."
    yield Virtual(path, "Backends", "# Backends\n", about, body, searched=True, hide=WIDE)
    before = {after: earlier for earlier, after in pairwise(versions)}
    for version in versions:
        path = f"reference/backends/vllm-{version}.md"
        body = fragment(
            "reference/backend_release.html.j2", version=version, before=before.get(version),
            matrices=made[version], moved=moved.get(version, []), choices=choices, shown=shown,
            columns=_columns(made[version]), to=to_from(path),
            source=release(f"vllm=={version}").data()["source"],
        )  # fmt: skip
        title = f"Backends of vLLM {version}"
        about = f"Which attention backend vLLM {version} picks, and why it refuses the others."
        yield Virtual(path, title, f"# {title}\n", about, body, hide=WIDE)


def _columns(made: list[Matrix]) -> list[tuple[str, ...]]:
    """Neighbouring capabilities with the same automatic choices in every table."""
    return columns_of(made[0].capabilities, lambda at: [m.auto.get(at) for m in made])


def choices(made: Matrix, at: str) -> list[tuple[str, Choice]]:
    """(heads, automatic choice) on a capability; heads are empty where all have the same."""
    by_choice: dict[Choice, list[int]] = {}
    for head, chosen in made.auto[at].items():
        by_choice.setdefault(chosen, []).append(head)
    one = len(by_choice) == 1
    return [("" if one else _heads(heads), chosen) for chosen, heads in by_choice.items()]


def shown(made: Matrix, cell: Cell | None) -> list[tuple[str, str]]:
    """(look, words) of each line in a cell: the heads taken, and each reason with its heads."""
    if cell is None:
        return [("none", "not tried")]
    one = len(made.table.heads) == 1
    lines = []
    if cell.takes:
        lines.append(("yes", "taken" if cell.takes == made.table.heads else _heads(cell.takes)))
    for heads, reasons in cell.refuses:
        why = "; ".join(reasons)
        all_heads = one or heads == made.table.heads
        lines.append(("no", why if all_heads else f"{_heads(heads)}: {why}"))
    return lines


def _heads(heads: list[int] | tuple[int, ...]) -> str:
    return ", ".join(map(str, heads))
