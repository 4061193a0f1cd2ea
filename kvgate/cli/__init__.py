"""The command line: files and YAML are read here, and each output form has one renderer."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from io import TextIOWrapper
from pathlib import Path

__all__ = ["main"]


def main() -> None:
    """Run ``kvgate``; exit 0 when nothing was found, 1 on findings, 2 on unusable input or call."""
    if sys.stdout is None:
        # Standard output was closed (>&-): nobody reads, and that is no error of the input.
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    # pydantic looks for plugins in every installed package, which takes longer than a command.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from kvgate.cli.commands import cli
    from kvgate.cli.failure import explain, goes
    from kvgate.cli.visible import Visible
    from kvgate.errors import InputError

    warnings.showwarning = goes(warnings.showwarning)
    # An old code page shows \u2026 for a letter that it doesn't have; it's no error.
    if type(sys.stdout) is TextIOWrapper:
        sys.stdout = Visible(sys.stdout)
    if type(sys.stderr) is TextIOWrapper:
        sys.stderr = Visible(sys.stderr)
    try:
        try:
            code = cli.main(prog_name="kvgate", standalone_mode=False)
        except SystemExit as stop:
            code = stop.code
        # What is still held back fails here, where it can be told, and not at Python's very end.
        sys.stdout.flush()
    except InputError as error:
        sys.stderr.write(explain(error) + "\n")
        code = 2
    except BrokenPipeError:
        # The reader went away (kvgate … | head): nothing is wrong, and Python must not say so.
        sys.stderr.close()
        code = 0
    except Exception as error:
        import click

        if isinstance(error, click.ClickException):
            error.show()
            code = error.exit_code
        elif isinstance(error, click.Abort):
            code = 130
        elif isinstance(error, OSError):
            where = error.filename or "kvgate"
            sys.stderr.write(f"{where}:1:1: KV002 {error.strerror or error}\n")
            _forget_output()
            code = 2
        else:
            raise
    sys.exit(code if isinstance(code, int) else 0)


def _forget_output() -> None:
    """Let what can't be written go, so that Python doesn't try and complain again at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
