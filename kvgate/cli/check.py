"""``kvgate check``: what will bite, before it runs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from kvgate.cli.findings import FORMATS, Format
from kvgate.cli.size import Gibibytes

if TYPE_CHECKING:
    from kvgate.answers.checking import Checked

__all__ = ["command"]


@click.command(short_help="Check a deployment before it runs.")
@click.argument("deployment")
@click.option("--gpu", help="GPU, such as H100; auto reads this machine's (the gpu extra).")
@click.option("--engine", help="Engine and version, such as vllm==0.33.0.")
@click.option("--model-config", help="The model's config.json, when it isn't in the catalogue.")
@click.option("--kv-cache-memory", type=Gibibytes(), help="GiB per GPU, when known from a log.")
@click.option("--waivers", type=click.Path(dir_okay=False), help="Findings that are accepted.")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="text", show_default=True,
    help="How findings are printed.",
)  # fmt: skip
@click.option("--strict", is_flag=True, help="Exit 1 where model, GPU or version is unknown.")
@click.option("--json", "json_form", is_flag=True, help="The same as --format json.")
def command(
    deployment: str,
    gpu: str | None,
    engine: str | None,
    model_config: str | None,
    kv_cache_memory: tuple[int, ...] | None,
    waivers: str | None,
    form: Format,
    strict: bool,
    json_form: bool,
) -> None:
    """Check DEPLOYMENT: a command line in quotes, a file with one (script, compose, Kubernetes,
    Helm values, Dockerfile), or - for standard input.

    Nothing is run: shell expansions are reported, not expanded.
    """
    from kvgate.answers.checking import checked
    from kvgate.cli.deployment_input import read_argument
    from kvgate.cli.gpu import gpu_option
    from kvgate.cli.waiver import read_waivers
    from kvgate.records.heads import known

    card = gpu_option(gpu)
    memory = min(kv_cache_memory) if kv_cache_memory is not None else None
    arch = None
    if model_config:
        from kvgate.cli.model_file import read_model

        arch = read_model(model_config).architecture
    accepted = read_waivers(waivers)
    read = read_argument(deployment, engine=engine)
    results = checked(read, known().cases, gpu=card, model=arch, kv_cache_memory=memory)
    results = [replace(one, found=accepted.apply(one.found)) for one in results]
    stale = accepted.unused()
    if json_form:
        form = "json"
    _print(results, stale, form)
    unasked = strict and any(one.unasked for one in results)
    raise SystemExit(1 if stale or unasked or any(one.found for one in results) else 0)


def _print(
    results: list[Checked],
    stale: tuple[Any, ...],
    form: Format,
) -> None:
    if form == "json":
        from kvgate.answers.checking import as_json

        click.echo(json.dumps(as_json(results), ensure_ascii=False, indent=2))
        return
    if form == "text":
        from kvgate.cli.check_text import report
        from kvgate.cli.terminal import show

        show(report(results, stale))
        return
    from kvgate.cli.findings import render
    from kvgate.errors import Diagnostic

    diagnostics = [
        Diagnostic(f.id, one.plan.deployment.place, f.finding.message, f.finding.fix)
        for one in results
        for f in one.found
    ]
    click.echo(render([*diagnostics, *stale], form))
