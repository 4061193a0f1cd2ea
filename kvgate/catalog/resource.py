"""The catalogue's own files as text.

Python's loader reads them, from a folder, a zip file or a browser's file system alike; importing
`importlib.resources` instead would take longer than a sizing.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

__all__ = ["read"]


def read(*parts: str) -> str:
    """The text of a file of the catalogue, by its path below this package.

    Raises OSError where there is none.
    """
    loader: Any = globals()["__spec__"].loader
    data: bytes = loader.get_data(str(PurePath(__file__).parent.joinpath(*parts)))
    return data.decode("utf-8")
