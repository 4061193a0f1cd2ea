"""Write the generated pages of docs/reference/: the commands, their JSON and the codes.

``--check`` writes nothing and exits with 1 when a page isn't what the code says.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from kvgate.cli.commands import cli
from kvgate.records.codes import Code, codes

__all__ = ["pages"]

DOCS = Path(__file__).resolve().parents[1] / "docs" / "reference"
_NOTE = "<!-- Written by scripts/write_reference.py; change the code, not this page. -->\n"


def pages() -> Iterator[tuple[Path, str]]:
    """Every generated page: where it stands and what it says."""
    yield DOCS / "cli.md", _commands()
    yield DOCS / "codes" / "index.md", _codes()
    for code in codes().values():
        yield DOCS / "codes" / f"{code.code.lower()}.md", _code(code)
    yield DOCS / "json.md", _json()


def _commands() -> str:
    parts = [
        "# Command line\n",
        _NOTE,
        "Exit status: 0 nothing found, 1 findings, 2 the input or the call was wrong. Errors go to "
        "standard error as `path:line:column: CODE message` with a hint; the page "
        "[Codes](codes/index.md) explains each code.\n",
    ]
    context = click.Context(cli, info_name="kvgate", **cli.context_settings)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None, name
        inner = click.Context(command, info_name=name, parent=context, max_content_width=96)
        parts += [f"## kvgate {name}\n", "```text", command.get_help(inner).rstrip(), "```\n"]
    return "\n".join(parts)


# What gives codes of each hundred.
_FAMILIES = {
    "KV0": "Input: any command",
    "KV1": "The file of a record and its front matter: `kvgate lint`",
    "KV2": "Links: `kvgate lint`",
    "KV3": "Evidence and claims: `kvgate lint` and `kvgate claims`",
    "KV4": "Deployments: `kvgate check`; records and releases: `kvgate stale`, `kvgate claims`",
}


def _codes() -> str:
    parts = [
        "# Codes\n",
        _NOTE,
        "Each finding and each error carries a code that keeps its meaning. `kvgate explain KV305` "
        "prints what its page says.\n",
    ]
    for family, title in _FAMILIES.items():
        parts.append(f"## {title}\n")
        for code in codes().values():
            if code.code.startswith(family):
                name = code.code.lower()
                parts.append(f"- [{code.code}]({name}.md){{ #{name} }} {code.title}")
        parts.append("")
    return "\n".join(parts)


def _code(code: Code) -> str:
    title = f"{code.title[:1].upper()}{code.title[1:]}."
    texts = [f"{text}\n" for text in (code.why, code.do) if text]
    family = _FAMILIES[code.code[:3]]
    back = f"[All codes](index.md#{code.code.lower()})\n"
    return "\n".join([f"# {code.code}\n", _NOTE, f"**{title}** ({family}.)\n", *texts, back])


def _json() -> str:
    schema = json.loads((DOCS.parent / "schema" / "cli.schema.json").read_text(encoding="utf-8"))
    parts = [
        "# JSON of the commands\n",
        "<!-- Written by scripts/write_reference.py from docs/schema/cli.schema.json. -->\n",
        "What the commands print with `--json` (what finds: `--format json`), as a JSON Schema "
        "too: [cli.schema.json](../schema/cli.schema.json). No other keys are printed, and a key "
        "that isn't marked optional is always there. What that promises is on the page "
        "[Promises](../explanation/promises.md).\n",
    ]
    for name, shape in schema["$defs"].items():
        parts += [f"## {name}\n", f"{shape['description']}\n", "| key | type | |", "|---|---|---|"]
        parts += [f"| {row} |" for row in _rows(shape, "")] + [""]
    return "\n".join(parts).rstrip() + "\n"


def _rows(shape: dict[str, Any], above: str) -> Iterator[str]:
    """A row for each key of an object, those of objects inside it below it."""
    for key, value in shape["properties"].items():
        said = "" if key in shape["required"] else "optional; "
        said += "deprecated; " if value.get("deprecated") else ""
        yield f"`{above}{key}` | {_type(value)} | {said}{value['description']}"
        for inside in (value, value.get("items", {}), *value.get("anyOf", ())):
            if "properties" in inside:
                yield from _rows(inside, f"{above}{key}{'[]' if 'items' in value else ''}.")


def _type(value: dict[str, Any]) -> str:
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name}](#{name})"
    if "anyOf" in value:
        return " or ".join(_type(one) for one in value["anyOf"])
    if "const" in value:
        return f"`{value['const']}`"
    if "enum" in value:
        return ", ".join(f"`{one}`" for one in value["enum"])
    kinds = value["type"] if isinstance(value["type"], list) else [value["type"]]
    if "items" in value:
        kinds = [f"list of {_type(value['items'])}", *(k for k in kinds if k != "array")]
    return " or ".join(kinds)


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
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
