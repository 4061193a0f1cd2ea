"""``kvgate mcp``: the same answers for an agent, over the Model Context Protocol."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

import click

from kvgate.errors import InputError

__all__ = ["command", "server"]


@click.command(short_help="Serve check, diagnose, size, backends, search and show to an agent.")
def command() -> None:
    """Serve kvgate's answers over standard input and output (Model Context Protocol).

    Read-only, and without network: the tools are the functions behind the commands. Needs the mcp
    extra.
    """
    server().run("stdio")


def server() -> Any:
    """The server with its tools. Raises InputError where the mcp package is missing."""
    try:
        module = import_module("mcp.server.mcpserver")
    except ImportError:
        raise InputError(
            "kvgate mcp needs the package mcp", hint="pip install 'mcp>=2.3'"
        ) from None
    app = module.MCPServer("kvgate")
    refusal = import_module("mcp.server.mcpserver.exceptions").ToolError
    for tool in (check, diagnose, size, backends, search, show):
        app.tool()(_explained(tool, refusal))
    return app


def _explained(tool: Callable[..., Any], refusal: type[Exception]) -> Callable[..., Any]:
    """The tool with refusals that the agent may read; other exceptions it doesn't get to see."""

    @wraps(tool)
    def asked(*args: Any, **given: Any) -> Any:
        try:
            return tool(*args, **given)
        except InputError as error:
            raise refusal(f"{error.message}{f' ({error.hint})' if error.hint else ''}") from None

    return asked


def check(deployment: str, gpu: str = "", engine: str = "") -> dict[str, Any]:
    """Check a command line or a manifest's text before it runs: what is refused, what bites."""
    from kvgate.answers.checking import as_json, checked
    from kvgate.manifests import read_deployments
    from kvgate.records.heads import known

    read = read_deployments(deployment, "<deployment>", engine=engine or None)
    return as_json(checked(read, known().cases, gpu=gpu or None))


def diagnose(log: str) -> dict[str, Any]:
    """Name the records that a log or an error text points to, best first."""
    from kvgate.diagnose import diagnose as look
    from kvgate.records.heads import known as records

    known = records()
    return look([log], known.signatures, known.texts, known.suspects).to_json(10)


def size(
    model: str, gpu: str = "", engine: str = "", tensor_parallel_size: int = 1,
    kv_cache_dtype: str = "auto", max_model_len: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """Size the KV cache of a catalogue model: its need, the engine's pool, what fits."""
    from kvgate.kvcache.size import size as sized

    return sized(
        model, gpu=gpu or None, engine=engine or None, tp=tensor_parallel_size,
        kv_cache_dtype=kv_cache_dtype, max_model_len=max_model_len or None,
    ).to_json()  # fmt: skip


def backends(
    model: str, gpu: str, engine: str = "vllm", kv_cache_dtype: str = "auto",
    attention_backend: str = "", tensor_parallel_size: int = 1,
) -> dict[str, Any]:  # fmt: skip
    """Say which attention backend runs a catalogue model, and which are refused in which words."""
    from kvgate.architecture import model as known
    from kvgate.attention import backends as asked

    return asked(
        known(model), gpu=gpu, engine=engine, kv_cache_dtype=kv_cache_dtype,
        force=attention_backend or None, tp=tensor_parallel_size,
    ).as_json()  # fmt: skip


def search(text: str) -> list[dict[str, Any]]:
    """Find records by words, an id, a flag or an error line."""
    from kvgate.records.loader import load
    from kvgate.records.search import search as found

    return [{"id": r.id, "title": r.title} for r, _ in found(load(), text)[:10]]


def show(record_id: str) -> dict[str, Any]:
    """Give one record: its front matter and its sections as Markdown."""
    from kvgate.cli.show import record_object
    from kvgate.records.one import find_record

    return record_object(find_record(record_id))
