"""``docker run``, and its relatives podman and nerdctl: from their words to a container."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kvgate.deployment.container import Around, Container, memory_bytes
from kvgate.deployment.script import Word

__all__ = ["is_run", "read_run"]

_PROGRAMS = {"docker", "podman", "nerdctl"}
_SWITCHES = {
    "--detach",
    "--disable-content-trust",
    "--help",
    "--init",
    "--interactive",
    "--no-healthcheck",
    "--oom-kill-disable",
    "--privileged",
    "--publish-all",
    "--quiet",
    "--read-only",
    "--replace",
    "--rm",
    "--sig-proxy",
    "--tty",
    "--rmi",
    "--tls-verify",
    "--rootfs",
    "--passwd",
    "--env-host",
}
_SHORT_SWITCHES = set("ditPq")
_SHORT_VALUES = set("aceEhlmpuvw")
_SHORT_NAMES = {"e": "--env", "m": "--memory"}
_DEVICES = re.compile(r"device=([\w,:-]+)")


def is_run(words: Sequence[Word], at: int = 0) -> int:
    """The index behind ``docker run`` where it stands at ``at``; 0 where something else does."""
    if at >= len(words) or words[at].text.rsplit("/", 1)[-1] not in _PROGRAMS:
        return 0
    at += 1
    while at < len(words) and words[at].text.startswith("-"):
        at += 1 if "=" in words[at].text else 2
    if at < len(words) and words[at].text == "container":
        at += 1
    return at + 1 if at < len(words) and words[at].text in ("run", "create") else 0


@dataclass(slots=True)
class _Run:
    env: dict[str, Word] = field(default_factory=dict)
    entrypoint: Word | None = None
    gpus: str = ""
    memory: str = ""
    name: str = ""


def read_run(words: Sequence[Word], start: int, outer: Mapping[str, Word]) -> Container | None:
    """The container that ``docker run`` starts; None where no image is named.

    ``start`` is what ``is_run`` gave. ``outer`` is the environment of the command itself, for
    ``-e NAME`` without a value.
    """
    run, at = _Run(), start
    while at < len(words):
        text = words[at].text
        if text == "--":
            at += 1
            break
        if len(text) < 2 or text[0] != "-":
            break
        at = _option(run, words, at, outer)
    if at >= len(words):
        return None
    image = words[at]
    command = (run.entrypoint,) if run.entrypoint is not None and run.entrypoint.text else None
    around = Around(
        image=image.text,
        image_place=image.place,
        gpu_count=_gpu_count(run.gpus),
        host_memory_bytes=memory_bytes(run.memory, docker=True) if run.memory else None,
        name=run.name,
        container=True,
    )
    args = tuple(words[at + 1 :])
    return Container(image.place, image.text, command, args, run.env, around)


def _option(run: _Run, words: Sequence[Word], at: int, outer: Mapping[str, Word]) -> int:
    """Take one option of docker's in; the index behind it and its value."""
    word = words[at]
    name, equals, value = word.text.partition("=")
    if not name.startswith("--"):
        letters = word.text[1:]
        for index, letter in enumerate(letters):
            if letter in _SHORT_SWITCHES:
                continue
            attached = letters[index + 1 :].removeprefix("=")
            if attached:
                _take(run, _SHORT_NAMES.get(letter, ""), Word(attached, word.place), outer)
                return at + 1
            if at + 1 < len(words):
                _take(run, _SHORT_NAMES.get(letter, ""), words[at + 1], outer)
            return at + 2
        return at + 1
    if equals:
        _take(run, name, Word(value, word.place, word.unresolved), outer)
        return at + 1
    if name in _SWITCHES:
        return at + 1
    if at + 1 < len(words):
        _take(run, name, words[at + 1], outer)
    return at + 2


def _take(run: _Run, name: str, word: Word, outer: Mapping[str, Word]) -> None:
    if name == "--env":
        key, equals, value = word.text.partition("=")
        if equals:
            run.env[key] = Word(value, word.place, word.unresolved)
        else:
            run.env[key] = outer.get(key) or Word("", word.place, (f"${key}",))
    elif name == "--entrypoint":
        run.entrypoint = word
    elif name == "--gpus":
        run.gpus = word.text
    elif name == "--memory":
        run.memory = word.text
    elif name == "--name":
        run.name = word.text


def _gpu_count(gpus: str) -> int | None:
    """GPUs of ``--gpus 2``, ``--gpus '"device=0,1"'``, ``count=4``; None for ``all``."""
    text = gpus.strip("\"'")
    if text.isdecimal():
        return int(text) if len(text) < 5 else None
    if match := _DEVICES.search(text):
        return len([d for d in match.group(1).split(",") if d])
    count = re.search(r"count=(\d{1,4})\b", text)
    return int(count.group(1)) if count else None
