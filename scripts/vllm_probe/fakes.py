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

__all__ = ["ROCM", "Missing", "fake_cuda", "fake_extensions", "fake_image_library", "fake_rocm"]

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
    # Extras that vLLM's own requirements don't bring; an environment may have them by chance.
    for name in ("b12x", "aiter"):
        sys.modules[name] = None  # type: ignore[assignment]  # Python's way to say: not there
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


class Stand(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a lenient module for a package that no gate looks into, but that is imported."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A spec for the package and what is in it."""
        if fullname.partition(".")[0] == self.package:
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

    if not any(isinstance(f, Stand) and f.package == "torchvision" for f in sys.meta_path):
        sys.meta_path.append(Stand("torchvision"))
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


def _fake_torch(sm: tuple[int, int], name: str, arch: str = "") -> None:
    """Tensors go to "meta", and torch has one device of this name and capability."""
    import torch

    for function in ("empty", "zeros", "ones", "full", "tensor", "arange", "empty_like"):
        setattr(torch, function, _on_meta(getattr(torch, function)))
    properties = types.SimpleNamespace(
        name=name,
        major=sm[0],
        minor=sm[1],
        gcnArchName=f"{arch}:sramecc+:xnack-",
        total_memory=80 * 2**30,
        multi_processor_count=132,
        shared_memory_per_block_optin=232448,
        max_threads_per_multi_processor=2048,
        L2_cache_size=50 * 2**20,
        warp_size=64 if arch else 32,
    )
    if not arch:
        del properties.gcnArchName
    cuda: Any = torch.cuda
    cuda.get_device_capability = lambda device=None: sm
    cuda.get_device_name = lambda device=None: name
    cuda.is_available = lambda: True
    cuda.device_count = lambda: 1
    cuda.current_device = lambda: 0
    cuda.get_device_properties = lambda device=None: properties


def _environment() -> None:
    os.environ.setdefault("VLLM_HAS_FLASHINFER_CUBIN", "1")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    os.environ.setdefault("CUDA_HOME", "/usr")


# gfx name -> the capability vLLM's platform derives from it.
ROCM = {"gfx942": (9, 4), "gfx950": (9, 5)}


def fake_rocm(arch: str, kernels: str) -> Any:
    """Make ``current_platform`` an AMD device. ``kernels`` is ``none``, ``found`` or ``on``.

    ``found`` is AMD's kernel package (aiter) being installed, ``on`` VLLM_ROCM_USE_AITER=1 as well.
    """
    _environment()
    os.environ["VLLM_ROCM_USE_AITER"] = "1" if kernels == "on" else "0"
    import torch

    version: Any = torch.version
    version.hip, version.cuda = "7.0.0", None
    _fake_torch(ROCM[arch], f"Fake{arch}", arch)
    fake_extensions()
    if kernels != "none":
        del sys.modules["aiter"]
        sys.meta_path.append(Stand("aiter"))
    import vllm.platforms
    from vllm.platforms.rocm import RocmPlatform

    class FakeRocm(RocmPlatform):  # type: ignore[misc]
        """An AMD device that only answers what it is."""

        @classmethod
        def get_device_name(cls, device_id: int = 0) -> str:
            return f"Fake{arch}"

        @classmethod
        def get_device_total_memory(cls, device_id: int = 0) -> int:
            return 80 * 2**30

    platform = FakeRocm()
    vllm.platforms._current_platform = platform
    return platform


def fake_cuda(sm: tuple[int, int]) -> Any:
    """Make ``vllm.platforms.current_platform`` a CUDA device of this compute capability.

    Its name is ``FakeSM90``, its memory 80 GiB. Returns the platform.
    """
    _environment()
    import torch

    torch.version.cuda = "13.0"
    _fake_torch(sm, f"FakeSM{sm[0]}{sm[1]}")
    fake_extensions()
    import vllm.platforms

    # The base class's module asks NVML for nothing by itself.
    from vllm.platforms.cuda import CudaPlatformBase
    from vllm.platforms.interface import DeviceCapability

    class FakeCuda(CudaPlatformBase):  # type: ignore[misc]
        """A CUDA device that only answers what it is."""

        @classmethod
        def get_device_capability(cls, device_id: int = 0) -> Any:
            return DeviceCapability(*sm)

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
