"""Claims: the doctest-like examples of a page, found, checked, evaluated safely and kept true.

A page comes from anybody, so nothing in it is executed: `find` reads the examples and checks them
against an allow-list of syntax, `run` walks their syntax trees with bounds on time and memory, and
`fix` rewrites the outputs that moved. Each name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvgate.claims.codes import CODES as CODES
    from kvgate.claims.document import Document as Document
    from kvgate.claims.document import Example as Example
    from kvgate.claims.finder import find as find
    from kvgate.claims.limits import Budget as Budget
    from kvgate.claims.limits import Limits as Limits
    from kvgate.claims.namespace import default_namespace as default_namespace
    from kvgate.claims.report import Report as Report
    from kvgate.claims.report import Result as Result
    from kvgate.claims.report import nothing_ran as nothing_ran
    from kvgate.claims.rewriting import fix as fix
    from kvgate.claims.rewriting import fixable as fixable
    from kvgate.claims.runner import evaluate as evaluate
    from kvgate.claims.runner import run as run

_HOME = {
    "CODES": "codes",
    "Budget": "limits",
    "Document": "document",
    "Example": "document",
    "Limits": "limits",
    "Report": "report",
    "Result": "report",
    "default_namespace": "namespace",
    "evaluate": "runner",
    "find": "finder",
    "fix": "rewriting",
    "fixable": "rewriting",
    "nothing_ran": "report",
    "run": "runner",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"kvgate.claims.{_HOME[name]}"), name)
    raise AttributeError(f"module 'kvgate.claims' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_HOME)
