"""An InputError, and a form that will go, as the person at the terminal reads them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from kvgate.deprecation import DeprecatedWarning
from kvgate.errors import InputError

__all__ = ["explain", "goes"]


def explain(error: InputError) -> str:
    """``path:line:col: KV001 message`` and a line with the hint; without a place, ``kvgate: …``."""
    where = f"{error.place}: " if error.place else "kvgate: "
    hint = f"\n    hint: {error.hint}" if error.hint else ""
    return f"{where}{error.code} {error.message}{hint}"


def goes(other: Callable[..., Any]) -> Callable[..., None]:
    """How warnings are shown: of a form that will go in one line, all else as ``other`` does."""

    def show(message: Warning | str, category: type[Warning], *given: Any, **named: Any) -> None:
        if issubclass(category, DeprecatedWarning):
            sys.stderr.write(f"kvgate: deprecated: {message}\n")
        else:
            other(message, category, *given, **named)

    return show
