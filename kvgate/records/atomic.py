"""Files that are written whole or not at all, also by several runs at once."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from kvgate.errors import InputError, Place

__all__ = ["create_text", "locked", "write_text"]

# A lock that nobody gave back: longer than any of our writes takes.
_FORGOTTEN = 10.0
_PATIENCE = 20.0


def write_text(path: str | Path, text: str, *, newline: str | None = "") -> None:
    """Write ``text`` to ``path`` as UTF-8; an interruption leaves the old file as it was.

    ``newline`` as for `open`: by default the text's own line ends are kept. Raises OSError.
    """
    target = Path(path)
    if target.is_symlink():
        # Replacing the link would leave its target behind, silently out of date.
        target = target.resolve()
    with _written(target, text, newline) as name:
        # The new file is private at first; it keeps the old one's mode.
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        name.chmod(mode)
        name.replace(target)


def create_text(path: str | Path, text: str, *, newline: str | None = "") -> None:
    """Write ``text`` to a file that isn't there yet, whole or not at all.

    Raises FileExistsError where it is there, also when another run was faster; OSError where it
    can't be written.
    """
    target = Path(path)
    with _written(target, text, newline) as name:
        name.chmod(0o666 & ~_umask())
        try:
            # Unlike a rename, a link never takes the place of a file.
            os.link(name, target)
        except FileExistsError:
            raise
        except OSError:
            # A file system without hard links: the name is taken first, then filled.
            with target.open("x"):
                name.replace(target)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other runs of kvgate from a file that is read, changed and written.

    Raises InputError where another one doesn't give it back, OSError where its folder can't be
    written.
    """
    lock = path.with_name(f".{path.name}.lock")
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            break
        except FileExistsError:
            with contextlib.suppress(OSError):
                if time.time() - lock.stat().st_mtime > _FORGOTTEN:
                    lock.unlink()
                    continue
        if time.monotonic() > until:
            raise InputError(
                "another kvgate is writing this file",
                hint=f"when none runs any more, remove {lock.name} beside it",
                place=Place(path.as_posix()),
            )
        time.sleep(0.02)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)


@contextlib.contextmanager
def _written(target: Path, text: str, newline: str | None) -> Iterator[Path]:
    """A new file beside the target that holds the text; gone again if it isn't moved away."""
    try:
        descriptor, made = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name}.", suffix=".new"
        )
    except OSError as error:
        # The reader asked for the target and has never heard of the file beside it.
        error.filename = str(target)
        raise
    name = Path(made)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline=newline) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        yield name
    finally:
        with contextlib.suppress(OSError):
            name.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
