"""The heads of kvgate's own records: what check and diagnose need, read without the schema.

The records travel with the code and are linted with it, so that a command that only asks for their
names, rules and signatures need not pay for validating them again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from kvgate.answers.known import Head, Known
from kvgate.records import frontmatter, yaml
from kvgate.records.home import records_home

__all__ = ["heads_in", "known"]

# A key of the front matter itself, with all that is indented below it. Sources, relations, hits and
# misses are most of a front matter, and none of them is asked for here.
_BLOCK = re.compile(r"^(\w+):.*\n(?:(?!\w+:).*\n)*", re.MULTILINE)
_ASKED = frozenset({"id", "title", "severity", "status", "rule", "signatures", "affects", "gpus"})


@cache
def known() -> Known:
    """kvgate's own records that still hold."""
    return heads_in(records_home())


def heads_in(folder: Path) -> Known:
    """A folder's active records and drafts, by id.

    A file that can't be read so is left to the linter.
    """
    return Known(tuple(_heads(folder)))


def _heads(folder: Path) -> Iterator[Head]:
    for path in sorted(folder.glob("*.md")):
        text = path.read_text(encoding="utf-8-sig")
        ends = frontmatter.split(text)
        if ends is None:
            continue
        node, found = yaml.parse(_asked(text[text.index("\n") + 1 : ends[0]]), path.name)
        values = node.value() if node is not None and not found else None
        if isinstance(values, Mapping) and values.get("status") in ("active", "draft"):
            yield _head(values, text[ends[1] :])


def _asked(front: str) -> str:
    return "".join(block[0] for block in _BLOCK.finditer(front) if block[1] in _ASKED)


def _head(values: Mapping[str, Any], body: str) -> Head:
    _, _, symptom = body.partition("## Symptom\n")
    return Head(
        id=str(values["id"]),
        title=str(values["title"]),
        severity=str(values["severity"]),
        rule=str(values.get("rule") or ""),
        signatures=tuple(str(s["text"]) for s in values.get("signatures") or ()),
        engines=frozenset(str(a["engine"]) for a in values.get("affects") or ()),
        gpus=frozenset(str(g) for g in values.get("gpus") or ()),
        symptom=symptom.partition("\n## ")[0].strip(),
    )
