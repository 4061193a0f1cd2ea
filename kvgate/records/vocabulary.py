"""The concepts that records may name: a closed list, each with its meaning in a sentence."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvgate.errors import Diagnostic, InputError, Place
from kvgate.records import file

__all__ = ["FILE", "Concept", "Vocabulary", "read_vocabulary"]

FILE = "concepts.toml"
"""The vocabulary's name in a folder of records."""

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")
_POSITION = re.compile(r"line (\d+), column (\d+)")


@dataclass(frozen=True, slots=True)
class Concept:
    """A word of the vocabulary: its meaning in one sentence, and the group it is listed under."""

    name: str
    meaning: str
    group: str


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The concepts by name, in the order of their file; ``path`` is where they were read."""

    path: str
    concepts: dict[str, Concept]

    def __contains__(self, name: object) -> bool:
        return name in self.concepts

    @property
    def groups(self) -> dict[str, tuple[Concept, ...]]:
        """The concepts by group, both in the order of the file."""
        found: dict[str, list[Concept]] = {}
        for concept in self.concepts.values():
            found.setdefault(concept.group, []).append(concept)
        return {group: tuple(concepts) for group, concepts in found.items()}


def read_vocabulary(path: Path) -> Vocabulary:
    """The vocabulary in a TOML file: a table per group, ``concept = "its meaning."`` in each.

    Raises InputError where the file can't be read or isn't of that shape, with the line.
    """
    text = file.read(path, path.parent)
    if isinstance(text, Diagnostic):
        message = f"the vocabulary can't be read: {text.message}"
        raise InputError(message, hint=text.hint, place=text.place)
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # no TOML, or too long a number, or too deep
        at = _POSITION.search(str(error))
        place = Place(str(path), *(int(n) for n in at.groups())) if at else Place(str(path))
        raise InputError(f"the vocabulary is no TOML: {error}", place=place) from None
    concepts: dict[str, Concept] = {}
    for group, words in data.items():
        if not isinstance(words, dict):
            raise _fault(path, text, group, f"{group} is no group", "write [group] above concepts")
        for name, meaning in words.items():
            concepts[name] = _concept(path, text, group, name, meaning, concepts)
    if not concepts:
        raise InputError("the vocabulary is empty", place=Place(str(path)))
    return Vocabulary(str(path), concepts)


def _concept(
    path: Path, text: str, group: str, name: str, meaning: Any, known: dict[str, Concept]
) -> Concept:
    if not _NAME.match(name):
        hint = "small letters and digits, with single dashes between them"
        raise _fault(path, text, name, f"{name!r} is no name for a concept", hint)
    if name in known:
        message = f"the concept {name!r} is in the groups {known[name].group} and {group}"
        raise _fault(path, text, name, message, "keep one of them")
    if not isinstance(meaning, str) or not meaning.strip().endswith("."):
        message = f"the concept {name!r} has no meaning in a sentence"
        raise _fault(path, text, name, message, f'write {name} = "What it is."')
    return Concept(name, meaning.strip(), group)


def _fault(path: Path, text: str, word: str, message: str, hint: str) -> InputError:
    at = re.search(rf"^[\[\"']?{re.escape(word)}\b", text, re.MULTILINE)
    line = text.count("\n", 0, at.start()) + 1 if at else 1
    return InputError(message, hint=hint, place=Place(str(path), line))
