"""Gates: which attention backends take a model on a GPU, which the engine picks, what it refuses.

`backends` answers for a model, `head_sizes` and `matrix` for pages, `answer` for rows of programs,
`compare` for two versions, `preferred_block_size` for sizing. Engines are told apart by name;
vLLM's and SGLang's releases are asked in the words of their own code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from kvgate.attention.query import Query
from kvgate.attention.report import BackendVerdict, Failure, Group, Report
from kvgate.catalog.engines import Release, release
from kvgate.catalog.gpus import Gpu
from kvgate.catalog.gpus import gpu as find_gpu
from kvgate.errors import InputError

if TYPE_CHECKING:
    from kvgate.architecture.model import Architecture

__all__ = [
    "BackendVerdict", "Failure", "Group", "Query", "Report", "answer", "backends", "compare",
    "head_sizes", "matrix", "preferred_block_size", "stored_kv_dtype",
]  # fmt: skip

STANDARD_HEADS = (
    16, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 144, 160, 176, 192, 208, 224, 240,
    256, 288, 320, 384, 448, 512, 576, 640, 768, 1024,
)  # fmt: skip


def backends(
    model: str | Architecture,
    *,
    gpu: str | Gpu,
    engine: str,
    kv_cache_dtype: str = "auto",
    dtype: str = "auto",
    force: str | Mapping[str, str] | None = None,
    block_size: int | None = None,
    tp: int = 1,
    dcp: int = 1,
    pcp: int = 1,
    text_only: bool = False,
    **more: Any,
) -> Report:
    """Which backends take each layer group of a model, and which one the engine picks.

    Gives a report with one entry for each group of layers that is asked alike. Source: the
    release's own classes or files, as the catalogue entry of that release names them.

    ``gpu`` is a name of the catalogue or a `Gpu`; ``engine`` is ``vllm==0.33.0``; ``force`` what
    ``--attention-backend`` says, or a mapping from layer kind (``sliding_window``, …) to backend;
    ``tp``, ``dcp`` and ``pcp`` are the sizes of the parallel groups. ``text_only`` is a deployment
    that takes no images. Further vLLM settings: ``batch_invariant``, ``kv_connector``,
    ``non_causal``, ``adaptive_verification``, ``flash_attn_version``, ``trtllm`` (``auto``,
    ``no-cubins``, ``off``) and ``skip_layers``.

    Raises InputError for unknown GPUs, engines, versions, backends and dtypes, and where what such
    a device does is unknown.
    """
    model = _architecture(model)
    found = release(engine)
    device = find_gpu(gpu) if isinstance(gpu, str) else gpu
    options: dict[str, Any] = {
        "kv_cache_dtype": kv_cache_dtype, "dtype": dtype, "force": force, "block_size": block_size,
        "tp": tp, "dcp": dcp, "pcp": pcp, "text_only": text_only, **more,
    }  # fmt: skip
    if found.engine == "sglang":
        return _sglang(model, device, engine, options)
    _needs_vllm(found)
    from kvgate.attention.vllm.model import Options, ask

    try:
        chosen = Options(**options)
    except TypeError as error:
        raise InputError(f"unknown setting: {error}") from None
    return ask(found, device, model, chosen)


def _sglang(model: Architecture, device: Gpu, engine: str, options: Mapping[str, Any]) -> Report:
    """SGLang's answer; what it has no word for is refused rather than left out."""
    from kvgate.attention.sglang.report import report

    vllm_only = {"dcp": 1, "pcp": 1, "text_only": False}
    for name, default in vllm_only.items():
        if options[name] != default:
            raise InputError(f"{name} is a setting of vLLM's, not of SGLang's")
    return report(model, device, engine, **{n: v for n, v in options.items() if n not in vllm_only})


def _needs_vllm(found: Release) -> None:
    if found.engine != "vllm":
        raise InputError(
            f"the backends of {found.engine} are not modelled", hint="vllm and sglang are"
        )


