"""The option ``--gpu``: a name of the catalogue, or ``auto`` for this machine's own."""

from __future__ import annotations

from importlib import import_module

from kvgate.catalog.gpus import Gpu, gpu
from kvgate.errors import InputError

__all__ = ["gpu_option"]


def gpu_option(name: str | None) -> Gpu | None:
    """The GPU that the option names, None without one. Raises InputError for what isn't known."""
    if name is None:
        return None
    return gpu(_own()) if name == "auto" else gpu(name)


def _own() -> str:
    try:
        nvml = import_module("pynvml")
    except ImportError:
        raise InputError(
            "--gpu auto needs the package nvidia-ml-py", hint="pip install nvidia-ml-py"
        ) from None
    try:
        nvml.nvmlInit()
        name = nvml.nvmlDeviceGetName(nvml.nvmlDeviceGetHandleByIndex(0))
    except Exception as error:
        # NVML has one exception class an error code; each means that no GPU can be read here.
        raise InputError(f"no GPU can be read on this machine: {error}", hint="name it") from None
    return name.decode() if isinstance(name, bytes) else str(name)
