"""Facts as data, with their sources, and the typed loaders that read them."""

from kvgate.catalog.engines import Release, release, releases
from kvgate.catalog.gpus import Gpu, gpu, gpus

__all__ = ["Gpu", "Release", "gpu", "gpus", "release", "releases"]
