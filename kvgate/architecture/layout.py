"""What each layer keeps, one entry a layer, and how layers that keep the same become one group."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kvgate.architecture.config import Config
from kvgate.architecture.layers import Layer, LayerGroup
from kvgate.errors import nearest

__all__ = ["Kept", "Layout", "Makers", "Reader", "by_type", "group", "said", "uniform"]

# What one layer keeps, and why. A layer that keeps two things has two entries.
Kept = tuple[tuple[Layer, tuple[str, ...]], ...]
Layout = list[Kept]
Reader = Callable[[Config], Layout]
Makers = Mapping[str, Callable[[], Kept]]


def said(kept: Kept, because: Sequence[str]) -> Kept:
    """The same layer, with reasons before its own."""
    return tuple((layer, (*because, *rest)) for layer, rest in kept)


def uniform(layers: int, layer: Layer, because: Sequence[str]) -> Layout:
    """Every layer keeps the same."""
    return [((layer, tuple(because)),)] * layers


def by_type(config: Config, key: str, types: Sequence[str], known: Makers) -> Layout:
    """One entry a layer from a list of layer type words.

    A word that ``known`` does not hold is a problem that names it; each word's maker runs once.
    """
    made: dict[str, Kept] = {}
    layout: Layout = []
    for position, word in enumerate(types):
        if word not in made:
            if word not in known:
                config.problem(
                    f"{config.name(key)}[{position}] is {word!r}, which is no layer type of this "
                    f"family ({nearest(word, known)})"
                )
                made[word] = ()
            else:
                made[word] = tuple(
                    (layer, (f"{key}={word}", *because)) for layer, because in known[word]()
                )
        layout.append(made[word])
    return layout


def group(layout: Layout) -> tuple[LayerGroup, ...]:
    """Layers that keep the same, in order of first index, with all the reasons given for them."""
    indices: dict[Layer, list[int]] = {}
    reasons: dict[Layer, dict[str, None]] = {}
    for index, kept in enumerate(layout):
        for layer, because in kept:
            indices.setdefault(layer, []).append(index)
            reasons.setdefault(layer, {}).update(dict.fromkeys(because))
    return tuple(
        LayerGroup(layer, tuple(indices[layer]), tuple(reasons[layer])) for layer in indices
    )
