"""Write docs/reference/cli.md and docs/reference/codes.md from the code they describe.

``--check`` writes nothing and exits with 1 when a page isn't what the code says.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from kvgate.cli.commands import cli
from kvgate.records.codes import codes

__all__ = ["pages"]

DOCS = Path(__file__).resolve().parents[1] / "docs" / "reference"
_NOTE = "<!-- Written by scripts/write_reference.py; change the code, not this page. -->\n"


def pages() -> Iterator[tuple[Path, str]]:
    """Every generated page: where it stands and what it says."""
    yield DOCS / "cli.md", _commands()
    yield DOCS / "codes.md", _codes()


def _commands() -> str:
    parts = [
        "# Command line\n",
        _NOTE,
        "Exit status: 0 nothing found, 1 findings, 2 the input or the call was wrong. Errors go to "
        "standard error as `path:line:column: CODE message` with a hint; the page "
        "[Codes](codes.md) explains each code.\n",
    ]
    context = click.Context(cli, info_name="kvgate", **cli.context_settings)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None, name
        inner = click.Context(command, info_name=name, parent=context, max_content_width=96)
        parts += [f"## kvgate {name}\n", "```text", command.get_help(inner).rstrip(), "```\n"]
    return "\n".join(parts)


def _codes() -> str:
    parts = [
        "# Codes\n",
        _NOTE,
        "Each finding and each error carries a code that keeps its meaning.\n",
    ]
    for code in codes().values():
        parts += [f"## {code.code}\n", f"**{code.title[:1].upper()}{code.title[1:]}.**\n"]
        parts += [f"{text}\n" for text in (code.why, code.do) if text]
    return "\n".join(parts)


def main() -> int:
    """Write the pages, or with ``--check`` say which differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = [(p, t) for p, t in pages() if not p.exists() or p.read_text(encoding="utf-8") != t]
    for path, text in stale:
        if check:
            print(f"{path}:1:1: is not what the code says; run scripts/write_reference.py")
        else:
            path.write_text(text, encoding="utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
