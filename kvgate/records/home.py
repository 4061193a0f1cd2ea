"""Where kvgate's own records are: in the installed package, or beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

from kvgate.errors import InputError

__all__ = ["records_home"]


def records_home() -> Path:
    """The folder of kvgate's own records, their vocabulary and their register.

    A wheel carries them inside the package; in a checkout they stand beside it. Raises InputError
    where neither is there.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "gotchas", package.parent / "gotchas"):
        if folder.is_dir():
            # Findings name the files; below the working folder they do so as a person would.
            here = Path.cwd()
            return folder.relative_to(here) if folder.is_relative_to(here) else folder
    raise InputError(
        "kvgate's own records are not installed", hint="name a folder of records to work on"
    )
