"""kvgate: the executable knowledge base of long-context LLM serving.

The names below are what records compute with; each is imported when it is first used, so that a
command pays only for what it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvgate.architecture import model as model
    from kvgate.architecture import weights as weights
    from kvgate.attention import backends as backends
    from kvgate.attention import head_sizes as head_sizes
    from kvgate.attention import matrix as matrix
    from kvgate.catalog import gpu as gpu
    from kvgate.catalog import releases as releases
    from kvgate.catalog.formats import formats_of as formats_of
    from kvgate.catalog.formats import kv_format as kv_format
    from kvgate.catalog.kernels import kernel as kernel
    from kvgate.catalog.kernels import kernels_on as kernels_on
    from kvgate.kvcache import size as size
    from kvgate.units import GiB as GiB
    from kvgate.units import KiB as KiB
    from kvgate.units import MiB as MiB

__version__ = "0.1.0"

_HOME = {
    "GiB": "kvgate.units",
    "KiB": "kvgate.units",
    "MiB": "kvgate.units",
    "backends": "kvgate.attention",
    "formats_of": "kvgate.catalog.formats",
    "gpu": "kvgate.catalog",
    "head_sizes": "kvgate.attention",
    "kernel": "kvgate.catalog.kernels",
    "kernels_on": "kvgate.catalog.kernels",
    "kv_format": "kvgate.catalog.formats",
    "matrix": "kvgate.attention",
    "model": "kvgate.architecture",
    "releases": "kvgate.catalog",
    "size": "kvgate.kvcache",
    "weights": "kvgate.architecture",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'kvgate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_HOME, "__version__"])
