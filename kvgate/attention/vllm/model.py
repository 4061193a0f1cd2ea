"""Ask a vLLM release about every layer group of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from kvgate.architecture.layers import (
    MLA,
    Attention,
    CompressedAttention,
    GatedDeltaNet,
    KimiDelta,
    LayerGroup,
    Lightning,
    Mamba1,
    Mamba2,
    NoCache,
    ShortConv,
    StreamConv,
)
from kvgate.architecture.model import Architecture
from kvgate.attention.query import Query
from kvgate.attention.report import BackendVerdict, Failure, Group, Report
from kvgate.attention.vllm import constructor, hooks
from kvgate.attention.vllm.blocks import DEFAULT_BLOCK, preferred_block
from kvgate.attention.vllm.platform import forced_by_platform, platform_block
from kvgate.attention.vllm.release import Device, device
from kvgate.attention.vllm.rocm import CAPABILITY, FP8, rocm_version
from kvgate.attention.vllm.selector import (
    judge,
    layer_flash_attention,
    reasons,
    select,
    warning,
)
from kvgate.catalog.engines import Release
from kvgate.catalog.gpus import Gpu
from kvgate.errors import InputError, nearest

__all__ = ["Options", "ask"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a deployment says that selection looks at, in the engine's own words."""

    kv_cache_dtype: str = "auto"
    dtype: str = "auto"
    force: str | Mapping[str, str] | None = None
    block_size: int | None = None
    tp: int = 1
    dcp: int = 1
    pcp: int = 1
    text_only: bool = False
    batch_invariant: bool = False
    kv_connector: bool = False
    non_causal: bool = False
    adaptive_verification: bool = False
    flash_attn_version: int | None = None
    trtllm: Literal["auto", "no-cubins", "off"] = "auto"
    skip_layers: tuple[str, ...] = ()
    aiter: Literal["none", "found", "on"] = "found"


_STATE = {
    Mamba1: "MAMBA1",
    Mamba2: "MAMBA2",
    ShortConv: "SHORT_CONV",
    StreamConv: "INKLING_SCONV_SWA",
    Lightning: "LINEAR",
    GatedDeltaNet: "GDN_ATTN",
    KimiDelta: "GDN_ATTN",
}

# dots3's model code names its backends itself; no selector is asked (vllm 0.33.0,
# models/dots3_note/nvidia/attention.py).
_DOTS3_SPARSE, _DOTS3_WINDOWED = "DOTS3_NOTE_PADDED_MLA_SPARSE", "TRITON_MLA"


def ask(release: Release, gpu: Gpu, model: Architecture, options: Options) -> Report:
    """Every layer group's backends and choice, the model's hooks applied.

    Raises InputError for backends, dtypes and devices that the release doesn't have.
    """
    place, notes = _place(release, gpu)
    kv, from_checkpoint = _kv_cache_dtype(place, model, options)
    if from_checkpoint:
        notes.append(from_checkpoint)
    by_kind = dict(options.force) if isinstance(options.force, Mapping) else {}
    forced = options.force if isinstance(options.force, str) else by_kind.pop("", None)
    settings = hooks.Settings(
        backend=_member(place, forced) if forced and forced.lower() != "auto" else None,
        kv_cache_dtype=kv,
        flash_attn_version=options.flash_attn_version,
        non_causal=options.non_causal,
    )
    settings = hooks.apply(place, model, settings)
    latents = [g.layer for g in model.groups if isinstance(g.layer, MLA)]
    block = platform_block(place, latents, settings.backend, options.block_size)
    by_platform = forced_by_platform(place, latents, settings.backend)
    if by_platform != settings.backend:
        said = f"vLLM's platform sets {by_platform} for MLA on SM10x"
        settings = replace(settings, backend=by_platform, said=(*settings.said, said))
    notes.extend(settings.said)
    kinds = {kind: _member(place, name) for kind, name in by_kind.items()}
    base = _base(place, gpu, model, options, settings)
    told = [
        part
        for group in model.groups
        for part in _parts(place, model, group, base, settings, kinds, options, block)
    ]
    groups = tuple(part[0] for part in told)
    first = min((g for g in groups if g.error), key=lambda g: g.layers[0], default=None)
    error = settings.error or (first.error if first else None)
    return Report(
        engine=str(release),
        gpu=gpu.name,
        groups=groups,
        error=error,
        warnings=tuple(dict.fromkeys(w for part in told for w in part[1])),
        then_fails=() if error else tuple(f for part in told for f in part[2]),
        notes=tuple(dict.fromkeys([*notes, *(n for part in told for n in part[3])])),
    )


def _place(release: Release, gpu: Gpu) -> tuple[Device, list[str]]:
    if gpu.sm is not None:
        return device(release, gpu.sm), [release.note] if release.note else []
    if gpu.arch not in CAPABILITY:
        raise InputError(
            f"what vllm {release.asked} does on {gpu.name} ({gpu.arch}) is unknown",
            hint=f"asked under ROCm: {', '.join(CAPABILITY)}",
        )
    _, note = rocm_version(release)
    notes = [note] if note else []
    notes.append(f"{gpu.name} ({gpu.arch}) stores fp8 as {FP8[gpu.arch]}")
    return device(release, (0, 0), gpu.arch), notes


