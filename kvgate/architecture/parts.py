"""A model's weights in parts: how many, how an engine splits them over ranks, in how many bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["ADDED", "Part", "Split"]

# tensor: columns or rows over all tensor-parallel ranks; heads: whole KV heads, replicated where
# there are fewer than ranks; vocab: rows of the vocabulary, padded; none: a full copy on each rank.
Split = Literal["tensor", "heads", "vocab", "none"]
ADDED = frozenset({"rope", "absorbed", "padding"})


@dataclass(frozen=True, slots=True)
class Part:
    """Matrices of one role.

    Roles ``rope`` (tables of sines and cosines), ``absorbed`` (copies of MLA's up-projection) and
    ``padding`` (of FP4 experts) are no parameters: engines add them when they load the model.

    ``each`` parameters stand in each of ``layers`` (0-based; draft layers go on after the model's
    own), or once where ``layers`` is empty. ``bits`` is what one parameter takes in the checkpoint,
    its share of the scales included; None means the dtype the model runs in. ``linear`` parts are
    the ones that an engine's own quantisation (``--quantization fp8``) would shrink. ``heads`` are
    the KV heads of a part that is split by them, 0 for others.
    """

    role: str
    each: int
    layers: tuple[int, ...] = ()
    split: Split = "tensor"
    heads: int = 0
    bits: float | None = None
    linear: bool = True

    @property
    def parameters(self) -> int:
        """All layers together; 0 for what is no parameter."""
        return 0 if self.role in ADDED else self.elements

    @property
    def elements(self) -> int:
        """All layers together, parameters or not."""
        return self.each * max(1, len(self.layers))
