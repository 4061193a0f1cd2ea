"""What reading a deployment can find: the codes, and whether the engine would refuse to start."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from kvgate.errors import Diagnostic, Place

__all__ = ["CODES", "REFUSED", "problem"]

CODES: Mapping[str, str] = MappingProxyType(
    {
        "KV401": "the engine has no such flag",
        "KV402": "the flag was removed, with what to write instead",
        "KV403": "the flag is deprecated",
        "KV404": "the value is not among the flag's choices",
        "KV405": "the value cannot be read as what the flag takes",
        "KV406": "a shell expansion was not resolved: nothing is run to find out",
        "KV407": "the engine's version cannot be told from the image",
        "KV408": "the flag is given more than once; the last one counts",
        "KV409": "the flag needs a value, or takes none",
        "KV410": "the flag is newer than this version of the engine",
        "KV411": "kvgate does not know this flag for this version",
        "KV412": "the abbreviation fits several flags",
        "KV413": "the configuration file is not at hand, or not read by the engine",
        "KV414": "the GPU is not in the catalogue",
        "KV415": "a variable's default was used",
        "KV416": "a word on the command line belongs to nothing",
        "KV417": "the catalogue has no entry for exactly this version",
        "KV418": "a space after the line's last backslash ends the command there",
        "KV419": "an environment variable is named like a flag, but the engine does not read it",
        "KV420": "the image starts the engine already: the command is given twice",
        "KV421": "the manifest is a template that was not rendered",
    }
)

REFUSED = frozenset({"KV401", "KV402", "KV404", "KV405", "KV409", "KV410", "KV412", "KV416"})
"""The codes of what the engine itself stops at before it starts."""


def problem(code: str, place: Place, message: str, hint: str = "") -> Diagnostic:
    """A Diagnostic with one of this floor's codes. Raises KeyError for a code that isn't one."""
    CODES[code]
    return Diagnostic(code, place, message, hint)
