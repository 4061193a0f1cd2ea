"""systemd units: what ExecStart starts, with its environment."""

from __future__ import annotations

import re

from kvgate.deployment.container import Container
from kvgate.deployment.lines import lines
from kvgate.deployment.script import Word, read_script
from kvgate.errors import Place

__all__ = ["is_unit", "read_unit"]

_SECTION = re.compile(r"\[(?:Unit|Service)\]\s*\Z")
_KEY = re.compile(r"(Environment|ExecStart)\s*=\s*(.*)\Z", re.DOTALL)


def is_unit(text: str) -> bool:
    """Whether a text starts with a section of a systemd service."""
    for line in lines(text[:20_000]):
        stripped = line.strip()
        if stripped and not stripped.startswith(("#", ";")):
            return bool(_SECTION.match(stripped))
    return False


def read_unit(text: str, path: str) -> tuple[Container, ...]:
    """The container-like start of a unit: its ExecStart, with Environment. No shell stands between,
    so that only variables of the unit itself are filled in."""
    env: dict[str, Word] = {}
    commands: list[tuple[str, Place]] = []
    gathered, start = "", 0
    for number, line in enumerate(lines(text), start=1):
        if not gathered:
            start = number
        if line.rstrip().endswith("\\"):
            gathered += line.rstrip()[:-1] + " "
            continue
        match = _KEY.match((gathered + line).strip())
        gathered = ""
        if match is None:
            continue
        place = Place(path, start, match.start(2) + 1)
        if match.group(1) == "ExecStart":
            commands.append((match.group(2).lstrip("-@:+!"), place))
            continue
        for command in read_script(match.group(2).replace("$", ""), place, one=True).commands:
            for word in command.words:
                name, equals, value = word.text.partition("=")
                if equals:
                    env[name] = Word(value, place)
        _bare(match.group(2), place, env)
    found = []
    for command_text, place in commands:
        words = tuple(
            word
            for command in read_script(command_text, place, one=True, env=env).commands
            for word in command.words
        )
        found.append(Container(place, "", words, (), dict(env)))
    return tuple(found)


def _bare(text: str, place: Place, env: dict[str, Word]) -> None:
    """``Environment=A=1 B=2`` without quotes: a shell would take these for assignments."""
    for piece in re.findall(r"(?<!\w)([A-Za-z_]\w*)=([^\s\"']*)", text):
        env.setdefault(piece[0], Word(piece[1], place))
