"""Write a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

__all__ = ["write_text"]


def write_text(path: str | Path, text: str, *, newline: str | None = "") -> None:
    """Write ``text`` to ``path`` as UTF-8; an interruption leaves the old file as it was.

    ``newline`` as for `open`: by default the text's own line ends are kept. Raises OSError.
    """
    target = Path(path)
    if target.is_symlink():
        # Replacing the link would leave its target behind, silently out of date.
        target = target.resolve()
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".new")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline=newline) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes a private file; the new one keeps the old one's mode.
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        Path(name).chmod(mode)
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
