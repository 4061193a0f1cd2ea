"""A parsed YAML, JSON or TOML value that remembers where each part stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kvgate.errors import InputError, Place

__all__ = ["Node", "node_of"]

_MOST = 200_000  # values in one document, aliases expanded


@dataclass(frozen=True, slots=True)
class Node:
    """One value: ``value`` is a scalar, a tuple of nodes, or a dict of nodes by key.

    ``text`` is a scalar as it was written ("0.90" stays "0.90"), ``block`` says that it is a block
    scalar, whose text starts on the line below its place.
    """

    value: Any
    text: str
    place: Place
    block: bool = False

    @property
    def is_map(self) -> bool:
        """Whether it holds keys and values."""
        return isinstance(self.value, dict)

    @property
    def is_list(self) -> bool:
        """Whether it holds a sequence."""
        return isinstance(self.value, tuple)

    @property
    def is_text(self) -> bool:
        """Whether it is a scalar with something in it."""
        return not self.is_map and not self.is_list and self.value is not None

    def get(self, *keys: str) -> Node | None:
        """The value under a path of keys; None where one of them is missing or no map."""
        node: Node | None = self
        for key in keys:
            if node is None or not isinstance(node.value, dict):
                return None
            node = node.value.get(key)
        return node

    def words(self, *keys: str) -> str:
        """The text under a path of keys, or "" where there is no scalar."""
        node = self.get(*keys)
        return node.text if node is not None and node.is_text else ""

    def entries(self) -> Iterator[tuple[str, Node]]:
        """Keys and values, in order; nothing for what is no map."""
        if isinstance(self.value, dict):
            yield from self.value.items()

    def elements(self) -> Iterator[Node]:
        """The elements, in order; nothing for what is no sequence."""
        if isinstance(self.value, tuple):
            yield from self.value

    def plain(self) -> Any:
        """The same value in plain dicts, lists and scalars."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, tuple):
            return [node.plain() for node in self.value]
        return self.value


def node_of(value: Any, path: str = "<values>", place: Place | None = None) -> Node:
    """A node from plain dicts, lists and scalars, all standing at one place.

    Raises InputError for a value of another type, a key that is no scalar, values nested deeper
    than 100, and more than 200,000 values.
    """
    return _node(value, place or Place(path), 0, [_MOST])


def _node(value: Any, place: Place, depth: int, left: list[int]) -> Node:
    left[0] -= 1
    if depth > 100 or left[0] < 0:
        raise InputError("the values are nested too deeply or are too many", place=place)
    if isinstance(value, Node):
        return value
    if isinstance(value, Mapping):
        inside = {}
        for key, element in value.items():
            if not isinstance(key, str | int | float | bool):
                raise InputError(f"{key!r} is no key", place=place)
            inside[str(key)] = _node(element, place, depth + 1, left)
        return Node(inside, "", place)
    if isinstance(value, list | tuple):
        return Node(tuple(_node(v, place, depth + 1, left) for v in value), "", place)
    if value is None or isinstance(value, str | int | float | bool):
        return Node(value, _text(value), place)
    return Node(str(value), str(value), place)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
