"""docker-compose files: services to containers."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kvgate.deployment.container import Around, Container, memory_bytes
from kvgate.deployment.node import Node
from kvgate.deployment.problems import problem
from kvgate.deployment.script import Word, read_script
from kvgate.errors import Diagnostic

__all__ = ["find_services", "is_compose"]

_VARIABLE = re.compile(
    r"\$(?:(?P<escaped>\$)|(?P<bare>[A-Za-z_]\w*)"
    r"|\{(?P<name>[A-Za-z_]\w*)(?:(?P<operator>:?[-?+])(?P<operand>[^{}]*))?\})"
)


def is_compose(node: Node) -> bool:
    """Whether a document is a compose file: services with an image, a build or a command."""
    services = node.get("services")
    return services is not None and any(
        service.get(key) is not None
        for _, service in services.entries()
        for key in ("image", "build", "command", "extends", "entrypoint")
    )


def find_services(node: Node) -> tuple[Container, ...]:
    """Every service of a compose file, as a container."""
    services = node.get("services")
    return (
        tuple(_service(name, service) for name, service in services.entries()) if services else ()
    )


def _service(name: str, node: Node) -> Container:
    problems: list[Diagnostic] = []
    env = _environment(node.get("environment"), problems)
    image_node = node.get("image")
    image = _filled(image_node, problems).text if image_node is not None else ""
    entrypoint = _command(node.get("entrypoint"), env, problems)
    args = _command(node.get("command"), env, problems) or ()
    limits = node.words("deploy", "resources", "limits", "memory") or node.words("mem_limit")
    around = Around(
        image=image,
        image_place=image_node.place if image_node is not None else None,
        gpu_count=_gpu_count(node),
        host_memory_bytes=memory_bytes(limits, docker=True) if limits else None,
        name=name,
        roles=tuple(n for n in (name, node.words("container_name")) if n),
        container=True,
    )
    place = image_node.place if image_node is not None else node.place
    return Container(place, image, entrypoint, args, env, around, tuple(problems))


def _command(
    node: Node | None, env: Mapping[str, Word], problems: list[Diagnostic]
) -> tuple[Word, ...] | None:
    """A command as words; None where there is none (an empty list empties the image's own)."""
    if node is None or (not node.is_list and not node.is_text):
        return None
    if node.is_list:
        return tuple(_filled(element, problems) for element in node.elements())
    word = _filled(node, problems)
    script = read_script(word.text, word.place, block=word.block, one=True, env=env)
    problems.extend(script.problems)
    words = tuple(w for command in script.commands for w in command.words)
    # compose keeps NAME=value in front as a word: there is no shell that would take it away
    return words or None


def _environment(node: Node | None, problems: list[Diagnostic]) -> dict[str, Word]:
    env: dict[str, Word] = {}
    if node is None:
        return env
    for element in node.elements():
        name, equals, _ = element.text.partition("=")
        if not equals:
            env[name] = Word("", element.place, (f"${name}",))
            continue
        word = _filled(element, problems)
        env[name] = Word(word.text.partition("=")[2], word.place, word.unresolved)
    for name, value in node.entries():
        if value.is_text:
            env[name] = _filled(value, problems)
        else:
            env[name] = Word("", value.place, (f"${name}",))
    return env


def _filled(node: Node, problems: list[Diagnostic]) -> Word:
    """A text with compose's own variables filled in: defaults are used and said."""
    missing: list[str] = []

    def fill(match: re.Match[str]) -> str:
        if match.group("escaped"):
            return "$"
        name = match.group("bare") or match.group("name")
        operator, operand = match.group("operator") or "", match.group("operand") or ""
        if operator.endswith("-"):
            problems.append(
                problem(
                    "KV415",
                    node.place,
                    f"{name} is not set here; its default {operand!r} is used",
                    "another value in the environment or in .env changes what follows",
                )
            )
            return operand
        missing.append(match.group())
        return match.group()

    text = node.text
    return Word(
        _VARIABLE.sub(fill, text) if "$" in text else text, node.place, tuple(missing), node.block
    )


def _gpu_count(node: Node) -> int | None:
    """GPUs that a service reserves; None for all of the machine's or where it isn't said."""
    devices = node.get("deploy", "resources", "reservations", "devices") or node.get("gpus")
    total = 0
    for device in devices.elements() if devices is not None else ():
        ids = device.get("device_ids")
        count = device.words("count")
        if ids is not None and ids.is_list:
            total += len(ids.value)
        elif count.isdecimal() and len(count) < 5:
            total += int(count)
        else:
            return None
    return total or None
