"""Dockerfiles: what the last stage starts, with the environment it sets."""

from __future__ import annotations

import json
import re
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import replace

from kvgate.deployment.container import Around, Container
from kvgate.deployment.lines import lines
from kvgate.deployment.script import Word
from kvgate.errors import InputError, Place

__all__ = ["is_dockerfile", "read_dockerfile"]

_FROM = re.compile(r"FROM\s+(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?\s*\Z", re.IGNORECASE)
_INSTRUCTION = re.compile(r"\s*([A-Za-z]+)\s+(.*)\Z", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?::-([^{}]*))?\})")
_PAIR = re.compile(r"(?<![\w.-])([A-Za-z_][\w.-]*)=(\"(?:[^\"\\]|\\.)*\"|'[^']*'|(?:[^\s\\]|\\.)*)")
_MOST_STAGES = 200
_KNOWN = {"from", "run", "cmd", "entrypoint", "env", "arg", "copy", "add", "workdir", "expose"}
_KNOWN |= {"label", "user", "volume", "shell", "healthcheck", "onbuild", "stopsignal", "maintainer"}


def is_dockerfile(text: str) -> bool:
    """Whether a text starts as a Dockerfile does: FROM, or ARGs and then FROM."""
    for line in lines(text[:20_000]):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        if _FROM.match(stripped):
            return True
        if not stripped.upper().startswith("ARG "):
            return False
    return False


def read_dockerfile(text: str, path: str) -> tuple[Container, ...]:
    """The container of the last stage, with the stages it builds on; nothing where there is none.

    Raises InputError for an ENTRYPOINT or CMD that begins like a list and is none.
    """
    stages: dict[str, Container] = {}
    current: Container | None = None
    arguments: dict[str, Word] = {}
    name = ""
    for keyword, rest, place in _instructions(text, path):
        if keyword == "arg":
            argument, equals, value = rest.strip().partition("=")
            if equals:
                arguments[argument] = _fill(value.strip("\"'"), place, arguments)
            else:
                arguments.setdefault(argument, Word("", place, (f"${argument}",)))
        elif keyword == "from":
            match = _FROM.match(f"FROM {rest.strip()}")
            if match is None:
                continue
            if len(stages) >= _MOST_STAGES:
                raise InputError("more stages than kvgate follows", place=place)
            base = _fill(match.group(1), place, arguments)
            parent = stages.get(base.text)
            current = _fresh(base) if parent is None else replace(parent, env=dict(parent.env))
            name = match.group(2) or str(len(stages))
            stages[name] = current
        elif current is not None:
            current = _apply(current, keyword, rest, place, arguments)
            stages[name] = current
    return (current,) if current is not None else ()


def _fresh(base: Word) -> Container:
    around = Around(image=base.text, image_place=base.place, container=True)
    return Container(base.place, base.text, None, (), {}, around)


def _apply(
    stage: Container, keyword: str, rest: str, place: Place, arguments: dict[str, Word]
) -> Container:
    if keyword == "env" and isinstance(stage.env, dict):
        # The stage's own dict, filled in place: a copy for each ENV would be quadratic.
        pairs = _PAIR.findall(rest)
        if not pairs or not re.match(r"[A-Za-z_][\w.-]*=", rest.strip()):
            single, _, value = rest.strip().partition(" ")
            pairs = [(single, value.strip())]
        for name, value in pairs:
            known = ChainMap(stage.env, arguments)
            stage.env[name] = _fill(value.strip("\"'"), place, known)
        return stage
    if keyword == "entrypoint":
        words = _command(rest, place)
        return replace(stage, command=words, args=())
    if keyword == "cmd":
        words = _command(rest, place)
        shell_entry = (
            stage.command is not None
            and len(stage.command) == 3
            and (stage.command[0].text == "/bin/sh")
        )
        args = () if shell_entry else words
        return replace(stage, args=args)
    return stage


def _command(rest: str, place: Place) -> tuple[Word, ...]:
    """The exec form (a JSON list) or the shell form, which ``/bin/sh -c`` runs."""
    stripped = rest.strip()
    if stripped.startswith("["):
        try:
            listed = json.loads(stripped.replace("\\\n", "\n"))
        except (ValueError, RecursionError):
            raise InputError(
                "this list is no JSON, so docker takes it for a shell command",
                hint="use double quotes and no comma at its end",
                place=place,
            ) from None
        if isinstance(listed, list) and all(isinstance(item, str) for item in listed):
            return tuple(Word(item, place) for item in listed)
    return (Word("/bin/sh", place), Word("-c", place), Word(stripped, place))


def _instructions(text: str, path: str) -> list[tuple[str, str, Place]]:
    found: list[tuple[str, str, Place]] = []
    gathered: list[str] = []
    start = 0
    for number, line in enumerate(lines(text), start=1):
        stripped = line.strip()
        if stripped.startswith("#") or (not stripped and not gathered):
            continue
        if not gathered:
            start = number
        gathered.append(line)
        if stripped.endswith("\\"):
            continue
        match = _INSTRUCTION.match("\n".join(gathered))
        gathered = []
        if match and match.group(1).casefold() in _KNOWN:
            column = match.start(2) + 1
            place = Place(path, start, column)
            found.append((match.group(1).casefold(), match.group(2), place))
    return found


def _fill(text: str, place: Place, known: Mapping[str, Word]) -> Word:
    missing: list[str] = []

    def fill(match: re.Match[str]) -> str:
        word = known.get(match.group(1) or match.group(2))
        if word is not None and not word.unresolved:
            return word.text
        if match.group(3) is not None:
            return match.group(3)
        missing.append(match.group())
        return match.group()

    filled = _VARIABLE.sub(fill, text)
    return Word(filled[:100_000], place, tuple(missing))
