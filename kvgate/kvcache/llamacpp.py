"""llama.cpp's cache: cells per slot, types of K and V, windowed cells, and states in f32.

llama.cpp allocates for the context it is told, whatever memory there is. Source: llama.cpp,
src/llama-kv-cache.cpp, src/llama-kv-cache-iswa.cpp and src/llama-memory-recurrent.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kvgate.architecture.layers import MLA, Attention, CompressedAttention, NoCache
from kvgate.architecture.model import Architecture
from kvgate.catalog.formats import KvFormat
from kvgate.errors import InputError, nearest
from kvgate.kvcache.answer import PoolAnswer, Range
from kvgate.kvcache.choice import choose_format
from kvgate.kvcache.longest import longest
from kvgate.kvcache.request import Request
from kvgate.kvcache.reserve import nothing_left, visible_bytes
from kvgate.kvcache.states import state_bytes, state_dtypes
from kvgate.units import GiB, counted, format_bytes

__all__ = [
    "LlamaCache", "LlamaOptions", "cache_types", "llama_answer", "llama_cache", "slot_context",
]  # fmt: skip

_PADDING = 256
_MLA = ("expanded", "latent")


@dataclass(frozen=True, slots=True)
class LlamaOptions:
    """llama.cpp's flags: ``-np`` slots, ``--kv-unified``, ``-ub``, ``--swa-full``, ``-ctk/-ctv``.

    ``mla`` says what the GGUF file holds for MLA models: ``expanded`` heads (older files) or the
    ``latent``, which is then kept once, as keys.
    """

    slots: int = 1
    unified: bool = False
    ubatch: int = 512
    swa_full: bool = False
    cache_type_k: str = "f16"
    cache_type_v: str = "f16"
    mla: str | None = None

    def __post_init__(self) -> None:
        if self.slots < 1 or self.ubatch < 1:
            raise InputError("llama.cpp needs at least one slot and one token a batch")
        if self.mla is not None and self.mla not in _MLA:
            raise InputError(f"unknown MLA layout {self.mla!r}", hint=nearest(self.mla, _MLA))


@dataclass(frozen=True, slots=True)
class LlamaCache:
    """What llama.cpp allocates: ``cells`` a stream, ``swa_cells`` for windowed layers, and bytes.

    ``streams`` is the number of sequences with cells of their own, 1 where they share (unified).
    """

    cells: int
    swa_cells: int
    streams: int
    base_bytes: int
    swa_bytes: int
    state_bytes: int

    @property
    def bytes_(self) -> int:
        """All of it."""
        return self.base_bytes + self.swa_bytes + self.state_bytes


def slot_context(total: int, options: LlamaOptions, trained: int | None) -> int | None:
    """The tokens of one request where ``--ctx-size`` is ``total``: the context of all slots
    together, which they share evenly, or as one where it is unified.

    0 stands for the length the model was ``trained`` on, None where that isn't known. Raises
    InputError where a slot gets none. Source: llama.cpp, src/llama-context.cpp, and the record
    lcpp-ctx-size-split-across-slots.
    """
    tokens = total or trained
    if tokens is None or options.unified:
        return tokens
    if tokens < options.slots:
        raise InputError(
            f"a context of {counted(tokens, 'token')} leaves none for one of {options.slots} slots",
            hint="--ctx-size is for all slots together",
        )
    return tokens // options.slots


def cache_types(kv_cache_dtype: str, options: LlamaOptions | None) -> str:
    """The cache's types as one dtype: ``auto``, a type, or ``K/V`` where keys and values differ.

    Raises InputError where both a dtype and types of K and V are given.
    """
    keys, values = (options.cache_type_k, options.cache_type_v) if options else ("f16", "f16")
    if keys == values == "f16":
        return kv_cache_dtype
    if kv_cache_dtype != "auto":
        raise InputError(
            "the cache's type is given twice", hint="say --cache-type-k and --cache-type-v alone"
        )
    return keys if keys == values else f"{keys}/{values}"


def llama_cache(arch: Architecture, context: int, options: LlamaOptions) -> LlamaCache:
    """The cache for a context of ``context`` tokens a sequence (unified: shared by all of them).

    Raises InputError for layers llama.cpp's layout is not known of, and for an MLA model whose
    file's layout was not said.
    """
    keys, values = (
        choose_format(arch, engine="llama.cpp", kv_cache_dtype=kind).format
        for kind in (options.cache_type_k, options.cache_type_v)
    )
    streams = 1 if options.unified else options.slots
    cells = _pad(context)
    window = max(
        (
            g.layer.window or 0
            for g in arch.groups
            if isinstance(g.layer, Attention) and g.layer.kind in ("sliding", "chunked")
        ),
        default=0,
    )
    swa_cells = 0
    if window:
        shared = options.slots if options.unified else 1
        swa_cells = (
            cells if options.swa_full else min(cells, _pad(window * shared + options.ubatch))
        )
    base = swa = states = 0
    for group in arch.groups:
        layer = group.layer
        match layer:
            case NoCache():
                continue
            case Attention(kind="cross") | CompressedAttention():
                raise InputError(f"kvgate does not know how llama.cpp keeps {layer.kind} layers")
            case Attention():
                row = _row(layer.kv_heads, layer.head_dim, layer.v_head_dim, keys, values)
                if layer.kind == "full":
                    base += group.count * row
                else:
                    swa += group.count * row
            case MLA():
                base += group.count * _latent(layer, options, keys, values)
            case _:
                dtypes = state_dtypes(
                    layer, engine="llama.cpp", model_type=arch.model_type, model_dtype="float32"
                )
                states += group.count * state_bytes(layer, dtypes) * options.slots
    return LlamaCache(
        cells=cells, swa_cells=swa_cells, streams=streams, base_bytes=base * cells * streams,
        swa_bytes=swa * swa_cells * streams, state_bytes=states,
    )  # fmt: skip


def _row(heads: int, key: int, value: int, keys: KvFormat, values: KvFormat) -> int:
    return keys.side_bytes(heads * key) + values.side_bytes(heads * value)


def _latent(layer: MLA, options: LlamaOptions, keys: KvFormat, values: KvFormat) -> int:
    if options.mla is None:
        raise InputError(
            "a GGUF file of an MLA model holds expanded heads or the latent",
            hint="say which the file holds: --gguf-mla latent, or --gguf-mla expanded",
        )
    if options.mla == "latent":
        return keys.side_bytes(layer.head_size)
    width = layer.qk_nope_head_dim + layer.qk_rope_head_dim
    return _row(layer.query_heads, width, layer.v_head_dim, keys, values)


def _pad(tokens: int) -> int:
    return -(-tokens // _PADDING) * _PADDING


def llama_answer(request: Request, options: LlamaOptions | None) -> PoolAnswer:
    """llama.cpp's answer: what it allocates for the asked length, and whether that fits.

    Raises InputError for tensor parallelism: llama.cpp splits layers over cards.
    """
    if request.tp > 1 or request.dcp > 1:
        raise InputError(
            "llama.cpp splits layers over cards, not heads", hint="say pp instead of tp"
        )
    settings = options or LlamaOptions()
    if request.kv_cache_dtype != "auto":
        keys, _, values = request.kv_cache_dtype.partition("/")
        settings = replace(settings, cache_type_k=keys, cache_type_v=values or keys)
    cache = llama_cache(request.arch, request.max_model_len, settings)
    memory, notes = _memory(request)
    per_card = cache.bytes_ // request.pp
    cells, streams = counted(cache.cells, "cell"), counted(cache.streams, "stream")
    lines = [
        f"{cells} x {streams}: {format_bytes(cache.base_bytes)} "
        f"(K {settings.cache_type_k}, V {settings.cache_type_v})"
    ]
    if cache.swa_bytes:
        cells = counted(cache.swa_cells, "cell")
        lines.append(f"windowed layers, {cells}: {format_bytes(cache.swa_bytes)}")
    if cache.state_bytes:
        slots = counted(settings.slots, "slot")
        lines.append(f"states of {slots} in f32: {format_bytes(cache.state_bytes)}")
    fits = per_card <= memory.likely
    refusal = f"the cache takes {format_bytes(per_card)} a card"
    if memory.likely == 0:
        refusal = f"{nothing_left(request)}, and {refusal}"
    return PoolAnswer(
        memory=memory, block_size=1, blocks=None,
        tokens=cache.cells * cache.streams if fits else None,
        max_concurrency=(1.0 if settings.unified else float(settings.slots)) if fits else None,
        longest=_longest(request, settings, memory.likely), fits=fits,
        refusal=None if fits else refusal,
        undecided=memory.low < per_card <= memory.high,
        lines=tuple(lines), assumptions=notes,
        extra=(("allocated_bytes", cache.bytes_), ("swa_cells", cache.swa_cells),
               ("state_bytes", cache.state_bytes)),
    )  # fmt: skip


def _longest(request: Request, options: LlamaOptions, memory: int) -> int | None:
    return longest(lambda n: llama_cache(request.arch, n, options).bytes_ // request.pp <= memory)


def _memory(request: Request) -> tuple[Range, tuple[str, ...]]:
    if request.memory is not None:
        return Range.exact(min(request.memory)), ()
    if request.gpu is None or request.weights_bytes is None:
        raise InputError("no memory to fit the cache into", hint="say --gpu or --kv-cache-memory")
    left = visible_bytes(request.gpu) - request.weights_bytes
    spread = Range(*(max(int(left - part * GiB), 0) for part in (2.0, 1.0, 0.5)))
    return spread, ("0.5 to 2 GiB are taken by the context and compute buffers",)
