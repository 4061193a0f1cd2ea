"""``kvgate size``: what a model's KV cache needs, what an engine reserves, what fits."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

from kvgate.cli.engine_options import FLAGS, engine_options, request_length
from kvgate.errors import InputError
from kvgate.units import GiB, parse_bytes, parse_count

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


class Counts(click.ParamType[tuple[int, ...]]):
    """Whole numbers with commas between them: 512,512,32K."""

    name = "counts"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        return tuple(_COUNT.convert(part.strip(), param, ctx) for part in str(value).split(","))


class Gibibytes(click.ParamType[tuple[int, ...]]):
    """GiB as bytes, or a size with its unit; several with commas, one for each pipeline stage."""

    name = "GiB"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        return tuple(self._size(part.strip(), param, ctx) for part in str(value).split(","))

    def _size(self, text: str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            size = round(float(text) * GiB)
        except (OverflowError, ValueError):
            try:
                size = parse_bytes(text)
            except InputError:
                self.fail(f"{text!r} is not a number of GiB, nor one with a unit", param, ctx)
        if not 0 <= size < 1 << 50:
            self.fail(f"{text} GiB are impossible", param, ctx)
        return size


_COUNT, _RANKS, _SIZES = Count(), click.IntRange(1), Gibibytes()
# Every option: its names, where the value goes, and what click is told besides. Names are the
# engines' own; flags of SGLang, llama.cpp and TensorRT-LLM alone follow in engine_options.
_OPTIONS: tuple[tuple[tuple[str, ...], str, dict[str, Any]], ...] = (
    (("--gpu",), "gpu", {"help": "GPU, such as H100 or 'RTX 4090'."}),
    (("--engine",), "engine", {"help": "Engine and version, such as vllm==0.33.0."}),
    (("--tensor-parallel-size", "--tp-size", "--tp", "-tp"), "tp",
     {"type": _RANKS, "default": 1, "help": "GPUs that share each layer."}),
    (("--pipeline-parallel-size", "--pp-size", "--pp", "-pp"), "pp",
     {"type": _RANKS, "default": 1, "help": "GPUs that each hold some of the layers."}),
    (("--decode-context-parallel-size", "--dcp-size", "--dcp", "-dcp"), "dcp",
     {"type": _RANKS, "default": 1, "help": "GPUs that share the cache of one sequence."}),
    (("--kv-cache-dtype",), "kv_cache_dtype",
     {"default": "auto", "show_default": True, "help": "The cache's dtype, as the engine says."}),
    (("--kv-cache-dtype-skip-layers",), "kv_cache_dtype_skip_layers",
     {"help": "Layers left in the model's dtype: indices with commas, or sliding_window."}),
    (("--dtype",), "dtype",
     {"default": "auto", "show_default": True, "help": "The model's dtype, as the engine says."}),
    (("--mamba-ssm-cache-dtype", "--mamba-ssm-dtype"), "ssm_dtype",
     {"default": "auto", "show_default": True, "help": "The dtype of recurrent states."}),
    (("--quantization", "-q"), "quantization",
     {"help": "The engine's own quantisation of a 16-bit checkpoint."}),
    (("--block-size",), "block_size", {"type": _RANKS, "help": "Tokens in a block of the cache."}),
    (("--max-model-len", "--context-length"), "max_model_len",
     {"type": _COUNT, "help": "Tokens; 128k is 128,000, 128K is 131,072."}),
    (("--ctx-size", "-c"), "ctx_size",
     {"type": _COUNT, "help": "The same; of llama.cpp, the tokens of all slots together."}),
    (("--max-num-batched-tokens",), "max_num_batched_tokens",
     {"type": _COUNT, "help": "Tokens in one step of the engine."}),
    (("--max-num-seqs",), "max_num_seqs", {"type": _COUNT, "help": "Sequences at once."}),
    (("--gpu-memory-utilization",), "gpu_memory_utilization",
     {"type": click.FloatRange(0, 1, min_open=True),
      "help": "The share of the GPU's memory that the engine takes."}),
    (("--kv-cache-memory",), "kv_cache_memory",
     {"type": _SIZES, "metavar": "GIB",
      "help": "GiB per GPU, when known from a log; one for each pipeline stage, with commas."}),
    (("--kv-cache-memory-bytes",), "kv_cache_memory_bytes",
     {"type": _COUNT, "help": "Bytes per GPU that vLLM is told to take."}),
    (("--enable-prefix-caching/--no-enable-prefix-caching",), "prefix_caching",
     {"default": None, "help": "Keep caches for later requests; the engine's default otherwise."}),
    (("--mamba-cache-mode",), "mamba_cache_mode", {"help": "none, align or all."}),
    (("--async-scheduling/--no-async-scheduling",), "async_scheduling",
     {"default": None, "help": "Schedule a step ahead; the engine's default otherwise."}),
    (("--disable-hybrid-kv-cache-manager",), "unified",
     {"is_flag": True, "help": "Keep windowed layers as if they were full."}),
    (("--speculative-config",), "speculative_config",
     {"metavar": "JSON", "help": "As vLLM takes it; num_speculative_tokens is what counts."}),
    (("--enforce-eager",), "enforce_eager", {"is_flag": True, "help": "Run without CUDA graphs."}),
    (("--weights",), "weights",
     {"type": _SIZES, "metavar": "GIB",
      "help": "GiB of weights per GPU, when known from a log; one for each stage, with commas."}),
    (("--plot",), "plot",
     {"type": click.Path(dir_okay=False), "help": "Write an SVG: GiB against context."}),
    (("--hub",), "hub",
     {"is_flag": True, "help": "Download the config of an id not in the catalogue."}),
    (("--json",), "as_json", {"is_flag": True, "help": "The documented JSON object."}),
)  # fmt: skip
_SHARE = click.FloatRange(0, 1, min_open=True)
_ONE_ENGINE: dict[str, dict[str, Any]] = {
    "--mem-fraction-static":
        {"type": _SHARE, "help": "SGLang: the share of the memory for weights and pools."},
    "--max-running-requests": {"type": _COUNT, "help": "SGLang: requests at once."},
    "--max-total-tokens": {"type": _COUNT, "help": "SGLang: tokens in the pool."},
    "--chunked-prefill-size": {"type": _COUNT, "help": "SGLang: tokens of one prefill chunk."},
    "--page-size": {"type": _RANKS, "help": "SGLang: tokens of a page."},
    "--swa-full-tokens-ratio":
        {"type": float, "help": "SGLang: the windowed pool's tokens by the full one's."},
    "--mamba-full-memory-ratio":
        {"type": float, "help": "SGLang: the states' memory by the cache's."},
    "--disable-radix-cache": {"is_flag": True, "help": "SGLang: keep no caches for later."},
    "--parallel": {"type": _RANKS, "help": "llama.cpp: slots."},
    "--kv-unified": {"is_flag": True, "help": "llama.cpp: one cache for all slots."},
    "--ubatch-size": {"type": _RANKS, "help": "llama.cpp: tokens of a physical batch."},
    "--swa-full": {"is_flag": True, "help": "llama.cpp: keep windowed layers whole."},
    "--cache-type-k": {"help": "llama.cpp: the keys' type."},
    "--cache-type-v": {"help": "llama.cpp: the values' type."},
    "--gguf-mla":
        {"type": click.Choice(["expanded", "latent"]),
         "help": "llama.cpp: what the GGUF file of an MLA model holds."},
    "--free-gpu-memory-fraction":
        {"type": _SHARE, "help": "TensorRT-LLM: the share of free memory for the pool."},
    "--tokens-per-block": {"type": _RANKS, "help": "TensorRT-LLM: tokens of a block."},
    "--max-attention-window":
        {"type": Counts(), "help": "TensorRT-LLM: tokens that each layer keeps, with commas; the "
         "list repeats over the layers."},
}  # fmt: skip


def _options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of `_OPTIONS`, then those of one engine alone."""
    for flag, told in reversed(_ONE_ENGINE.items()):
        command = click.option(flag, f"own_{flag[2:]}".replace("-", "_"), **told)(command)
    for names, target, told in reversed(_OPTIONS):
        command = click.option(*names, target, **told)(command)
    return command


