"""KV dtypes that a release of vLLM takes by name: what its flag refuses is not sized."""

from __future__ import annotations

from functools import lru_cache

from packaging.version import Version

from kvgate.catalog.engines import release, releases
from kvgate.errors import InputError, nearest

__all__ = ["check_accepted"]


@lru_cache(maxsize=256)
def check_accepted(engine: str, version: Version, dtype: str) -> None:
    """Raise InputError where this release's ``--kv-cache-dtype`` doesn't know the name.

    A version between two that were read is refused only what both of them lack; one that is older
    than all of them, or newer, and an engine whose names weren't read, nothing.
    """
    if engine != "vllm" or dtype == "auto":
        return
    held = releases(engine)
    if not held or version.release < held[0].release or version.release > held[-1].release:
        return
    answers = release(f"{engine}=={version}")
    later = [v for v in held if v.release >= version.release]
    known = {*answers.data()["kv_cache_dtypes"]}
    known |= {*release(f"{engine}=={later[0]}").data()["kv_cache_dtypes"]}
    if dtype not in known:
        raise InputError(
            f"vllm {version} has no KV dtype {dtype!r}", hint=nearest(dtype, sorted(known))
        )
