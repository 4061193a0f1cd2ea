"""TensorRT-LLM: which KV cache dtypes it takes on which GPU."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from kvgate.catalog.gpus import Gpu, gpu
from kvgate.errors import InputError, nearest

__all__ = ["KvSupport", "kv_support"]


@dataclass(frozen=True, slots=True)
class KvSupport:
    """Whether TensorRT-LLM stores its KV cache in a dtype on one GPU generation.

    ``valid`` is None where no source says anything of the generation. ``reason`` says why not, or
    what it asks for; ``source`` is the table it was read in.
    """

    dtype: str
    generation: str | None
    valid: bool | None
    reason: str
    source: str


def kv_support(dtype: str, where: str | Gpu) -> KvSupport:
    """Whether ``--kv_cache_dtype`` takes ``dtype`` on this GPU. ``auto`` is the checkpoint's own.

    Raises InputError for a dtype that TensorRT-LLM doesn't have (bf16 can't be asked for by name),
    and for an unknown GPU.

    >>> kv_support("nvfp4", "B200").valid, kv_support("nvfp4", "RTX 5090").valid
    (True, False)
    """
    data = _file()
    known = data["support"]["dtypes"]
    if dtype not in known:
        raise InputError(
            f"TensorRT-LLM has no KV cache dtype {dtype!r}",
            hint=f"{nearest(dtype, known)} A 16-bit cache is what auto gives otherwise",
        )
    device = where if isinstance(where, Gpu) else gpu(where)
    source = f"{data['support']['source']} ({data['support']['note']})"
    row = next((g for g in data["generation"] if device.capability in g["sm"]), None)
    if row is None:
        return KvSupport(
            dtype, None, None, f"no source says anything of {device.capability}", source
        )
    name = str(row["name"])
    if dtype == "auto" or row[dtype]:
        return KvSupport(dtype, name, True, str(row["note"]), source)
    return KvSupport(dtype, name, False, f"{dtype} KV is not supported on {name}", source)


@cache
def _file() -> dict[str, Any]:
    text = (files("kvgate.catalog") / "tensorrt.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
