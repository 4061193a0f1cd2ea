"""One question, one answer: how much KV a model needs, and what an engine's pool makes of a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from kvgate.architecture.layers import Layer
from kvgate.architecture.model import Architecture
from kvgate.catalog.gpus import Gpu
from kvgate.errors import InputError
from kvgate.kvcache.accepted import check_accepted
from kvgate.kvcache.answer import PoolAnswer
from kvgate.kvcache.explanation import explanation
from kvgate.kvcache.fitting import ways_to_fit
from kvgate.kvcache.length import length as engines_length
from kvgate.kvcache.needs import Needs, needs
from kvgate.kvcache.request import Request, engine_version
from kvgate.kvcache.reserve import visible_bytes
from kvgate.kvcache.vllm_rules import vllm_rules
from kvgate.kvcache.weight import Weights, weights_of
from kvgate.units import format_bytes

__all__ = ["Sizing", "size"]

# CUDA 13.0's release notes: Maxwell, Pascal and Volta are compiled for no more. Read 2026-11-30.
_BUILT_FOR = (7, 5)
_MOST_POINTS = 4096


@dataclass(frozen=True, slots=True)
class Sizing:
    """Both answers: what the model needs, and what the engine reserves.

    ``pool`` is None where neither a GPU nor KV memory was given, and ``fits`` with it.
    ``max_model_len`` is the length both were computed at, ``ways`` are those to make it fit (tried
    when they are asked for), and
    ``requested_dtype`` is the KV dtype as it was asked for.
    """

    arch: Architecture
    engine: str
    needs: Needs
    pool: PoolAnswer | None
    weights: Weights
    max_model_len: int
    fits: bool | None
    assumptions: tuple[str, ...]
    requested_dtype: str = "auto"
    try_ways: Callable[[], tuple[str, ...]] = field(default=tuple, repr=False, compare=False)

    @property
    def ways(self) -> tuple[str, ...]:
        """What would make the length fit that doesn't; each way is tried when it is asked for."""
        return self.try_ways()

    @property
    def explanation(self) -> tuple[str, ...]:
        """Both answers in sentences, with the numbers in place, and the ways to fit."""
        lines = explanation(self.needs, self.max_model_len, self.pool, self.weights)
        return (*lines, *self.ways)

    @property
    def sequence_bytes(self) -> int:
        """What one sequence of ``max_model_len`` tokens needs, whole model, one copy."""
        return self.needs.sequence_bytes(self.max_model_len)

    @property
    def tokens(self) -> int | None:
        """What the engine prints as its KV cache size, in tokens."""
        return self.pool.tokens if self.pool is not None else None

    @property
    def max_concurrency(self) -> float | None:
        """What the engine prints as its maximum concurrency."""
        return self.pool.max_concurrency if self.pool is not None else None

    def plot(self, *, points: int = 65) -> tuple[tuple[int, int, int], ...]:
        """(context, bytes a rank needs, bytes of the pool): GiB against context, as plain values.

        Contexts run evenly from 0 to ``max_model_len``, with the windows at which the need bends in
        between; the pool is 0 where there is none. Raises InputError for more points than a picture
        has pixels.
        """
        if not 1 <= points <= _MOST_POINTS:
            raise InputError(f"a plot has from 1 to {_MOST_POINTS:,} points, not {points:,}")
        pool = self.pool.memory.likely if self.pool is not None else 0
        steps = max(points - 1, 1)
        contexts = {self.max_model_len * step // steps for step in range(steps + 1)}
        windows = {window for stage in self.needs.stages for window, _ in stage.windows}
        contexts |= {window for window in windows if window < self.max_model_len}
        return tuple((c, self.needs.rank_sequence_bytes(c), pool) for c in sorted(contexts))

    def to_json(self) -> dict[str, Any]:
        """The object that ``kvgate size --json`` prints; its keys are a contract."""
        need, pool = self.needs, self.pool
        return {
            "schema_version": 1,
            "model": {"id": self.arch.id, "layers": [_layer(g.layer, g.count, g.because)
                                                     for g in self.arch.groups]},
            "kv": {
                "dtype": need.choice.dtype,
                "requested": self.requested_dtype,
                "format": need.choice.format.name,
                "bytes_per_token": _number(need.bytes_per_token),
                "bytes_per_token_per_rank": _number(need.bytes_per_token_per_rank),
                "window_bytes_per_sequence": need.window_bytes_per_sequence,
                "state_bytes_per_sequence": need.state_bytes_per_sequence,
                "sequence_bytes": self.sequence_bytes,
            },
            "pool": {
                "bytes_per_rank": pool.memory.likely if pool else None,
                "bytes_per_rank_range": [pool.memory.low, pool.memory.high] if pool else None,
                "block_size": pool.block_size if pool else None,
                "blocks": pool.blocks if pool else None,
                "tokens": pool.tokens if pool else None,
                "max_concurrency": pool.max_concurrency if pool else None,
                "max_model_len_that_fits": pool.longest if pool else None,
                "refusal": pool.refusal if pool else None,
                **(dict(pool.extra) if pool else {}),
            },
            "weights": {"bytes_per_rank": self.weights.bytes_per_rank, "basis": self.weights.basis},
            "fits": self.fits,
            "assumptions": list(self.assumptions),
            "explanation": list(self.explanation),
        }  # fmt: skip


def size(
    model: str | Architecture,
    *,
    gpu: str | Gpu | None = None,
    engine: str | None = None,
    tp: int = 1,
    pp: int = 1,
    dcp: int = 1,
    kv_cache_dtype: str = "auto",
    dtype: str = "auto",
    ssm_dtype: str = "auto",
    block_size: int | None = None,
    max_model_len: int | None = None,
    max_num_batched_tokens: int | None = None,
    max_num_seqs: int | None = None,
    gpu_memory_utilization: float | None = None,
    kv_cache_memory: int | Sequence[int] | None = None,
    prefix_caching: bool | None = None,
    weights_bytes: int | Sequence[int] | None = None,
    checkpoint_bytes: int | None = None,
    speculative_tokens: int = 0,
    async_scheduling: bool | None = None,
    hybrid_kv_cache_manager: bool = True,
    mamba_cache_mode: str | None = None,
    enforce_eager: bool = False,
    encoder_tokens: int | None = None,
    quantization: str | None = None,
    kv_cache_dtype_skip_layers: Sequence[str] = (),
    options: object | None = None,
) -> Sizing:
    """Size a model's KV cache, and an engine's pool where a GPU or KV memory is given.

    Gives bytes, tokens and requests. Source: the architecture's own config for what the model
    needs, and the rules of the release that was named for what it reserves.

    ``model`` is a catalogue id or a parsed architecture; ``engine`` such as ``vllm==0.33.0``
    (newest vLLM when not given); the parallel sizes, dtypes and limits are the engine's own flags.
    ``kv_cache_memory`` is bytes per GPU (one figure, or one per pipeline stage, the smallest
    rank's). ``weights_bytes`` is bytes of weights per GPU (likewise); where it is not given, they
    are counted from the architecture, with an engine's own ``quantization`` of a 16-bit checkpoint
    applied, and scaled to ``checkpoint_bytes``, a safetensors index's total.
    ``speculative_tokens`` > 0 counts the checkpoint's draft layers and what speculation holds.
    ``options`` are an engine's further settings (`SglangOptions`, `LlamaOptions`,
    `TrtllmOptions`).

    Raises InputError for whatever is unknown, does not divide, or is missing.

    >>> size("Qwen/Qwen3-Next-80B-A3B-Instruct").needs.bytes_per_token
    24576.0
    """
    arch = _architecture(model)
    name, version, assumed = engine_version(engine)
    if name == "vllm":
        # A version whose allocator nobody read is refused, also where only the need is asked for.
        vllm_rules(version)
    check_accepted(name, version, kv_cache_dtype)
    if name == "llama.cpp":
        kv_cache_dtype = _llama_types(kv_cache_dtype, options)
    card = _gpu(gpu)
    length = engines_length(arch, max_model_len, engine=name, version=version)
    memory = [kv_cache_memory] if isinstance(kv_cache_memory, int) else kv_cache_memory
    if memory is not None and (not memory or min(memory) < 0):
        raise InputError(f"KV memory of {memory} bytes is impossible")
    need = needs(
        arch, kv_cache_dtype=kv_cache_dtype, engine=name, version=version,
        sm=card.sm if card is not None else None, tp=tp, pp=pp, dcp=dcp, dtype=dtype,
        ssm_dtype=ssm_dtype, speculative=speculative_tokens, encoder_tokens=encoder_tokens,
        skip_layers=tuple(kv_cache_dtype_skip_layers),
    )  # fmt: skip

    def counted(ranks: int) -> Weights:
        return weights_of(
            arch, given=weights_bytes, checkpoint=checkpoint_bytes, tp=ranks, pp=pp, dtype=dtype,
            quantization=quantization, draft=speculative_tokens > 0,
        )  # fmt: skip

    weights = Weights(None, "not asked: no GPU was given")
    if card is not None or weights_bytes is not None:
        weights = counted(tp)
    request = Request(
        arch=arch, gpu=card, engine=name, version=version, tp=tp, pp=pp, dcp=dcp,
        kv_cache_dtype=kv_cache_dtype, dtype=dtype, ssm_dtype=ssm_dtype,
        max_model_len=length.tokens, block_size=block_size,
        max_num_batched_tokens=max_num_batched_tokens, max_num_seqs=max_num_seqs,
        gpu_memory_utilization=gpu_memory_utilization, memory=memory,
        prefix_caching=prefix_caching, weights_bytes=weights.bytes_per_rank,
        speculative=speculative_tokens, async_scheduling=async_scheduling,
        hybrid=hybrid_kv_cache_manager, mamba_cache_mode=mamba_cache_mode,
        enforce_eager=enforce_eager, encoder_tokens=encoder_tokens,
        skip_layers=tuple(kv_cache_dtype_skip_layers), stage_weights=weights.by_stage,
    )  # fmt: skip
    pool = None
    notes = [assumed] if assumed else []
    if card is not None or memory is not None:
        pool = _pool(request, options)

    def ways() -> tuple[str, ...]:
        if pool is None or pool.fits:
            return ()
        return ways_to_fit(request, pool, lambda changed: _pool(changed, options), counted)

    notes += [*arch.notes, *length.notes]
    if name == "vllm" and card is not None and card.sm is not None and card.sm < _BUILT_FOR:
        notes.append(
            f"{card.name} is compute capability {card.capability}: CUDA 13 compiles for 7.5 and "
            "above only, so that a wheel built with it holds no kernels for it"
        )
    if card is not None and memory is not None and min(memory) > visible_bytes(card):
        notes.append(
            f"{format_bytes(min(memory))} of KV memory is more than the "
            f"{format_bytes(visible_bytes(card))} that {card.name} has: no such pool can be "
            "there"
        )
    if speculative_tokens and arch.draft is None:
        notes.append(
            f"the config of {arch.id} brings no draft layers; a draft model's are not counted"
        )
    notes += [*need.assumptions, *(pool.assumptions if pool is not None else ())]
    return Sizing(
        arch=arch, engine=f"{name}=={version}" if version.release != (0,) else name,
        needs=need, pool=pool, weights=weights,
        max_model_len=length.tokens, fits=pool.fits if pool is not None else None,
        assumptions=tuple(dict.fromkeys(notes)),
        requested_dtype=kv_cache_dtype, try_ways=ways,
    )  # fmt: skip


def _pool(request: Request, options: object | None) -> PoolAnswer:
    # Only the engine that was asked for is imported: a command pays for nothing else.
    match request.engine:
        case "vllm":
            from kvgate.kvcache.vllm import vllm_answer

            _no_options(options, "vLLM")
            return vllm_answer(request).answer
        case "sglang":
            from kvgate.kvcache.sglang_answer import sglang_answer
            from kvgate.kvcache.sglang_options import SglangOptions

            if options is not None and not isinstance(options, SglangOptions):
                raise InputError(f"SGLang takes no {type(options).__name__}")
            return sglang_answer(request, options)
        case "llama.cpp":
            from kvgate.kvcache.llamacpp import LlamaOptions, llama_answer

            if options is not None and not isinstance(options, LlamaOptions):
                raise InputError(f"llama.cpp takes no {type(options).__name__}")
            return llama_answer(request, options)
        case "tensorrt-llm":
            from kvgate.kvcache.trtllm import TrtllmOptions, trtllm_answer

            if options is not None and not isinstance(options, TrtllmOptions):
                raise InputError(f"TensorRT-LLM takes no {type(options).__name__}")
            return trtllm_answer(request, options)
        case other:
            raise InputError(f"kvgate has no pool model of {other}")


def _llama_types(kv_cache_dtype: str, options: object | None) -> str:
    """The types of K and V decide what the model needs too."""
    from kvgate.kvcache.llamacpp import LlamaOptions, cache_types

    return cache_types(kv_cache_dtype, options if isinstance(options, LlamaOptions) else None)


def _no_options(options: object | None, engine: str) -> None:
    if options is not None:
        raise InputError(f"{engine} takes no {type(options).__name__}")


def _architecture(model: str | Architecture) -> Architecture:
    if isinstance(model, Architecture):
        return model
    from kvgate.architecture.released import model as released

    return released(model)


def _gpu(gpu: str | Gpu | None) -> Gpu | None:
    if gpu is None or isinstance(gpu, Gpu):
        return gpu
    from kvgate.catalog.gpus import gpu as known

    return known(gpu)


def _layer(layer: Layer, count: int, because: tuple[str, ...]) -> dict[str, Any]:
    """The layer's own facts, without those that say nothing."""
    facts: dict[str, Any] = {"kind": layer.kind, "count": count}
    for known in fields(layer):
        value = getattr(layer, known.name)
        if known.name == "kind" or value is None or value is False:
            continue
        if known.name == "indexer":
            value = {"head_dim": value.head_dim, "topk": value.topk}
        facts[known.name] = value
    facts["because"] = list(because)
    return facts


def _number(value: float) -> int | float:
    return int(value) if value == int(value) else value
