"""Let a vLLM release be imported where there is no GPU: empty extensions, a fixed device.

Runs inside the release's own environment, never inside kvgate's: torch is there, kvgate is not.
Nothing of vLLM is changed but what only a GPU could answer: the compiled extensions are empty
modules, the device is a made-up one of the compute capability asked for, and tensors that an
import would put on it are "meta" tensors.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import re
import sys
import types
from typing import Any

__all__ = ["Missing", "fake_cuda", "fake_extensions", "fake_image_library"]

# Compiled parts of the wheel; a module of such a name that has no Python file becomes an empty one.
_COMPILED = re.compile(
    r"vllm\.(_C|_C_stable_libtorch|_moe_C|_moe_C_stable_libtorch|_qutlass_C|_rocm_C|cumem_allocator"
    r"|_flashmla_C|_flashmla_extension_C|_flashkda_C|_deep_gemm_C|_spinloop|fs_io_C"
    r"|vllm_flash_attn\._vllm_fa[23]_C|triton_kernels)\Z"
)


class Missing(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds an empty module where the release has a compiled extension."""

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A spec for the compiled extensions only."""
        if _COMPILED.match(fullname):
            return importlib.machinery.ModuleSpec(fullname, self)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """An empty module."""
        return types.ModuleType(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing to run."""


def fake_extensions() -> None:
    """Empty modules for the compiled extensions, and the few of their operators asked at import."""
    sys.meta_path.insert(0, Missing())
    import torch

    names = (
        "cutlass_scaled_mm_supports_fp8",
        "cutlass_scaled_mm_supports_block_fp8",
        "cutlass_scaled_mm_supports_fp4",
        "cutlass_group_gemm_supported",
    )
    library = torch.library.Library("_C", "FRAGMENT")
    for name in names:
        library.define(f"{name}(int capability) -> bool")
        library.impl(name, lambda capability: True, "CompositeExplicitAutograd")
    fake_extensions.library = library  # type: ignore[attr-defined]  # kept alive


class Lenient(types.ModuleType):
    """A module that has every name: a class that can be subclassed and called."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__init__": lambda self, *a, **k: None})


class Images(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a lenient module for torchvision: no gate looks at it, but model packages import it."""

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A spec for torchvision and what is in it."""
        if fullname.partition(".")[0] == "torchvision":
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """A module with every name."""
        return Lenient(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing to run."""


def fake_image_library() -> None:
    """From now on, torchvision and the operators of the extensions are names without content."""
    import torch

    if not any(isinstance(finder, Images) for finder in sys.meta_path):
        sys.meta_path.append(Images())
        known = type(torch.ops._C).__getattr__

        def lenient(space: Any, name: str) -> Any:
            try:
                return known(space, name)
            except AttributeError:
                if space.name in {"_C", "_moe_C", "_C_cache_ops"} and not name.startswith("__"):
                    return lambda *args, **kwargs: None
                raise

        type(torch.ops._C).__getattr__ = lenient


def _on_meta(function: Any) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        device = kwargs.get("device")
        if device is not None and "cuda" in str(device):
            kwargs["device"] = "meta"
        kwargs.pop("pin_memory", None)
        return function(*args, **kwargs)

    return call


def fake_cuda(sm: tuple[int, int]) -> Any:
    """Make ``vllm.platforms.current_platform`` a CUDA device of this compute capability.

    Its name is ``FakeSM90``, its memory 80 GiB. Returns the platform.
    """
    os.environ.setdefault("VLLM_HAS_FLASHINFER_CUBIN", "1")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    os.environ.setdefault("CUDA_HOME", "/usr")
    import torch

    torch.version.cuda = "13.0"
    for name in ("empty", "zeros", "ones", "full", "tensor", "arange", "empty_like"):
        setattr(torch, name, _on_meta(getattr(torch, name)))
    torch.cuda.get_device_capability = lambda device=None: sm
    torch.cuda.get_device_name = lambda device=None: f"FakeSM{sm[0]}{sm[1]}"
    torch.cuda.is_available = lambda: True
    torch.cuda.device_count = lambda: 1
    torch.cuda.current_device = lambda: 0
    properties = types.SimpleNamespace(
        name=f"FakeSM{sm[0]}{sm[1]}",
        major=sm[0],
        minor=sm[1],
        total_memory=80 * 2**30,
        multi_processor_count=132,
        shared_memory_per_block_optin=232448,
        max_threads_per_multi_processor=2048,
        L2_cache_size=50 * 2**20,
        warp_size=32,
    )
    torch.cuda.get_device_properties = lambda device=None: properties
    fake_extensions()
    import vllm.platforms
    from vllm.platforms.interface import DeviceCapability

    # The base class's module asks NVML for nothing by itself.
    from vllm.platforms.cuda import CudaPlatformBase

    class FakeCuda(CudaPlatformBase):  # type: ignore[misc]
        """A CUDA device that only answers what it is."""

        @classmethod
        def get_device_capability(cls, device_id: int = 0) -> Any:
            return DeviceCapability(*sm)

        @classmethod
        def has_device_capability(cls, capability: Any, device_id: int = 0) -> bool:
            return super().has_device_capability(capability, device_id)

        @classmethod
        def get_device_name(cls, device_id: int = 0) -> str:
            return f"FakeSM{sm[0]}{sm[1]}"

        @classmethod
        def get_device_uuid(cls, device_id: int = 0) -> str:
            return "GPU-0"

        @classmethod
        def get_device_total_memory(cls, device_id: int = 0) -> int:
            return 80 * 2**30

        @classmethod
        def num_compute_units(cls, device_id: int = 0) -> int:
            return 132

        @classmethod
        def is_fully_connected(cls, device_ids: list[int]) -> bool:
            return True

    platform = FakeCuda()
    vllm.platforms._current_platform = platform
    return platform
