"""What a record computes with: the public names of the package, each imported when it is used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

__all__ = ["default_namespace"]


class _PublicNames(Mapping[str, object]):
    """The names in ``kvgate.__all__``; looking one up imports it, asking for it does not."""

    __slots__ = ("_names", "_package")

    def __init__(self) -> None:
        self._package = import_module("kvgate")
        self._names = dict.fromkeys(self._package.__all__)

    def __getitem__(self, name: str) -> object:
        if name not in self._names:
            raise KeyError(name)
        return getattr(self._package, name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def default_namespace() -> Mapping[str, object]:
    """The public functions and constants of kvgate by name, read-only, for `run` and `evaluate`.

    >>> default_namespace()["KiB"]
    1024
    """
    return _PublicNames()
