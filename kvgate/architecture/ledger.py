"""Where the parts of a model's weights are written down while they are counted."""

from __future__ import annotations

from kvgate.architecture.parts import Part, Split
from kvgate.architecture.scheme import Scheme

__all__ = ["Ledger"]


Key = tuple[str, Split, int, float | None, bool]


class Ledger:
    """Collects parameters by what makes a part: role, split, heads, bits.

    A module counted in a layer is asked for its bits under its name in the checkpoint, so that
    exclusions by layer and mixed precision are followed; layers that come out equal share a part.
    """

    def __init__(self, scheme: Scheme, *, draft_from: int) -> None:
        self._scheme = scheme
        self._draft_from = draft_from
        self._layers: dict[Key, dict[int, int]] = {}
        self._once: dict[Key, int] = {}
        self.not_counted: list[str] = []

    def layer(
        self,
        index: int,
        role: str,
        module: str,
        count: int,
        *,
        split: Split = "tensor",
        heads: int = 0,
        expert: bool = False,
    ) -> None:
        """``count`` parameters of one linear module in one layer."""
        prefix = "mtp." if index >= self._draft_from else ""
        bits = self._scheme.bits(f"{prefix}layers.{index}.{module}", expert=expert)
        self._add((role, split, heads, bits, True), index, count)

    def plain(self, index: int, role: str, count: int, *, split: Split = "none") -> None:
        """``count`` parameters in one layer that stay as they are: norms, routers, small ones."""
        self._add((role, split, 0, None, False), index, count)

    def once(
        self,
        role: str,
        count: int,
        *,
        split: Split = "none",
        module: str = "",
        linear: bool = False,
    ) -> None:
        """``count`` parameters outside the layers."""
        bits = self._scheme.bits(module) if module else None
        if count > 0:
            key = (role, split, 0, bits, linear)
            self._once[key] = self._once.get(key, 0) + count

    def _add(self, key: Key, index: int, count: int) -> None:
        if count > 0:
            held = self._layers.setdefault(key, {})
            held[index] = held.get(index, 0) + count

    def parts(self) -> tuple[Part, ...]:
        """Everything written down."""
        parts = [
            Part(role, count, (), split, heads, bits, linear)
            for (role, split, heads, bits, linear), count in self._once.items()
        ]
        for (role, split, heads, bits, linear), held in self._layers.items():
            by_count: dict[int, list[int]] = {}
            for index, count in sorted(held.items()):
                by_count.setdefault(count, []).append(index)
            parts.extend(
                Part(role, count, tuple(indices), split, heads, bits, linear)
                for count, indices in by_count.items()
            )
        return tuple(parts)
