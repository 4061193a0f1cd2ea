"""A record's front matter: found in the text and read, with all that is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kvgate.errors import Diagnostic, Place
from kvgate.records import yaml

if TYPE_CHECKING:
    from kvgate.records.schema import FrontMatter

__all__ = ["Parsed", "parse", "split", "tree"]

_FENCE = re.compile(r"^---[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Parsed:
    """What became of a front matter.

    ``model`` is None where the schema or YAML was broken; ``values`` are the keys as written, None
    where it was no YAML. ``body_offset`` and ``body_line`` (1-based) say where the body begins.
    """

    model: FrontMatter | None
    values: Mapping[str, Any] | None
    body_offset: int
    body_line: int
    found: tuple[Diagnostic, ...]


def split(text: str) -> tuple[int, int] | None:
    """The offsets where the YAML ends and the body begins; None without a front matter."""
    opening = _FENCE.match(text)
    closing = _FENCE.search(text, opening.end()) if opening else None
    if not opening or not closing:
        return None
    return closing.start(), min(closing.end() + 1, len(text))


def parse(text: str, path: str) -> Parsed:
    """The front matter of a record's text, with all that is wrong with it."""
    from kvgate.records.validation import at, validate  # pydantic: who only looks needn't pay

    ends = split(text)
    if ends is None:
        return Parsed(None, None, 0, 1, (_no_front_matter(text, path),))
    end, body = ends
    tree, found = yaml.parse(text[text.index("\n") + 1 : end], path, first_line=2)
    body_line = text.count("\n", 0, body) + 1
    model: FrontMatter | None = None
    values: dict[str, Any] | None = None
    if tree is None and not found:
        found.append(
            Diagnostic("KV122", Place(path, 2), "the front matter is empty", "kvgate new fills one")
        )
    elif tree is not None and not isinstance(tree.data, dict):
        hint = "write key: value lines"
        found.append(at(path, tree, "KV124", "the front matter is no mapping", hint))
    elif tree is not None:
        values = tree.value()
        model, more = validate(tree, values, path)
        # What YAML objects to is in no value, and the model would be a lie all the same.
        model = None if found else model
        found = [*found, *more]
    return Parsed(model, values, body, body_line, tuple(found))


def tree(text: str, path: str) -> yaml.Node | None:
    """The front matter's tree, for the places of its values."""
    ends = split(text)
    return yaml.parse(text[text.index("\n") + 1 : ends[0]], path, 2)[0] if ends else None


def _no_front_matter(text: str, path: str) -> Diagnostic:
    if _FENCE.match(text):
        return Diagnostic(
            "KV109", Place(path), "the front matter is not closed", "end it with a line of ---"
        )
    later = _FENCE.search(text)
    hint = "a record begins with a line of ---, its YAML, and a line of --- again"
    if later and not text[: later.start()].strip():
        hint = "remove the empty lines above the first ---"
    elif later:
        line = text.count("\n", 0, later.start()) + 1
        hint = f"the first --- is on line {line}; nothing may stand above it"
    return Diagnostic("KV108", Place(path), "the front matter does not start on line 1", hint)