def _member(place: Device, name: str) -> str:
    if name.upper() not in place.members:
        raise InputError(
            f"vllm {place.name} has no attention backend {name!r}",
            hint=nearest(name, place.asked_members),
        )
    return name.upper()


def _kv_cache_dtype(place: Device, model: Architecture, options: Options) -> tuple[str, str]:
    kv = options.kv_cache_dtype
    if kv not in place.kv_cache_dtypes:
        raise InputError(
            f"vllm {place.name} has no KV cache dtype {kv!r}",
            hint=nearest(kv, place.kv_cache_dtypes),
        )
    said = model.quantization
    if said is None or said.kv_cache is None or said.kv_cache not in place.kv_cache_dtypes:
        return kv, ""
    asks = f"the checkpoint asks for {said.kv_cache} KV ({said.kv_cache_key})"
    if said.method.startswith("modelopt"):
        # resolve_kv_cache_dtype_string, 0.14; its four-bit scheme since 0.20.
        since = (0, 20) if said.kv_cache == "nvfp4" else (0, 14)
        if kv == "auto" and place.version >= since:
            return said.kv_cache, asks
    # attention.py's own reading of kv_cache_scheme, 0.15; up to 0.21 it overrules the user.
    reads = said.method == "compressed-tensors" and place.version >= (0, 15)
    if reads and any(isinstance(g.layer, Attention) for g in model.groups):
        if kv == "auto":
            return "fp8", asks
        if place.version < (0, 22):
            return "fp8", f"{asks}, and this release overrules {kv}"
    return kv, ""


_DTYPES = ("bfloat16", "float16", "float32")


def _base(
    place: Device, gpu: Gpu, model: Architecture, options: Options, settings: hooks.Settings
) -> Query:
    sm = gpu.sm or CAPABILITY[gpu.arch]
    aliases = {"half": "float16", "float": "float32"}
    dtype = aliases.get(options.dtype, options.dtype)
    if dtype == "auto":
        dtype = model.dtype if model.dtype in ("bfloat16", "float16") else "bfloat16"
        if dtype == "bfloat16" and sm < (8, 0):
            dtype = "float16"  # the platform's first supported dtype
    if dtype not in _DTYPES:
        raise InputError(f"unknown dtype {options.dtype!r}", hint=nearest(dtype, _DTYPES))
    widths = [
        g.layer.head_dim if isinstance(g.layer, Attention) else g.layer.head_size
        for g in model.groups
        if isinstance(g.layer, Attention | MLA)
    ]
    return Query(
        sm=sm,
        arch="" if gpu.sm else gpu.arch,
        aiter=options.aiter,
        head_size=0,
        kv_cache_dtype=settings.kv_cache_dtype,
        run_kv_cache_dtype=settings.kv_cache_dtype,
        dtype=dtype,
        block_size=options.block_size,
        mm_prefix=hooks.is_mm_prefix(model, place.version, text_only=options.text_only),
        non_causal=settings.non_causal,
        batch_inv=options.batch_invariant,
        kv_connector=options.kv_connector,
        adaptive_verification=options.adaptive_verification,
        dcp=options.dcp,
        pcp=options.pcp,
        flash_attn_version=settings.flash_attn_version,
        trtllm=options.trtllm,
        model_head_size=max(widths, default=None),
        device=f"{gpu.vendor.upper()} {gpu.name}",
    )


