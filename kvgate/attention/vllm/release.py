"""One vLLM release on one device: its backends with all that their gates look at, ready to ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from packaging.version import Version

from kvgate.attention.query import Query
from kvgate.attention.vllm.combinations import COMBINATIONS, Rule
from kvgate.attention.vllm.rocm import rocm_entry, rocm_version
from kvgate.attention.vllm.tables import depends_on, has, resolve
from kvgate.catalog.engines import Release
from kvgate.errors import InputError, nearest

__all__ = ["OTHER_PLATFORMS", "Backend", "Device", "device"]

# Members of the enumeration that are for other platforms than CUDA, by the start of their name.
OTHER_PLATFORMS = ("ROCM_", "XPU_", "CPU_", "AMX_", "ULTRAQUANT")

_FLAGS = (
    "mm_prefix", "sink", "per_head_scales", "window", "rswa", "non_causal", "non_causal_dcp",
    "batch_inv", "kv_connector", "pcp", "dcp", "adaptive_verification",
)  # fmt: skip
_LAST_HEAD = 1024


@dataclass(frozen=True, slots=True)
class Backend:
    """One backend under one combination of settings.

    ``heads``, ``dtypes``, ``kv`` and ``attn_types`` are what it takes; ``refuses`` has one bit per
    flag of the query that it does not take (``Device.bits``). ``tables`` holds its raw catalogue
    entry, for the block facets that depend on the model. ``unknown`` names what could not be asked.
    """

    name: str
    cls: str
    heads: frozenset[int]
    head_runs: tuple[tuple[int | None, ...], ...]
    dtypes: frozenset[str]
    kv: frozenset[str]
    attn_types: frozenset[str]
    sm: bool
    mla: bool
    sparse: bool
    refuses: int
    rule: Rule | None
    tables: Mapping[str, Any]
    unknown: tuple[str, ...]

    def takes_head(self, head_size: int) -> bool:
        """Whether its head sizes have this one."""
        if head_size <= _LAST_HEAD:
            return head_size in self.heads
        return has(self.head_runs, head_size)


class Device:
    """A release on a compute capability; ask it with `kvgate.attention.vllm.selector`."""

    def __init__(self, entry: Mapping[str, Any], capability: str) -> None:
        self.entry = entry
        self.capability = capability
        self.name: str = entry["version"]
        self.version = tuple(int(part) for part in entry["version"].split(".")[:3])
        self.kv_cache_dtypes: tuple[str, ...] = tuple(entry["kv_cache_dtypes"])
        self.quantized = frozenset(entry["quantized"])
        self.fields = frozenset(entry["selector_fields"])
        self.members: Mapping[str, list[str] | None] = entry["members"]
        keys = {"sm": capability}
        self.fa_supported = frozenset(resolve(entry["flash_attention"]["supported"], keys))
        self.head_steps: list[int] = resolve(entry["priorities"]["heads"], keys)
        self.order: Any = entry["priorities"]["order"]
        self.order_names = depends_on(self.order)
        # One bit per reason, in the order the release gives them.
        self.reasons: list[str] = [reason for _, reason in entry["checks"]]
        self.bits: dict[str, int] = {facet: 1 << i for i, (facet, _) in enumerate(entry["checks"])}
        self.told: dict[tuple[int, bool, bool, str], tuple[str, ...]] = {}
        self.platform: str = entry.get("platform", "cuda")
        self._settings: dict[tuple[str, ...], dict[str, Backend]] = {}

    @cached_property
    def asked_members(self) -> tuple[str, ...]:
        """The members that users of the platform can mean, in the enumeration's order."""
        if self.platform == "rocm":
            return tuple(name for name in self.members if name in self.entry["backends"])
        return tuple(
            name
            for name, cls in self.members.items()
            if cls and not name.startswith(OTHER_PLATFORMS)
        )

    def backends(self, query: Query) -> dict[str, Backend]:
        """All backends under the settings of this query, by name."""
        fa = str(query.flash_attn_version) if query.flash_attn_version else "none"
        key = ("1" if query.batch_inv else "0", query.trtllm, fa, query.aiter)
        found = self._settings.get(key)
        if found is None:
            names = ("invariant", "trtllm", "fa", "aiter")
            keys = {"sm": self.capability, **dict(zip(names, key, strict=True))}
            found = {
                name: self._backend(name, facets, keys)
                for name, facets in self.entry["backends"].items()
            }
            self._settings[key] = found
        return found

    def backend(self, name: str, query: Query) -> Backend:
        """The backend of that name. Raises InputError where the release has none such."""
        found = self.backends(query).get(name)
        if found is not None:
            return found
        if name in self.members:
            why = self.entry["failures"].get(name, "it has no class")
            raise InputError(
                f"what {name} accepts in vllm {self.name} is unknown",
                hint=f"its class could not be asked: {why}",
            )
        raise InputError(
            f"vllm {self.name} has no attention backend {name!r}",
            hint=nearest(name, self.asked_members),
        )

    def _backend(self, name: str, facets: Mapping[str, Any], keys: Mapping[str, str]) -> Backend:
        yes, no = frozenset(facets["yes"]), frozenset(facets["no"])

        def is_yes(word: str) -> bool:
            if word in yes or word in no:
                return word in yes
            return bool(resolve(facets[word], keys)) if word in facets else False

        refuses = 0
        for word in _FLAGS:
            if word in self.bits and not is_yes(word):
                refuses |= self.bits[word]
        sizes = resolve(facets.get("head_sizes", []), keys)
        if sizes is None:
            raise InputError(
                f"what {name} accepts in vllm {self.name} under these settings is unknown",
                hint=", ".join(f"{key} {value}" for key, value in keys.items()),
            )
        runs = tuple(map(tuple, sizes))
        names = self.members[name]
        assert names is not None
        return Backend(
            name=name,
            cls=names[0],
            heads=_numbers(runs),
            head_runs=runs,
            dtypes=frozenset(resolve(facets.get("dtypes", []), keys)),
            kv=frozenset(resolve(facets.get("kv", []), keys)),
            attn_types=frozenset(resolve(facets.get("attn_types", []), keys)),
            sm=is_yes("sm"),
            mla=is_yes("mla"),
            sparse=is_yes("sparse"),
            refuses=refuses,
            rule=COMBINATIONS.get(names[1]),
            tables=facets,
            unknown=tuple(w for w in facets.get("unknown", ()) if w in self.bits or w == "sm"),
        )


# Backends, GPUs and releases share a few sets, of thousands of sizes each.
@cache
def _numbers(runs: tuple[tuple[Any, ...], ...]) -> frozenset[int]:
    out: set[int] = set()
    for first, last, step in runs:
        out.update(range(first, (_LAST_HEAD if last is None else last) + 1, step))
    return frozenset(out)


def device(release: Release, sm: tuple[int, int], arch: str = "") -> Device:
    """The release on that compute capability, or on the AMD device of that gfx name.

    Raises InputError where the catalogue has no such release, or was not asked on such a device.
    """
    if arch:
        return _rocm_device(rocm_version(release)[0], arch)
    return _device(release, f"{sm[0]}.{sm[1]}")


@cache
def _rocm_device(version: Version, arch: str) -> Device:
    return Device(rocm_entry(version), arch)


def _called(capability: str) -> str:
    return capability if capability.startswith("gfx") else f"compute capability {capability}"


@cache
def _device(release: Release, capability: str) -> Device:
    entry = release.data()
    if capability not in entry["devices"]:
        raise InputError(
            f"what vllm {entry['version']} does on {_called(capability)} is unknown",
            hint=f"the catalogue has {', '.join(entry['devices'])}",
        )
    return Device(entry, capability)
