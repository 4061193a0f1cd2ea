"""An InputError as the person at the terminal reads it."""

from __future__ import annotations

from kvgate.errors import InputError

__all__ = ["explain"]


def explain(error: InputError) -> str:
    """``path:line:col: KV001 message`` and a line with the hint; without a place, ``kvgate: …``."""
    where = f"{error.place}: " if error.place else "kvgate: "
    hint = f"\n    hint: {error.hint}" if error.hint else ""
    return f"{where}{error.code} {error.message}{hint}"