@click.command(short_help="KV cache of a model: needs, reserves, what fits.")
@click.argument("model")
@_options
def command(model: str, **given: Any) -> None:
    """Size the KV cache of MODEL: a catalogue id, a config.json, or a folder that holds one.

    Prints both answers, never blended: what the model needs, and what the engine reserves.
    """
    from kvgate.cli.model_file import read_model
    from kvgate.kvcache.size import size

    plot, as_json = given.pop("plot"), given.pop("as_json")
    own = {flag: given.pop(f"own_{flag[2:]}".replace("-", "_")) for flag in FLAGS}
    source = read_model(model, hub=given.pop("hub"))
    weights, memory = given.pop("weights"), given.pop("kv_cache_memory")
    in_bytes = given.pop("kv_cache_memory_bytes")
    if memory is not None and in_bytes is not None:
        raise InputError("KV memory is given twice", hint="say --kv-cache-memory, in GiB")
    skipped = given.pop("kv_cache_dtype_skip_layers")
    options = engine_options(given["engine"], own)
    context = given.pop("ctx_size")
    if context is not None:
        if given["max_model_len"] is not None:
            raise InputError("the length is given twice", hint="--max-model-len is of one request")
        given["max_model_len"] = request_length(
            context, given["engine"], options, source.architecture.max_position_embeddings
        )
    answer = size(
        source.architecture,
        kv_cache_memory=memory if in_bytes is None else in_bytes,
        weights_bytes=weights,
        checkpoint_bytes=source.weights_total,
        speculative_tokens=_drafted(given.pop("speculative_config")),
        hybrid_kv_cache_manager=not given.pop("unified"),
        kv_cache_dtype_skip_layers=skipped.split(",") if skipped else (),
        options=options,
        **given,
    )
    if plot:
        from kvgate.kvcache.plot import plot_svg
        from kvgate.records.atomic import write_text

        write_text(plot, plot_svg(answer))
    if as_json:
        click.echo(json.dumps(answer.to_json(), ensure_ascii=False, indent=2))
        return
    from kvgate.cli.plain import show_lines
    from kvgate.kvcache.lines import sizing

    show_lines(sizing(answer))


def _drafted(config: str | None) -> int:
    """``num_speculative_tokens`` of a speculative config."""
    if config is None:
        return 0
    wrong = "--speculative-config must be a JSON object with num_speculative_tokens"
    try:
        value = json.loads(config)
    except (ValueError, RecursionError):
        raise InputError(
            wrong, hint='such as {"method": "mtp", "num_speculative_tokens": 1}'
        ) from None
    tokens = value.get("num_speculative_tokens") if isinstance(value, dict) else None
    if isinstance(tokens, bool) or not isinstance(tokens, int) or not 0 < tokens <= 64:
        raise InputError(wrong, hint="a whole number from 1 to 64")
    return tokens
