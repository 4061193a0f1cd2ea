"""A container that is started: its image, command, arguments, environment and what surrounds it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from kvgate.deployment.node import Node
from kvgate.deployment.script import Word
from kvgate.errors import Diagnostic, Place

__all__ = ["Around", "Container", "memory_bytes", "reference_word"]

_EMPTY: Mapping[str, Word] = MappingProxyType({})
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)\Z")
_UNITS = {"": 1, "b": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_DOCKER = {"": 1, "b": 1, "k": 2**10, "kb": 2**10, "m": 2**20, "mb": 2**20, "g": 2**30, "gb": 2**30}
_DOCKER |= {"t": 2**40, "tb": 2**40}
_REFERENCE = re.compile(r"\$(\$?)\(([A-Za-z_][A-Za-z0-9_.-]*)\)")


@dataclass(frozen=True, slots=True)
class Around:
    """What stands around a command: the image, the GPUs, the host's memory, names and roles.

    ``roles`` are names that may tell prefill from decode, nearest first. ``model`` is the model
    that the manifest names outside of the command.
    """

    image: str = ""
    image_place: Place | None = None
    gpu: str = ""
    gpu_place: Place | None = None
    gpu_count: int | None = None
    nodes: int = 1
    host_memory_bytes: int | None = None
    name: str = ""
    roles: tuple[str, ...] = ()
    model: str = ""
    container: bool = False

    def named(self, *names: str) -> Around:
        """The same with more names that may tell the role, nearest first."""
        return replace(self, roles=(*names, *self.roles))


@dataclass(frozen=True, slots=True)
class Container:
    """``command`` replaces the image's entrypoint; None leaves it. ``env`` values that are not in
    the text (secrets, fields) are words with something unresolved."""

    place: Place
    image: str = ""
    command: tuple[Word, ...] | None = None
    args: tuple[Word, ...] = ()
    env: Mapping[str, Word] = field(default_factory=lambda: _EMPTY)
    around: Around = field(default_factory=Around)
    problems: tuple[Diagnostic, ...] = ()


def reference_word(node: Node, env: Mapping[str, Word]) -> Word:
    """A Kubernetes argument: ``$(NAME)`` is filled in from the container's own environment."""
    missing: list[str] = []

    def fill(match: re.Match[str]) -> str:
        if match.group(1):
            return match.group()[1:]
        known = env.get(match.group(2))
        if known is None or known.unresolved:
            missing.append(match.group())
            return match.group()
        return known.text

    return Word(_REFERENCE.sub(fill, node.text), node.place, tuple(missing), node.block)


def memory_bytes(text: str, *, docker: bool = False) -> int | None:
    """Bytes of a Kubernetes quantity (``6Gi``) or a Docker size (``6g``, always powers of two).

    None for text that is neither.
    """
    match = _QUANTITY.match(text.strip())
    if not match or len(match.group(1)) > 40:
        return None
    unit = match.group(2).lower() if docker else match.group(2)
    scale = (_DOCKER if docker else _UNITS).get(unit)
    return None if scale is None else int(float(match.group(1)) * scale)
