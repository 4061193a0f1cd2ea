"""vLLM's connectors and what they do to its allocator: which are in use, whether groups are kept.

Sources: vllm 0.9.2 to 0.33.0, config/vllm.py, distributed/kv_transfer/kv_connector/; each release
named here was read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from packaging.version import Version

__all__ = ["connectors", "events_enabled", "keeps_groups", "manager_off"]

# Connectors that say they can do with groups of layers, and the release each came with.
_WITH_GROUPS = {
    "MooncakeConnector": "0.20.2", "SimpleCPUOffloadConnector": "0.20.2",
    "NixlConnector": "0.20.2", "NixlPullConnector": "0.24.0", "NixlPushConnector": "0.24.0",
    "OffloadingConnector": "0.21.0", "DecodeBenchConnector": "0.21.0",
    "ExampleHiddenStatesConnector": "0.22.0", "MooncakeStoreConnector": "0.22.0",
    "MoRIIOConnector": "0.30.0", "HiSparseConnector": "0.30.0", "UMBPStoreConnector": "0.33.0",
}  # fmt: skip
# Those of vLLM's own that don't say so, up to 0.33.0.
_WITHOUT_GROUPS = {
    "LMCacheConnectorV1", "FlexKVConnectorV1", "HF3FSKVConnector", "P2pNcclConnector",
    "ExampleConnector", "SharedStorageConnector",
}  # fmt: skip


def connectors(settings: Mapping[str, Any], version: Version | None) -> tuple[str, ...]:
    """The KV connectors in use, those inside of a MultiConnector in its place."""
    config = settings.get("kv_transfer_config")
    if isinstance(config, Mapping):
        name = config.get("kv_connector")
        if name == "MultiConnector":
            extra = config.get("kv_connector_extra_config")
            inner = extra.get("connectors") if isinstance(extra, Mapping) else None
            return tuple(
                str(one["kv_connector"])
                for one in (inner if isinstance(inner, (list, tuple)) else ())
                if isinstance(one, Mapping) and one.get("kv_connector")
            ) or ("MultiConnector",)
        return (str(name),) if name else ()
    if settings.get("kv_offloading_size") is not None:
        # Settings of their own, of which the engine makes a connector.
        if settings.get("kv_offloading_backend") != "lmcache":
            return ("OffloadingConnector",)
        new = version is not None and version >= Version("0.26.0")
        return ("LMCacheMPConnector" if new else "LMCacheConnectorV1",)
    return ()


def keeps_groups(names: tuple[str, ...]) -> bool:
    """Whether all of these connectors are known to do with groups, in some release."""
    return all(name in _WITH_GROUPS for name in names)


def events_enabled(settings: Mapping[str, Any]) -> bool:
    """Whether KV events are configured at all: up to 0.19 that alone has consequences."""
    return isinstance(settings.get("kv_events_config"), Mapping)


def manager_off(settings: Mapping[str, Any], version: Version | None) -> tuple[str, bool] | None:
    """Why the hybrid manager is off, and whether that is certain; None where it is on.

    Not certain means a connector that vLLM doesn't ship, or one whose own release decides.
    """
    if settings.get("disable_hybrid_kv_cache_manager") is True:
        return "--disable-hybrid-kv-cache-manager is given", True
    kept = settings.get("disable_hybrid_kv_cache_manager") is False
    if events_enabled(settings) and version is not None and version < Version("0.20.2"):
        return "--kv-events-config is given", True
    names = connectors(settings, version)
    if not names or kept:
        return None
    if version is not None and version < Version("0.22.0"):
        return f"a KV connector ({', '.join(names)}) is configured", True
    asked = version or Version("0")
    seen = f"vLLM {version}" if version is not None else "vLLM"
    for name in names:
        first = _WITH_GROUPS.get(name)
        if first is not None and asked >= Version(first):
            continue
        certain = first is not None or name in _WITHOUT_GROUPS
        return f"the connector {name} doesn't support it in {seen}", certain
    return None
