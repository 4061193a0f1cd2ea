"""Bounds: what one page's examples may use of time and memory, and the stop when they use more.

Nothing here measures a clock: work is counted in steps before it is done, so that the same page
stops at the same place on every machine and in a browser.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from kvgate.errors import InputError

__all__ = ["Budget", "Limits", "Stop"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of a page. A step is one node of a syntax tree evaluated, or work of that order.

    ``example_steps`` and ``page_steps`` bound time and, since making a value costs steps, memory.
    ``bits`` bounds an integer, ``text`` the characters of a string or of a printed value, ``items``
    the elements of a list or tuple, ``keys`` those of a set or dict, ``nesting`` how deep values
    hold each other. A call of a function of kvgate costs ``call_steps``; its arguments together
    weigh at most ``argument_weight`` and a string among them has at most ``argument_text``
    characters.
    """

    example_steps: int = 200_000
    page_steps: int = 1_000_000
    call_steps: int = 500
    bits: int = 4_096
    text: int = 20_000
    items: int = 100_000
    keys: int = 10_000
    nesting: int = 40
    argument_text: int = 8_192
    argument_weight: int = 20_000


class Stop(Exception):  # noqa: N818 - it ends an example; it is no error of this program
    """An example that cannot go on: a code of this floor, why, and the node where it happened.

    ``error`` is the InputError of a function of kvgate, when that is the reason.
    """

    def __init__(
        self,
        code: str,
        message: str,
        hint: str = "",
        *,
        node: ast.AST | None = None,
        error: InputError | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.node = node
        self.error = error


class Budget:
    """What is left of a page's steps; every operation pays here before it works."""

    __slots__ = ("_floor", "left", "limits", "weights")

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.left = self.limits.page_steps
        self._floor = 0
        # id of a container -> the container (so that the id stays its own), its weight, its height.
        self.weights: dict[int, tuple[object, int, int]] = {}
        self.begin()

    def begin(self) -> None:
        """Start the next example: it may use its own share, and no more than the page has left."""
        if len(self.weights) > 10_000:
            self.weights.clear()
        self._floor = max(0, self.left - self.limits.example_steps)

    def charge(self, steps: int) -> None:
        """Pay for work about to be done. Raises Stop where it would cost more than is left."""
        if self.left - steps < self._floor:
            self.left = self._floor
            what, bound = "this example takes", self.limits.example_steps
            if self._floor == 0:
                what, bound = "this page's examples together take", self.limits.page_steps
            hint = f"the bound is {bound:,}; let a function of kvgate do the counting"
            raise Stop("KV332", f"{what} too many steps", hint)
        self.left -= steps

    def text(self, length: int) -> None:
        """Pay for a string about to be made. Raises Stop where it would be too long."""
        if length > self.limits.text:
            raise Stop("KV332", f"a string may not exceed {self.limits.text:,} characters")
        self.charge(length // 16)

    def items(self, count: int) -> None:
        """Pay for a list or tuple about to be made. Raises Stop where it would be too long."""
        if count > self.limits.items:
            raise Stop("KV332", f"a list may not exceed {self.limits.items:,} elements")
        self.charge(count // 8)

    def key(self, held: int) -> None:
        """Pay for one more key in a set or dict that holds ``held``.

        Keys may be chosen so that all their hashes collide, which makes the n-th insertion compare
        with n others: the price grows with what is held. Raises Stop where it would be too many.
        """
        if held >= self.limits.keys:
            raise Stop("KV332", f"a set or dict may not exceed {self.limits.keys:,} keys")
        self.charge(1 + held // 256)

    def keys(self, count: int) -> None:
        """Pay for a set or dict of ``count`` keys. Raises Stop where those are too many."""
        if count > self.limits.keys:
            raise Stop("KV332", f"a set or dict may not exceed {self.limits.keys:,} keys")
        self.charge(count + count * count // 512)

    def integer(self, bits: int) -> None:
        """Raises Stop where an integer of so many bits would be too large."""
        if bits > self.limits.bits:
            raise Stop("KV332", f"an integer may not exceed {self.limits.bits:,} bits")
