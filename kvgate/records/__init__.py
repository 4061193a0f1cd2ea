"""Records: files read and validated, their wiki-links, link graph, evidence, and the linter.

Each name is imported when it is first used, so that a command pays only for what it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvgate.records.home import records_home as records_home
    from kvgate.records.loader import Library as Library
    from kvgate.records.loader import load as load
    from kvgate.records.record import Draft as Draft
    from kvgate.records.record import Page as Page
    from kvgate.records.record import Record as Record
    from kvgate.records.record import read_record as read_record

_HOME = {
    "Draft": "record",
    "Library": "loader",
    "Page": "record",
    "Record": "record",
    "load": "loader",
    "read_record": "record",
    "records_home": "home",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"kvgate.records.{_HOME[name]}"), name)
    raise AttributeError(f"module 'kvgate.records' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_HOME)
