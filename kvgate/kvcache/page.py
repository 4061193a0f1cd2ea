"""vLLM's cache specs: what one layer's page holds, and how many pages a request takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from kvgate.units import format_bytes

__all__ = ["Demand", "Page"]

Kind = Literal["full", "mla", "sliding", "sliding_mla", "chunked", "state", "cross"]
_FULL = ("full", "mla")


@dataclass(frozen=True, slots=True)
class Demand:
    """What a request asks of the pool: its length, the tokens in flight, and the parallel sizes."""

    max_model_len: int
    in_flight: int
    dcp: int = 1
    encoder_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """One layer's page: ``block_size`` tokens in ``unpadded`` bytes, ``padded`` where widened.

    ``key`` holds what makes two layers the same cache (heads, widths, format, role). ``states`` is
    the number of blocks a request holds of a state layer, None where it holds one per block of
    tokens. ``stride`` is what a block's bytes are rounded up to.
    """

    kind: Kind
    block_size: int
    unpadded: int
    key: tuple[object, ...] = ()
    window: int | None = None
    padded: int | None = None
    states: int | None = 1
    retained: int = 0
    stride: int = 1

    @property
    def bytes_(self) -> int:
        """Bytes of the page."""
        return self.padded if self.padded is not None else self.unpadded

    @property
    def grows(self) -> bool:
        """Whether the layer keeps every token."""
        return self.kind in _FULL

    def with_block_size(self, tokens: int) -> Page:
        """The same cache in blocks of another size."""
        return replace(self, block_size=tokens, unpadded=self.unpadded * tokens // self.block_size)

    def blocks(self, demand: Demand) -> int:
        """Blocks that one request of ``demand.max_model_len`` tokens holds at most."""
        length = demand.max_model_len
        match self.kind:
            case "full" | "mla":
                return _ceil(_ceil(length, demand.dcp), self.block_size)
            case "sliding" | "sliding_mla":
                kept = (self.window or 0) - 1 + self.retained + demand.in_flight
                # One more, because a window seldom starts at a block's first token.
                return _ceil(min(kept, length), self.block_size) + 1
            case "chunked":
                return _ceil(min((self.window or 0) + demand.in_flight, length), self.block_size)
            case "cross":
                return _ceil(demand.encoder_tokens, self.block_size)
            case "state":
                if self.states is not None:
                    return self.states
                return _ceil(length, self.block_size) + self.retained

    def describe(self) -> str:
        """``sliding window 1,024: 16 tokens in 128.00 KiB``."""
        window = f" window {self.window:,}" if self.window is not None else ""
        if self.kind == "state":
            return f"state: one in {format_bytes(self.bytes_)}"
        return f"{self.kind}{window}: {self.block_size:,} tokens in {format_bytes(self.bytes_)}"


def _ceil(number: int, by: int) -> int:
    return -(-number // by)