def _query(base: Query, layer: Attention | MLA | CompressedAttention, tp: int) -> Query:
    heads = max(1, layer.query_heads // tp)
    match layer:
        case Attention():
            return replace(
                base,
                head_size=layer.head_dim,
                head_size_v=layer.v_head_dim,
                num_heads=heads,
                num_kv_heads=max(1, layer.kv_heads // tp),
                window=layer.kind == "sliding",
                sink=layer.sinks,
                sparse=layer.indexer is not None,
                attn_type="encoder_decoder" if layer.kind == "cross" else "decoder",
            )
        case MLA():
            return replace(
                base,
                mla=True,
                mm_prefix=False,
                head_size=layer.head_size,
                num_heads=heads,
                num_kv_heads=1,
                sparse=layer.sparse or layer.indexer is not None or layer.shares_indexer,
                kv_lora_rank=layer.kv_lora_rank,
                qk_rope_head_dim=layer.qk_rope_head_dim,
                qk_nope_head_dim=layer.qk_nope_head_dim,
                v_head_dim=layer.v_head_dim,
                index_topk=layer.indexer.topk if layer.indexer else None,
            )
        case CompressedAttention():
            return replace(
                base, mla=True, sparse=True, sink=True, mm_prefix=False,
                head_size=layer.head_dim, num_heads=heads, num_kv_heads=1,
                kv_lora_rank=layer.head_dim - layer.qk_rope_head_dim,
                qk_rope_head_dim=layer.qk_rope_head_dim, v_head_dim=layer.head_dim,
                qk_nope_head_dim=layer.head_dim - layer.qk_rope_head_dim,
                index_topk=layer.indexer.topk if layer.indexer else None,
            )  # fmt: skip


_Told = tuple[Group, tuple[str, ...], tuple[Failure, ...], tuple[str, ...]]


def _parts(
    place: Device,
    model: Architecture,
    group: LayerGroup,
    base: Query,
    settings: hooks.Settings,
    kinds: Mapping[str, str],
    options: Options,
    block: int | None,
) -> list[_Told]:
    layer = group.layer
    if isinstance(layer, NoCache):
        return []
    if not isinstance(layer, Attention | MLA | CompressedAttention):
        name = _STATE[type(layer)]
        verdict = BackendVerdict(name, valid=True)
        return [(Group(group.indices, layer.kind, None, (verdict,), name, None), (), (), ())]
    if isinstance(layer, MLA) and model.model_type.startswith("dots3_note"):
        name = _DOTS3_WINDOWED if layer.window is not None else _DOTS3_SPARSE
        size = layer.row or layer.head_size
        verdict = BackendVerdict(name, valid=True)
        return [(Group(group.indices, layer.kind, size, (verdict,), name, None), (), (), ())]
    query = _query(base, layer, options.tp)
    if isinstance(layer, MLA) and query.sparse and query.index_topk is None:
        # Layers that share an indexer have the model's setting all the same.
        topks = [
            g.layer.indexer.topk
            for g in model.groups
            if isinstance(g.layer, MLA) and g.layer.indexer
        ]
        query = replace(query, index_topk=topks[0] if topks else None)
    skipped = tuple(
        i for i in group.indices if i in settings.native_layers or _is_skipped(i, layer, options)
    )
    rest = tuple(i for i in group.indices if i not in skipped)
    forced = kinds.get(_kind(query), settings.backend)
    native = replace(query, kv_cache_dtype="auto")
    return [
        _told(place, model, layer, layers, asked, forced, block)
        for layers, asked in ((rest, query), (skipped, native))
        if layers
    ]


def _is_skipped(index: int, layer: object, options: Options) -> bool:
    """``--kv-cache-dtype-skip-layers``: an index, or ``sliding_window`` for windowed layers."""
    if str(index) in options.skip_layers:
        return True
    windowed = isinstance(layer, Attention) and layer.kind == "sliding"
    return windowed and "sliding_window" in options.skip_layers


def _kind(query: Query) -> str:
    """The engine's name for the layer's kind, as ``backend_per_kind`` uses it (0.26)."""
    if query.attn_type == "encoder_decoder":
        return "cross_attention"
    if query.mla:
        return "sliding_window_mla" if query.window else "mla_attention"
    return "sliding_window" if query.window else "full_attention"


def _told(
    place: Device,
    model: Architecture,
    layer: Attention | MLA | CompressedAttention,
    layers: tuple[int, ...],
    query: Query,
    forced: str | None,
    block: int | None,
) -> _Told:
    own = hooks.own_backend(place, model, layer, forced)
    notes: tuple[str, ...] = ()
    if own:
        chosen, error = own[0], None
        notes = (f"{own[0]}: {own[1]}",)
        verdicts: tuple[BackendVerdict, ...] = (BackendVerdict(own[0], valid=True),)
    else:
        selection = judge(place, query)
        verdicts = tuple(
            BackendVerdict(name, name not in selection.invalid, selection.invalid.get(name, ()))
            for name in selection.order
        )
        if forced and forced not in selection.order:
            why = reasons(place, forced, query)
            verdicts = (BackendVerdict(forced, not why, why), *verdicts)
        picked, error = select(place, query, forced)
        chosen = picked or ""
    warnings: tuple[str, ...] = ()
    failures: list[Failure] = []
    if not own and forced is None and (told := warning(place, query, judge(place, query))):
        warnings = (told,)
    if chosen:
        told_by = (constructor.refuses, constructor.reported)
        failures.extend(
            Failure(found.backend, found.stage, found.text, found.source, found.certain, layers)
            for found in (ask_it(place, query, chosen) for ask_it in told_by)
            if found
        )
    flash = layer_flash_attention(place, query) if chosen.startswith("FLASH_ATTN") else None
    group = Group(
        layers=layers,
        kind=layer.kind,
        head_size=query.head_size,
        backends=verdicts,
        selected=chosen or None,
        error=error,
        kv_cache_dtype=hooks.stored_as(place, chosen, query.kv_cache_dtype) if chosen else None,
        flash_attention=flash if not query.mla else None,
        block_size=(block or _block(place, query, chosen)) if chosen else None,
    )
    return group, warnings, tuple(failures), notes


def _block(place: Device, query: Query, name: str) -> int | None:
    """The block size the group runs with: the user's, or what the backend makes of the default."""
    if query.block_size is not None:
        return query.block_size
    backend = place.backends(query).get(name)
    if backend is None:
        return None
    return preferred_block(place, backend, query) or DEFAULT_BLOCK
