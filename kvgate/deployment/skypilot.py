"""SkyPilot tasks: a script to run, with the accelerators it asks for."""

from __future__ import annotations

from collections.abc import Iterator

from kvgate.deployment.container import Around, Container
from kvgate.deployment.node import Node
from kvgate.deployment.pods import environment_of
from kvgate.deployment.script import Word

__all__ = ["is_task", "read_task"]


def is_task(node: Node) -> bool:
    """Whether a document is a task: a script under ``run``, beside resources, setup or envs."""
    return bool(node.words("run")) and any(
        node.get(key) is not None for key in ("resources", "setup", "envs", "num_nodes")
    )


def read_task(node: Node) -> Iterator[Container]:
    """The task's script; ``accelerators: H100:8`` names the GPU and how many of it."""
    run = node.get("run")
    if run is None:
        return
    accelerators = node.get("resources", "accelerators")
    gpu, count = "", ""
    if accelerators is not None and accelerators.is_text:
        gpu, _, count = accelerators.text.partition(":")
    elif accelerators is not None:
        pairs = [(key, value.text) for key, value in accelerators.entries()]
        gpu, count = pairs[0] if len(pairs) == 1 else ("", "")
    hosts = node.words("num_nodes")
    around = Around(
        gpu=gpu,
        gpu_place=accelerators.place if accelerators is not None else None,
        gpu_count=int(count or 1)
        if gpu and (count or "1").isdecimal() and len(count) < 5
        else None,
        nodes=int(hosts) if hosts.isdecimal() and len(hosts) < 5 else 1,
        name=node.words("name"),
        roles=tuple(n for n in (node.words("name"),) if n),
    )
    words = (
        Word("sh", run.place),
        Word("-c", run.place),
        Word(run.text, run.place, block=run.block),
    )
    yield Container(run.place, "", words, (), environment_of(node.get("envs")), around)
