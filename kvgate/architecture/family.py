"""How one model type is read: what each family module lists in its ``TYPES``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kvgate.architecture.config import Config
from kvgate.architecture.layout import Kept, Layout, Reader

__all__ = ["Family", "Types", "defaults"]


@dataclass(frozen=True, slots=True)
class Family:
    """One model type.

    ``defaults`` are its config class's values for keys that released files leave out; ``nested``
    are more of them, for text models inside a wrapper whose files leave almost everything out.
    ``ignores`` are keys that look as if they changed what a layer keeps, and don't, in this family.
    ``draft`` are the keys that count draft layers, the first that does so wins; ``draft_layer``
    says what the n-th of them keeps, where that is not what the last attention layer keeps.
    ``notes`` are what a person who sizes a model of this type has to know besides.
    """

    read: Reader
    defaults: Mapping[str, Any] = field(default_factory=dict)
    nested: Mapping[str, Any] = field(default_factory=dict)
    ignores: tuple[str, ...] = ()
    draft: tuple[str, ...] = ("num_nextn_predict_layers",)
    draft_layer: Callable[[Config, Layout, int], Kept] | None = None
    notes: tuple[str, ...] = ()


Types = dict[str, Family]


def defaults(
    kv_heads: int | None = None,
    head_dim: int | None = None,
    window: int | None = None,
    **more: Any,
) -> dict[str, Any]:
    """The defaults that most families have, by short names."""
    found = {
        "num_key_value_heads": kv_heads,
        "head_dim": head_dim,
        "sliding_window": window,
        **more,
    }
    return {key: value for key, value in found.items() if value is not None}
