"""Commands that start an engine, found behind whatever stands in front of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from kvgate.deployment.container import Around, Container
from kvgate.deployment.docker import is_run, read_run
from kvgate.deployment.images import Image, read_image
from kvgate.deployment.problems import problem
from kvgate.deployment.programs import find_engine, program
from kvgate.deployment.script import Command, Word, read_script
from kvgate.deployment.shell import Heredoc
from kvgate.errors import Diagnostic, Place

__all__ = ["Start", "starts_of_container", "starts_of_script"]

_SHELLS = {"sh", "bash", "zsh", "dash", "ash", "ksh", "busybox"}
# Programs whose words only speak of an engine, and those that run a text they are given.
_BYSTANDERS = {
    "apt", "apt-get", "brew", "cat", "cd", "conda-build", "curl", "cp", "cut", "echo", "git",
    "grep", "head", "kill", "killall", "ls", "man", "mkdir", "pgrep", "pip", "pip3", "pkill",
    "printf", "ps", "rm", "sed", "tail", "tee", "test", "touch", "wget", "whereis", "which",
    "read", "sleep", "alias", "trap", "type", "[", "[[", "huggingface-cli", "hf",
}  # fmt: skip
_CARRIERS = {"ssh", "tmux", "screen", "su", "sbatch", "runuser", "eval", "watch", "parallel"}
_CARRIERS |= {"srun", "kubectl", "docker", "podman", "nerdctl", "script", "cmd", "wsl", "xargs"}
_DEEPEST = 6
_MENTIONED = re.compile(
    r"vllm|sglang|trtllm|tensorrt_llm|llama|dynamo|huggingfaceserver|server|tools\.sh|\$",
    re.IGNORECASE,
)
_FRONT = 200  # words that may stand in front of an engine


@dataclass(frozen=True, slots=True)
class Start:
    """One engine start: which engine, by which program, with which words behind it."""

    engine: str
    launcher: str
    args: tuple[Word, ...]
    env: Mapping[str, Word]
    place: Place
    around: Around = field(default_factory=Around)
    files: Mapping[str, Heredoc] = field(default_factory=lambda: MappingProxyType({}))
    problems: tuple[Diagnostic, ...] = ()
    used: frozenset[str] = frozenset()


def starts_of_script(
    text: str,
    origin: Place,
    *,
    block: bool = False,
    env: Mapping[str, Word] | None = None,
    around: Around | None = None,
    depth: int = 0,
) -> tuple[Start, ...]:
    """Every engine that a shell text starts, in order.

    Raises InputError for text that no shell would read.
    """
    if depth > _DEEPEST or not _MENTIONED.search(text):
        return ()
    script = read_script(text, origin, block=block, env=env)
    found: list[Start] = []
    for command in script.commands:
        for start in _of_command(command, around or Around(), depth):
            merged = {**script.files, **start.files}
            found.append(replace(start, files=merged, used=start.used | script.used))
    if found and script.problems:
        found[0] = replace(found[0], problems=(*script.problems, *found[0].problems))
    return tuple(found)


def starts_of_container(container: Container, depth: int = 0) -> tuple[Start, ...]:
    """Every engine that a container starts, by its command or by what its image starts."""
    if depth > _DEEPEST:
        return ()
    image = read_image(container.image) if container.image else Image("", "")
    around = replace(container.around, container=True)
    if container.command is not None:
        argv = (*container.command, *container.args)
        found, problems = _of_words(argv, container.env, around, depth), container.problems
    else:
        found, added = _of_image(container, image, around, depth)
        problems = (*container.problems, *added)
    if found and problems:
        found = (replace(found[0], problems=(*problems, *found[0].problems)), *found[1:])
    return found


def _of_image(
    container: Container, image: Image, around: Around, depth: int
) -> tuple[tuple[Start, ...], tuple[Diagnostic, ...]]:
    args = container.args
    runs = tuple(Word(text, container.place) for text in image.runs)
    if not runs and not image.engine and args and args[0].text.startswith("-"):
        runs = tuple(Word(text, container.place) for text in _runs_by_name(container.image))
    if not runs:
        return _of_words(args, container.env, around, depth), ()
    given = _of_words(args, container.env, around, depth) if args else ()
    if given and not args[0].text.startswith("-"):
        note = problem(
            "KV420",
            args[0].place,
            f"{image.name} starts {' '.join(image.runs)!r} by itself: "
            "the engine would take these words as its arguments",
            "take the command away, or set the entrypoint",
        )
        return given, (note,)
    return _of_words((*runs, *args), container.env, around, depth), ()


def _runs_by_name(image: str) -> tuple[str, ...]:
    """What an image of one's own making most likely starts, judged by its name and by arguments
    that are nothing but flags."""
    name = image.casefold().rsplit("@", 1)[0]
    last = name.rsplit("/", 1)[-1]
    if "huggingfaceserver" in last:
        return ("python3", "-m", "huggingfaceserver")
    if "vllm" in last:
        return ("vllm", "serve")
    if "llama.cpp" in last or "llama-server" in last or "llamacpp" in last:
        return ("llama-server",)
    if "sglang" in last:
        return ("sglang", "serve")
    return ()


def _of_command(command: Command, around: Around, depth: int) -> tuple[Start, ...]:
    first = program(command.words[0].text)
    if first in _SHELLS and command.heredocs and not any(w.text == "-c" for w in command.words):
        body = command.heredocs[-1]
        return starts_of_script(
            body.text, body.place, env=command.env, around=around, depth=depth + 1
        )
    return _of_words(command.words, command.env, around, depth)


def _of_words(
    words: Sequence[Word], env: Mapping[str, Word], around: Around, depth: int
) -> tuple[Start, ...]:
    words, env = _without_env(tuple(words), env)
    if not words or depth > _DEEPEST:
        return ()
    first = program(words[0].text)
    if first in _BYSTANDERS:
        return ()
    front = range(min(len(words), _FRONT))
    at = next((i for i in front if is_run(words, i)), None) if depth < 3 else None
    if at is not None:
        container = read_run(words, is_run(words, at), env)
        return starts_of_container(container, depth + 1) if container is not None else ()
    for index in front:
        if program(words[index].text) in _SHELLS and (given := _shell_text(words, index)):
            return starts_of_script(
                given.text,
                given.place,
                block=given.block,
                env=env,
                around=around,
                depth=depth + 1,
            )
    if (start := _start(words, env, around)) is not None:
        return (start,) if start.launcher else ()
    carried: list[Start] = []
    if first in _CARRIERS or len(words) == 1:
        for word in words:
            if any(c.isspace() for c in word.text.strip()) and not word.unresolved:
                carried += starts_of_script(
                    word.text,
                    word.place,
                    block=word.block,
                    env=env,
                    around=around,
                    depth=depth + 1,
                )
        if first == "eval":
            text = " ".join(w.text for w in words[1:])
            carried = list(
                starts_of_script(text, words[0].place, env=env, around=around, depth=depth + 1)
            )
    return tuple(carried)


def _start(words: tuple[Word, ...], env: Mapping[str, Word], around: Around) -> Start | None:
    """The first place in the words where an engine begins."""
    found = find_engine([word.text for word in words[:_FRONT]])
    if found is None:
        return None
    return Start(
        found.engine,
        found.launcher,
        words[found.behind :],
        env,
        words[found.at].place,
        around,
    )


def _without_env(
    words: tuple[Word, ...], env: Mapping[str, Word]
) -> tuple[tuple[Word, ...], Mapping[str, Word]]:
    """Take ``env A=1 B=2`` (also behind sudo, nohup and the like) into the environment."""
    for index, word in enumerate(words[:8]):
        if program(word.text) != "env":
            continue
        inner, at = dict(env), index + 1
        while at < len(words):
            text = words[at].text
            name, equals, value = text.partition("=")
            if text in ("-u", "-C", "-S", "--unset"):
                at += 2
            elif text.startswith("-"):
                inner = {} if text in ("-i", "--ignore-environment", "-") else inner
                at += 1
            elif equals and name.isidentifier():
                inner[name] = Word(value, words[at].place, words[at].unresolved)
                at += 1
            else:
                return words[at:], inner
        return (), inner
    return words, env


def _shell_text(words: Sequence[Word], at: int) -> Word | None:
    """The text behind ``sh -c`` or ``bash -lc``; None where the shell runs something else."""
    for index in range(at + 1, min(at + 6, len(words))):
        text = words[index].text
        if text.startswith("-") and not text.startswith("--") and text.endswith("c"):
            return words[index + 1] if index + 1 < len(words) else None
        if not text.startswith("-") and text not in ("pipefail", "sh", "errexit"):
            return None
    return None
