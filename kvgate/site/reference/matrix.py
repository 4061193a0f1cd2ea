"""What each backend of a vLLM release takes: asked for every capability, KV dtype and head size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kvgate.attention import answer
from kvgate.catalog.engines import release
from kvgate.errors import InputError
from kvgate.site.reference.columns import columns_of

__all__ = ["HEADS", "TABLES", "Cell", "Matrix", "Table", "changes", "matrix"]

HEADS = (64, 80, 96, 128, 192, 256, 512)
"""The head sizes of plain attention that are asked; models have few others."""


@dataclass(frozen=True, slots=True)
class Table:
    """One kind of attention with one KV cache dtype: what is asked besides head size and device."""

    id: str
    title: str
    row: tuple[tuple[str, object], ...]
    heads: tuple[int, ...]


_MLA = (("mla", True), ("num_heads", 16), ("num_kv_heads", 1))
_SPARSE = (*_MLA, ("sparse", True), ("index_topk", 2048))
TABLES = (
    Table("plain", "Plain attention, 16-bit cache", (("kv", "auto"),), HEADS),
    Table("plain-fp8", "Plain attention, fp8 cache", (("kv", "fp8"),), HEADS),
    Table("sinks", "Attention with sinks, 16-bit cache", (("kv", "auto"), ("sink", True)), (64,)),
    Table("mla", "Latent attention (MLA), 16-bit cache", (("kv", "auto"), *_MLA), (576,)),
    Table("mla-fp8", "Latent attention (MLA), fp8 cache", (("kv", "fp8"), *_MLA), (576,)),
    Table("sparse", "Sparse MLA, 16-bit cache", (("kv", "auto"), *_SPARSE), (576,)),
    Table("sparse-fp8", "Sparse MLA, fp8 cache", (("kv", "fp8"), *_SPARSE), (576,)),
)


@dataclass(frozen=True, slots=True)
class Cell:
    """A backend on a capability: head sizes it takes, and those it refuses by their reasons."""

    takes: tuple[int, ...]
    refuses: tuple[tuple[tuple[int, ...], tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The automatic choice, None where there is none; ``fails`` is what start-up then says."""

    name: str | None
    fails: str = ""


@dataclass(frozen=True, slots=True)
class Matrix:
    """One table of one release.

    ``cells`` is by backend, in the order that the selector tries them, then by capability; a
    backend that isn't tried on a capability has none there. ``auto`` is the automatic choice by
    capability and head size. ``unknown`` is why a table can't be made.
    """

    table: Table
    capabilities: tuple[str, ...]
    cells: dict[str, dict[str, Cell]]
    auto: dict[str, dict[int, Choice]]
    unknown: str = ""

    @property
    def columns(self) -> list[tuple[str, ...]]:
        """Neighbouring capabilities for which every cell is the same."""
        return columns_of(
            self.capabilities,
            lambda at: [(self.auto.get(at), *(places.get(at) for places in self.cells.values()))],
        )


def matrix(version: str, table: Table) -> Matrix:
    """One table of vLLM's release of that version, which the catalogue holds."""
    capabilities = tuple(release(f"vllm=={version}").data()["devices"])
    verdicts: dict[str, dict[str, dict[int, tuple[str, ...]]]] = {}
    auto: dict[str, dict[int, Choice]] = {}
    for at in capabilities:
        for head in table.heads:
            row = {"engine": f"vllm=={version}", "sm": at, "head_size": head, **dict(table.row)}
            try:
                found = answer(row)
            except InputError as error:
                return Matrix(table, capabilities, {}, {}, error.message)
            auto.setdefault(at, {})[head] = _choice(row, found["auto"])
            # A backend that is tried nowhere may still be forced; those aren't shown.
            for name in found["valid"]:
                verdicts.setdefault(name, {}).setdefault(at, {})[head] = ()
            for name, reasons in found["invalid"].items():
                verdicts.setdefault(name, {}).setdefault(at, {})[head] = tuple(reasons)
    cells = {
        name: {at: _cell(asked) for at, asked in places.items()}
        for name, places in verdicts.items()
    }
    return Matrix(table, capabilities, cells, auto)


def _choice(row: dict[str, object], name: str | None) -> Choice:
    if name is None:
        return Choice(None)
    started = answer({**row, "forced": "AUTO"})
    built = started.get("impl_init", "ok")
    return Choice(name, started.get("then_fails") or ("" if built == "ok" else built))


def _cell(asked: dict[int, tuple[str, ...]]) -> Cell:
    by_reason: dict[tuple[str, ...], list[int]] = {}
    for head, reasons in asked.items():
        by_reason.setdefault(reasons, []).append(head)
    takes = tuple(by_reason.pop((), ()))
    return Cell(takes, tuple((tuple(heads), reasons) for reasons, heads in by_reason.items()))


def changes(before: Matrix, after: Matrix) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(what changed, on which capabilities) from one release's table to another's.

    A sentence stands once, with every capability that it holds for.
    """
    where: dict[str, list[str]] = {}
    for at in after.capabilities:
        if at not in before.capabilities:
            where.setdefault("the release knows this capability", []).append(at)
            continue
        for sentence in _at(before, after, at):
            where.setdefault(sentence, []).append(at)
    for sentence, places in where.items():
        yield sentence, tuple(places)


def _at(before: Matrix, after: Matrix, at: str) -> Iterator[str]:
    moved: dict[tuple[str, str], list[int]] = {}
    for head in after.table.heads:
        was, now = _said(before.auto[at][head]), _said(after.auto[at][head])
        if was != now:
            moved.setdefault((was, now), []).append(head)
    for (was, now), heads in moved.items():
        yield f"heads {_list(heads)}: the choice is {now}, was {was}"
    for name in dict.fromkeys([*before.cells, *after.cells]):
        old, new = before.cells.get(name, {}).get(at), after.cells.get(name, {}).get(at)
        took, takes = set(old.takes if old else ()), set(new.takes if new else ())
        if takes - took:
            yield f"{name} takes heads {_list(sorted(takes - took))}"
        if took - takes:
            yield f"{name} no longer takes heads {_list(sorted(took - takes))}"


def _said(choice: Choice) -> str:
    fails = " (which fails at start)" if choice.fails else ""
    return f"{choice.name or 'none'}{fails}"


def _list(heads: list[int]) -> str:
    return ", ".join(map(str, heads))
