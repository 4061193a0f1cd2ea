"""Rules by name. A rule is a pure function of a plan, in a module of its theme."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

from kvgate.errors import InputError, nearest
from kvgate.plan.model import Plan
from kvgate.rules.verdict import Verdict

__all__ = ["THEMES", "Rule", "rule", "rules"]

Rule = Callable[[Plan], Verdict]

# One module a theme; each has a tuple RULES of its functions. A rule's name is its function's.
THEMES = (
    "gates",
    "sizing",
    "precision",
    "lengths",
    "llamacpp",
    "sglang_backends",
    "sglang_memory",
    "sglang_settings",
    "trtllm",
    "generations",
    "latent",
    "cachedtype",
    "accounting",
    "hybrid",
    "parallel",
    "connectors",
    "refusals",
    "rocm",
)


@cache
def rules() -> dict[str, Rule]:
    """Every rule by name, themes in order."""
    found: dict[str, Rule] = {}
    for theme in THEMES:
        for function in import_module(f"kvgate.rules.{theme}").RULES:
            found[function.__name__] = function
    return found


def rule(name: str) -> Rule:
    """The rule of that name. Raises InputError for an unknown one, with the nearest."""
    known = rules()
    if name not in known:
        raise InputError(f"unknown rule {name!r}", hint=nearest(name, known))
    return known[name]
