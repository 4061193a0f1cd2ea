"""``kvgate backends``: which attention backend runs, which are refused, and in which words."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kvgate.errors import InputError, Place

if TYPE_CHECKING:
    from kvgate.architecture.model import Architecture

__all__ = ["answers", "command"]


@click.command(short_help="Which attention backend runs, which are refused.")
@click.argument("model", required=False)
@click.option("--gpu", help="GPU, such as H100 or 'RTX PRO 6000'.")
@click.option("--engine", default="vllm", show_default=True, help="Such as vllm==0.33.0.")
@click.option(
    "--kv-cache-dtype", default="auto", show_default=True,
    help="The cache's dtype, by the engine's own names.",
)  # fmt: skip
@click.option(
    "--dtype", default="auto", show_default=True,
    help="The model's dtype, by the engine's own names.",
)  # fmt: skip
@click.option("--attention-backend", help="Ask about this backend as if it were forced.")
@click.option("--block-size", type=click.IntRange(1), help="Tokens in a block of the cache.")
@click.option(
    "--tensor-parallel-size", "--tp", "tp", type=click.IntRange(1), default=1,
    help="GPUs that share each layer.",
)  # fmt: skip
@click.option(
    "--decode-context-parallel-size", "--dcp", "dcp", type=click.IntRange(1), default=1,
    help="GPUs that share the cache of one sequence.",
)  # fmt: skip
@click.option("--language-model-only", "text_only", is_flag=True, help="Serve text only.")
@click.option("--diff", help="Another version: what changed between the two for this.")
@click.option("--batch", type=click.Path(dir_okay=False), help="JSON lines in, JSON lines out.")
@click.option("--hub", is_flag=True, help="Download the config of an id not in the catalogue.")
@click.option("--json", "as_json", is_flag=True, help="The documented JSON object.")
def command(
    model: str | None,
    gpu: str | None,
    engine: str,
    attention_backend: str | None,
    diff: str | None,
    batch: str | None,
    hub: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Ask an engine's gates about each layer group of MODEL.

    Prints the backend that runs, the other valid ones in the engine's order, and every refused one
    with the engine's own reasons; and what is chosen and then fails.
    """
    if batch:
        for line in answers(batch):
            click.echo(line)
        return
    if not model:
        raise click.UsageError("name a model, or --batch FILE")
    if not gpu:
        raise click.UsageError("--gpu is needed: gates are decided by compute capability")
    from kvgate.attention import backends, compare
    from kvgate.cli.gpu import gpu_option
    from kvgate.cli.model_file import read_model

    source = read_model(model, hub=hub)
    card = gpu_option(gpu)
    assert card is not None

    _check(source.architecture, engine, settings)
    options = {"gpu": card, "force": attention_backend, **settings}
    report = backends(source.architecture, engine=engine, **options)
    changes = compare(source.architecture, engine=engine, other=diff, **options) if diff else None
    if as_json:
        document = report.as_json()
        if changes is not None:
            document["diff"] = {"engine": diff, "changes": changes}
        click.echo(json.dumps(document, ensure_ascii=False, indent=2))
        return
    from kvgate.cli import backends_text
    from kvgate.cli.terminal import show

    title = f"{source.architecture.id} on {card.name} ({card.capability}), {engine}"
    if changes is not None:
        show(backends_text.difference(title, str(diff), changes))
    else:
        show(backends_text.report(title, report))


def _check(architecture: Architecture, engine: str, settings: dict[str, Any]) -> None:
    """What no selector is asked about, since the command line or the model stops it before."""
    tp, dcp, heads = settings["tp"], settings["dcp"], architecture.query_heads
    if tp % dcp:
        raise InputError(
            f"--decode-context-parallel-size {dcp} does not divide --tensor-parallel-size {tp}",
            hint="it reuses those ranks; choose a divisor",
        )
    if heads and heads % tp:
        raise InputError(
            f"--tensor-parallel-size {tp} does not divide the {heads} attention heads of "
            f"{architecture.id}",
            hint=f"use a divisor of {heads}",
        )
    from kvgate.catalog.engines import release
    from kvgate.catalog.flags import flags

    found, size = release(engine), settings["block_size"]
    flag = flags(found).dest("block_size") if found.engine == "vllm" and size else None
    choices = [str(choice) for choice in flag.choices] if flag else []
    if choices and str(size) not in choices:
        raise InputError(
            f"vllm {found.read} has no --block-size {size}", hint=f"known: {', '.join(choices)}"
        )


def answers(path: str) -> Iterator[str]:
    """One answered row a line; a row that can't be read stops with its line."""
    from kvgate.attention.batch import answer

    try:
        stream = sys.stdin.buffer if path == "-" else Path(path).open("rb")  # noqa: SIM115
    except OSError as error:
        place = Place(path)
        raise InputError(f"cannot be read: {error.strerror}", place=place, code="KV002") from None
    with stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            place = Place(path, number)
            try:
                row = json.loads(line.decode("utf-8-sig"))
                if not isinstance(row, dict):
                    raise InputError("a row is a JSON object")
                yield json.dumps(answer(row), ensure_ascii=False)
            except InputError as error:
                raise InputError(
                    error.message, hint=error.hint, place=place, code=error.code
                ) from None
            except json.JSONDecodeError as error:
                place = Place(path, number, error.colno)
                raise InputError(f"is not JSON: {error.msg}", place=place, code="KV003") from None
            except (ValueError, RecursionError) as error:  # no UTF-8, too long a number, too deep
                raise InputError(f"is not JSON: {error}", place=place, code="KV003") from None
