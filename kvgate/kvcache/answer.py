"""What an engine's pool comes to, in the same words for every engine."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["PoolAnswer", "Range"]


@dataclass(frozen=True, slots=True)
class Range:
    """A number known to lie between ``low`` and ``high``, and most likely to be ``likely``."""

    low: int
    likely: int
    high: int

    @classmethod
    def exact(cls, value: int) -> Range:
        """A number known exactly."""
        return cls(value, value, value)

    @property
    def known(self) -> bool:
        """Whether there is nothing to estimate."""
        return self.low == self.high


@dataclass(frozen=True, slots=True)
class PoolAnswer:
    """One engine's pool on one rank.

    ``memory`` is the KV memory per rank in bytes, ``block_size`` the tokens of one block and
    ``blocks`` their number; None where an engine has none. ``tokens`` and ``max_concurrency`` are
    what the engine prints; None where it prints no such thing. ``longest`` is the longest sequence
    that fits, None where every length does; ``fits`` whether one of the asked length does,
    ``refusal`` the engine's message where it does not start, and ``starts_anyway`` why it starts
    where that length does not fit, with ``admitted`` the longest that its check lets pass (None:
    any). ``undecided`` is whether the length fits at one end of the memory's range and not at the
    other, for engines whose range is wide. ``extra`` holds figures that only this engine has
    (slots, split pools), ``lines`` the explanation.
    """

    memory: Range
    block_size: int | None
    blocks: int | None
    tokens: int | None
    max_concurrency: float | None
    longest: int | None
    fits: bool
    refusal: str | None = None
    lines: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    extra: tuple[tuple[str, object], ...] = field(default=())
    starts_anyway: str | None = None
    admitted: int | None = None
    undecided: bool = False
