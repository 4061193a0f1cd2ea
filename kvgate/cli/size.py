"""``kvgate size``: what a model's KV cache needs, what an engine reserves, what fits."""

from __future__ import annotations

import json
from typing import Any

import click

from kvgate.errors import InputError
from kvgate.units import GiB, parse_count

__all__ = ["command"]


class Count(click.ParamType[int]):
    """A whole number as the engines' flags read it: 131072, 128k, 128K."""

    name = "count"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            return parse_count(value)
        except InputError as error:
            self.fail(str(error), param, ctx)


@click.command(short_help="KV cache of a model: needs, reserves, what fits.")
@click.argument("model")
@click.option("--gpu", help="GPU, such as H100 or 'RTX 4090'.")
@click.option("--engine", help="Engine and version, such as vllm==0.33.0.")
@click.option(
    "--tensor-parallel-size", "--tp", "tp", type=click.IntRange(1), default=1,
    help="GPUs that share each layer.",
)  # fmt: skip
@click.option(
    "--pipeline-parallel-size", "--pp", "pp", type=click.IntRange(1), default=1,
    help="GPUs that each hold some of the layers.",
)  # fmt: skip
@click.option(
    "--decode-context-parallel-size", "--dcp", "dcp", type=click.IntRange(1), default=1,
    help="GPUs that share the cache of one sequence.",
)  # fmt: skip
@click.option(
    "--kv-cache-dtype", default="auto", show_default=True,
    help="The cache's dtype, by the engine's own names.",
)  # fmt: skip
@click.option(
    "--dtype", default="auto", show_default=True,
    help="The model's dtype, by the engine's own names.",
)  # fmt: skip
@click.option("--block-size", type=click.IntRange(1), help="Tokens in a block of the cache.")
@click.option("--max-model-len", type=Count(), help="Tokens; 128k is 128,000, 128K is 131,072.")
@click.option("--max-num-batched-tokens", type=Count(), help="Tokens in one step of the engine.")
@click.option("--max-num-seqs", type=Count(), help="Sequences at once.")
@click.option(
    "--gpu-memory-utilization", type=click.FloatRange(0, 1, min_open=True),
    help="The share of the GPU's memory that the engine takes.",
)  # fmt: skip
@click.option("--kv-cache-memory", type=float, help="GiB per GPU, when known from a log.")
@click.option("--no-enable-prefix-caching", is_flag=True, help="Size without prefix caching.")
@click.option("--weights", type=float, help="GiB of weights per GPU, when known from a log.")
@click.option("--plot", type=click.Path(dir_okay=False), help="Write an SVG: GiB against context.")
@click.option("--hub", is_flag=True, help="Download the config of an id not in the catalogue.")
@click.option("--json", "as_json", is_flag=True, help="The documented JSON object.")
def command(
    model: str,
    gpu: str | None,
    engine: str | None,
    kv_cache_memory: float | None,
    no_enable_prefix_caching: bool,
    weights: float | None,
    plot: str | None,
    hub: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Size the KV cache of MODEL: a catalogue id, a config.json, or a folder that holds one.

    Prints both answers, never blended: what the model needs, and what the engine reserves.
    """
    from kvgate.cli.model_file import read_model
    from kvgate.kvcache.size import size

    source = read_model(model, hub=hub)
    if weights is None and source.weights_total is not None:
        weights = source.weights_total / (settings["tp"] * settings["pp"]) / GiB
    answer = size(
        source.architecture,
        gpu=gpu,
        engine=engine,
        kv_cache_memory=round(kv_cache_memory * GiB) if kv_cache_memory is not None else None,
        prefix_caching=False if no_enable_prefix_caching else None,
        weights_bytes=round(weights * GiB) if weights is not None else None,
        **settings,
    )
    if plot:
        from kvgate.kvcache.plot import plot_svg
        from kvgate.records.atomic import write_text

        write_text(plot, plot_svg(answer))
    if as_json:
        click.echo(json.dumps(answer.to_json(), ensure_ascii=False, indent=2))
        return
    from kvgate.cli.size_text import sizing
    from kvgate.cli.terminal import show

    show(sizing(answer))
