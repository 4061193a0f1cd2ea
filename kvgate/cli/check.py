"""``kvgate check``: what will bite, before it runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from kvgate.cli.findings import FORMATS, Format
from kvgate.cli.size import Gibibytes

if TYPE_CHECKING:
    from kvgate.plan import Plan
    from kvgate.rules.judge import Judged, Open

__all__ = ["as_json", "command"]


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
@click.option("--json", "json_form", is_flag=True, help="The same as --format json.")
def command(
    deployment: str,
    gpu: str | None,
    engine: str | None,
    model_config: str | None,
    kv_cache_memory: tuple[int, ...] | None,
    waivers: str | None,
    form: Format,
    json_form: bool,
) -> None:
    """Check DEPLOYMENT: a command line in quotes, a file with one (script, compose, Kubernetes,
    Helm values, Dockerfile), or - for standard input.

    Nothing is run: shell expansions are reported, not expanded.
    """
    from kvgate.cli.cases import cases
    from kvgate.cli.deployment_input import read_argument
    from kvgate.cli.gpu import gpu_option
    from kvgate.cli.waiver import read_waivers
    from kvgate.plan import plan
    from kvgate.rules import judge
    from kvgate.rules.pair import pairs

    card = gpu_option(gpu)
    memory = min(kv_cache_memory) if kv_cache_memory is not None else None
    arch = None
    if model_config:
        from kvgate.cli.model_file import read_model

        arch = read_model(model_config).architecture
    known = cases()
    accepted = read_waivers(waivers)
    results = []
    for one in read_argument(deployment, engine=engine):
        made = plan(one, gpu=card, model=arch, kv_cache_memory=memory)
        found, undecided = judge(made, known)
        results.append((made, found, undecided))
    if results:
        # What the two sides of a pair disagree on is told with the first of them.
        between = pairs([made for made, _, _ in results])
        made, found, undecided = results[0]
        results[0] = (made, (*found, *between), undecided)
    results = [(made, accepted.apply(found), undecided) for made, found, undecided in results]
    stale = accepted.unused()
    if json_form:
        form = "json"
    _print(results, stale, form)
    raise SystemExit(1 if stale or any(found for _, found, _ in results) else 0)


def _print(
    results: list[tuple[Plan, tuple[Judged, ...], tuple[Open, ...]]],
    stale: tuple[Any, ...],
    form: Format,
) -> None:
    if form == "json":
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
        Diagnostic(f.id, made.deployment.place, f.finding.message, f.finding.fix)
        for made, found, _ in results
        for f in found
    ]
    click.echo(render([*diagnostics, *stale], form))


def as_json(
    results: list[tuple[Plan, tuple[Judged, ...], tuple[Open, ...]]],
) -> dict[str, Any]:
    """The contract's object; more than one deployment stand in ``deployments`` besides."""
    each = [
        {
            "name": made.deployment.name,
            "engine": made.deployment.spec,
            "model": made.deployment.model,
            "gpu": made.gpu.name if made.gpu else None,
            "role": made.deployment.role,
            "place": str(made.deployment.place),
            "findings": [
                {
                    "id": f.id,
                    "severity": f.severity,
                    "message": f.finding.message,
                    "because": list(f.finding.because),
                    "fix": f.finding.fix,
                }
                for f in found
            ],
            "undecided": [{"id": u.id, "lacks": u.lacks} for u in undecided],
            "assumed": list(made.assumed),
            "unknown": [{"what": u.what, "lacks": u.lacks} for u in made.unknown],
            "size": made.sizing.to_json() if made.sizing else None,
            "backends": made.gates.as_json() if made.gates else _outcome(made),
        }
        for made, found, undecided in results
    ]
    first = each[0]
    return {
        "schema_version": 1,
        "findings": [f for one in each for f in one["findings"]],  # type: ignore[union-attr]
        "undecided": [u for one in each for u in one["undecided"]],  # type: ignore[union-attr]
        "size": first["size"],
        "backends": first["backends"],
        "deployments": each,
    }


def _outcome(made: Plan) -> dict[str, Any] | None:
    if made.outcome is None:
        return None
    return {
        "selected": made.outcome.selected,
        "error": made.outcome.error,
        "page_size": made.outcome.page_size,
        "kv_cache_dtype": made.outcome.kv_dtype,
        "warnings": list(made.outcome.warnings),
        "notes": [str(n) for n in made.outcome.notes],
    }