def head_sizes(backend: str, *, engine: str, gpu: str | Gpu | None = None) -> frozenset[int]:
    """The head sizes a backend takes, among those models have (16 to 1024).

    Gives widths in elements. Source: the release's own classes.

    Without ``gpu``: the sizes it takes on some device that it takes at all. Raises InputError for
    a backend or version that is unknown.

    >>> [v for v in ("0.21.0", "0.22.0") if 512 in head_sizes("FLASHINFER", engine=f"vllm=={v}")]
    ['0.22.0']
    """
    found = release(engine)
    _needs_vllm(found)
    from kvgate.attention.vllm.release import device

    if gpu is not None:
        known = find_gpu(gpu) if isinstance(gpu, str) else gpu
        if known.sm is None:
            raise InputError(f"what {backend} takes on {known.name} is unknown")
        capabilities = [known.sm]
    else:
        capabilities = [_sm(sm) for sm in found.data()["devices"]]
    sizes: set[int] = set()
    for sm in capabilities:
        query = Query(sm=sm, head_size=128)
        entry = device(found, sm).backend(backend.upper(), query)
        if entry.sm:
            sizes.update(size for size in STANDARD_HEADS if entry.takes_head(size))
    return frozenset(sizes)


def _sm(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def preferred_block_size(
    backend: str, *, engine: str, sm: tuple[int, int], **query: Any
) -> int | None:
    """The block size a backend turns the default of 16 into when the user set none.

    Further arguments are fields of `Query` (``head_size``, ``kv_cache_dtype``, ``mla`` …). None for
    releases before 0.18, whose platform sets it (`kvgate.attention.vllm.platform`).
    """
    found = release(engine)
    _needs_vllm(found)
    from kvgate.attention.vllm.blocks import preferred_block
    from kvgate.attention.vllm.release import device

    place, asked = device(found, sm), Query(sm=sm, **{"head_size": 128, **query})
    return preferred_block(place, place.backend(backend.upper(), asked), asked)


def stored_kv_dtype(backend: str, kv_cache_dtype: str, *, engine: str) -> str:
    """The KV dtype a layer stores once this backend is chosen: sparse MLA rewrites some.

    >>> stored_kv_dtype("FLASHMLA_SPARSE", "fp8", engine="vllm==0.33.0")
    'fp8_ds_mla'
    """
    found = release(engine)
    _needs_vllm(found)
    from kvgate.attention.vllm.hooks import stored_as
    from kvgate.attention.vllm.release import device

    return stored_as(device(found, (9, 0)), backend.upper(), kv_cache_dtype)


def matrix(
    engine: str,
    kind: Literal["dense", "mla", "sparse"] = "dense",
    *,
    kv_cache_dtype: str = "auto",
    head_size: int | None = None,
    **query: Any,
) -> dict[str, str | None]:
    """The automatic choice on each compute capability: ``{"9.0": "FLASH_ATTN", …}``; None for none.

    Gives a backend's name for each capability, as text. Source: the release's own classes.

    A choice that the selector takes and start-up refuses ends in ``!``. ``kind`` is ``dense``,
    ``mla`` (DeepSeek V3's widths) or ``sparse`` (V3.2's, with its 2048 chosen tokens).
    Raises InputError for an unknown release, and for an engine other than vLLM.
    """
    found = release(engine)
    _needs_vllm(found)
    from kvgate.attention.batch import query_of
    from kvgate.attention.vllm.constructor import refuses
    from kvgate.attention.vllm.release import device
    from kvgate.attention.vllm.selector import judge

    row: dict[str, Any] = {
        "head_size": head_size or (128 if kind == "dense" else 576),
        "kv": kv_cache_dtype,
        "mla": kind != "dense",
        "sparse": kind == "sparse",
        **query,
    }
    out: dict[str, str | None] = {}
    for sm in found.data()["devices"]:
        place, asked = device(found, _sm(sm)), query_of({**row, "sm": sm})
        chosen = judge(place, asked).auto
        out[sm] = f"{chosen}!" if chosen and refuses(place, asked, chosen) else chosen
    return out


def answer(row: Mapping[str, Any]) -> dict[str, Any]:
    """One row of the batch form, answered; see `kvgate.attention.batch.answer`."""
    from kvgate.attention.batch import answer as answer_row

    return answer_row(row)


def compare(
    model: str | Architecture, *, gpu: str | Gpu, engine: str, other: str, **options: Any
) -> list[str]:
    """What changes from ``other`` to ``engine`` for one deployment, one sentence each.

    The options are those of `backends`. Empty when nothing changes.
    """
    from kvgate.attention.diff import changes

    return changes(
        backends(model, gpu=gpu, engine=other, **options),
        backends(model, gpu=gpu, engine=engine, **options),
    )


def _architecture(model: str | Architecture) -> Architecture:
    if not isinstance(model, str):
        return model
    from kvgate.architecture.released import model as released

    return released(model)
