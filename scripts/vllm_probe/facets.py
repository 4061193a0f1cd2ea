"""Ask one release's classes, on one device, for everything its gates look at.

Runs in the release's own environment. A facet is one property of one backend; it is asked under
every combination of the settings that some class reads from the configuration or the environment,
so that the catalogue needs no rule for them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import product
from typing import Any

from scripts.vllm_probe.releases import first, set_invariance
from scripts.vllm_probe.rows import Asker, config_of
from scripts.vllm_probe.tables import Cell, progressions, spread, table

__all__ = ["collect", "collect_rocm", "release_facts"]

LAST_HEAD = 1024
HEADS = (64, 80, 96, 128, 192, 256, 320, 512, 576)
BLOCKS = (1, 8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 160, 192, 256, 320, 384, 512, 768, 1024, 2048)
# What changes a facet besides the model: batch invariance, TRT-LLM kernels, FlashAttention version.
SETTINGS = ("invariant", "trtllm", "fa")
FA, INVARIANT, TRTLLM = ("none", "2", "3", "4"), ("0", "1"), ("auto", "no-cubins", "off")

_SUPPORTS = {
    "sink": "supports_sink",
    "mm_prefix": "supports_mm_prefix",
    "per_head_scales": "supports_per_head_quant_scales",
    "window": "supports_sliding_window",
    "rswa": "supports_rswa",
    "non_causal": "supports_non_causal",
    "non_causal_dcp": "supports_non_causal_dcp",
    "batch_inv": "supports_batch_invariance",
    "kv_connector": "supports_kv_connector",
    "pcp": "supports_pcp",
    "dcp": "supports_dcp",
    "adaptive_verification": "supports_device_cpu_query_lens_mismatch",
    "alibi_sqrt": "supports_alibi_sqrt",
}
_ATTENTION = ("decoder", "encoder", "encoder_only", "encoder_decoder")
_DTYPES = ("float16", "bfloat16", "float32")


def kv_dtypes() -> list[str]:
    """The KV cache dtypes this release knows, in its order."""
    from typing import get_args

    from vllm.config import cache

    return [str(name) for name in get_args(cache.CacheDType)]


@cache
def block_choices() -> list[int] | None:
    """The block sizes the command line admits, None where it admits any."""
    from typing import get_args

    from vllm.config import cache

    return sorted(get_args(getattr(cache, "BlockSize", None))) or None


class Settings:
    """Puts one combination of settings into force."""

    def __init__(self) -> None:
        import vllm.utils.flashinfer as flashinfer

        self.module = flashinfer
        self.artifactory = flashinfer.has_nvidia_artifactory
        self.now: tuple[str, str] = ("0", "auto")

    def row(self, fa: str, invariant: str, trtllm: str) -> dict[str, Any]:
        """Set the environment's part; return the row that carries the configuration's part."""
        if (invariant, trtllm) != self.now:
            self.now = (invariant, trtllm)
            self.module.has_nvidia_artifactory = (
                (lambda: False) if trtllm == "no-cubins" else self.artifactory
            )
            set_invariance(invariant == "1")
        row: dict[str, Any] = {"head_size": 128, "batch_inv": invariant == "1"}
        if fa != "none":
            row["flash_attn_version"] = int(fa)
        if trtllm == "off":
            row["trtllm"] = "off"
        return row


def _answer(function: Callable[[], Any]) -> Any:
    """What a gate says, or None where it can't be asked here."""
    try:
        return function()
    except Exception:
        return None


def _sizes(cls: Any) -> list[Any] | None:
    """Kernel block sizes: a number means that size, ``%16`` any multiple of it."""
    sizes = cls.get_supported_kernel_block_sizes()
    return [s if isinstance(s, int) else f"%{s.base}" for s in sizes]


def _simple(cls: Any, capability: Any) -> dict[str, Any]:
    """The facets that depend on the settings, but not on the model."""
    import torch

    out: dict[str, Any] = {
        "kv": _answer(lambda: [k for k in kv_dtypes() if cls.supports_kv_cache_dtype(k)]),
        "dtypes": _answer(lambda: [d for d in _DTYPES if cls.supports_dtype(getattr(torch, d))]),
        "attn_types": _answer(lambda: [a for a in _ATTENTION if cls.supports_attn_type(a)]),
        "sm": _answer(lambda: bool(cls.supports_compute_capability(capability))),
        "mla": _answer(lambda: bool(cls.is_mla())),
        "sparse": _answer(lambda: bool(cls.is_sparse())),
    }
    for word, method in _SUPPORTS.items():
        if hasattr(cls, method):
            out[word] = _yes(cls, method)
    return out


def _yes(cls: Any, method: str) -> bool | None:
    answer: bool | None = _answer(lambda: bool(getattr(cls, method)()))
    return answer


def _heads(cls: Any) -> Any:
    sizes = range(1, LAST_HEAD + 1)
    return _answer(lambda: progressions([h for h in sizes if cls.supports_head_size(h)], LAST_HEAD))


def _layouts(cls: Any) -> Any:
    return _answer(lambda: [str(x.name) for x in cls.supported_kv_cache_layouts() or ()])


def _multiples(sizes: list[Any]) -> list[int]:
    """The probed sizes that are a multiple of some kernel size (and that the engine admits)."""
    choices = block_choices() or BLOCKS
    bases = [int(str(size).lstrip("%")) for size in sizes]
    return [b for b in BLOCKS if b in choices and any(b % base == 0 for base in bases)]


def _blocks(cls: Any) -> dict[str, Any]:
    sizes = _answer(lambda: _sizes(cls))
    accepts = _answer(lambda: [b for b in BLOCKS if cls.supports_block_size(b)])
    out = {"blocks": sizes, "accepts": accepts}
    if sizes is not None and accepts == _multiples(sizes):
        out["accepts"] = "multiples"
    if hasattr(cls, "get_preferred_block_size"):
        out["preferred"] = _answer(lambda: int(cls.get_preferred_block_size(16)))
    return out


# What a kernel block size may depend on besides the settings.
_MODEL = ("kv", "head", "gqa", "mm_prefix", "rswa", "dcp")


def _model(cell: Cell) -> dict[str, Any]:
    kv, head, gqa, mm, rswa, dcp = cell[3:]
    return {
        "kv": kv,
        "head_size": int(head),
        "num_kv_heads": 8 if gqa == "1" else 32,
        "mm_prefix": mm == "1",
        "rswa": rswa == "1",
        "dcp": dcp == "1",
    }


def _priorities(asker: Asker) -> dict[str, Any]:
    """The order of trying, as cells of a table over what the release's own function is given."""
    kvs = kv_dtypes()
    base = {"head_size": 128, "kv": "auto"}

    def order(**row: Any) -> list[str]:
        return asker.priorities({**base, **row})

    heads = [
        n
        for n in range(1, 257)
        if any(
            order(mla=mla, kv=kv, num_heads=n) != order(mla=mla, kv=kv, num_heads=n + 1)
            for mla in (False, True)
            for kv in kvs
        )
    ]
    sizes = [
        d
        for d in range(1, LAST_HEAD + 1)
        if any(
            order(mla=mla, head_size=d, mm_prefix=mm) != order(mla=mla, head_size=97, mm_prefix=mm)
            for mla in (False, True)
            for mm in (False, True)
        )
    ]
    classes = [*heads, 257]
    cells: dict[Cell, list[str]] = {}
    grid = product("01", kvs, range(len(classes)), [97, *sizes], "01", "01")
    for mla, kv, place, size, mm, causal in grid:
        row = {
            "mla": mla == "1",
            "kv": kv,
            "num_heads": classes[place],
            "head_size": size,
            "mm_prefix": mm == "1",
            "non_causal": causal == "1",
        }
        cells[mla, kv, str(place), str(size), mm, causal] = order(**row)
    names = ("mla", "kv", "heads", "head", "mm_prefix", "non_causal")
    return {"heads": heads, "order": table(names, cells)}


def collect(asker: Asker, sm: str) -> dict[str, Any]:
    """Every facet of every class of the release, on this device, as values or tables."""
    settings, kvs = Settings(), kv_dtypes()
    capability = asker.release.capability
    cells: dict[str, dict[str, dict[Cell, Any]]] = {name: {} for name in asker.classes}
    for key in product(INVARIANT, TRTLLM, FA):
        row = settings.row(key[2], key[0], key[1])
        with asker.release.configured(config_of(row), row):
            for name, cls in asker.classes.items():
                for facet, value in {**_simple(cls, capability), **_blocks(cls)}.items():
                    cells[name].setdefault(facet, {})[key] = value
    backends: dict[str, dict[str, Any]] = {
        name: {facet: table(SETTINGS, grid) for facet, grid in facets.items()}
        for name, facets in cells.items()
    }
    for name, cls in asker.classes.items():
        backends[name].update(_block_tables(asker, settings, cls, kvs))
    row = settings.row("none", "0", "auto")
    with asker.release.configured(config_of(row), row):
        for name, cls in asker.classes.items():
            backends[name]["head_sizes"] = _heads(cls)
            if layouts := _layouts(cls):
                backends[name]["layouts"] = layouts
        default = asker.flash_attention({"head_size": 128})
        supported = _supported_fa()
    return {
        "sm": sm,
        "backends": backends,
        "priorities": _priorities(asker),
        "flash_attention": {"default": default, "supported": supported},
    }


def collect_rocm(asker: Asker) -> dict[str, Any]:
    """Every facet of the classes that ROCm users can mean, on this device."""
    row: dict[str, Any] = {"head_size": 128}
    with asker.release.configured(config_of(row), row):
        backends = {
            name: {
                **_simple(cls, asker.release.capability),
                **_blocks(cls),
                "head_sizes": _heads(cls),
            }
            for name, cls in asker.classes.items()
            if asker.is_asked(name)
        }
        cells: dict[Cell, list[str]] = {
            (mla, sparse, connector): asker.priorities(
                {
                    **row,
                    "mla": mla == "1",
                    "sparse": sparse == "1",
                    "kv_connector": connector == "1",
                }
            )
            for mla, sparse, connector in product("01", "01", "01")
        }
    return {"backends": backends, "order": table(("mla", "sparse", "kv_connector"), cells)}


def _block_tables(asker: Asker, settings: Settings, cls: Any, kvs: list[str]) -> dict[str, Any]:
    """The block facets of a class whose blocks depend on the model; nothing for the others."""

    def ask(cell: Cell) -> dict[str, Any]:
        row = {**settings.row(cell[1], cell[0], cell[2]), **_model(cell)}
        with asker.release.configured(config_of(row), row):
            return _blocks(cls)

    plain: Cell = ("0", "none", "auto", "auto", "128", "1", "0", "0", "0")

    def with_model(kv: str, head: int, gqa: str) -> Cell:
        return (*plain[:3], kv, str(head), gqa, *plain[6:])

    groups: dict[str, list[str]] = {}  # KV dtypes that change nothing among themselves
    told: set[str] = set()
    for kv in kvs:
        answers = [str(ask(with_model(kv, head, gqa))) for head in HEADS for gqa in "01"]
        groups.setdefault("".join(answers), []).append(kv)
        told.update(answers)
    if len(told) == 1:
        return {}
    # Invariance and kernels come first: changing them empties vLLM's caches, which takes a while.
    names = ("invariant", "fa", "trtllm", *_MODEL)
    alike = {group[0]: group for group in groups.values()}
    heads = tuple(map(str, HEADS))
    choices = [INVARIANT, FA, TRTLLM, tuple(alike), heads, "01", "01", "01", "01"]
    bases = [(*plain[:3], kv, head, *plain[5:]) for kv in alike for head in heads]
    keep: list[Sequence[str]] = []
    for place, values in enumerate(choices):
        seen: dict[Cell, set[str]] = {base[:place] + base[place + 1 :]: set() for base in bases}
        for value in values:
            for base in bases:
                flip = (*base[:place], value, *base[place + 1 :])
                seen[base[:place] + base[place + 1 :]].add(str(ask(flip)))
        changes = any(len(different) > 1 for different in seen.values())
        keep.append(values if changes else plain[place : place + 1])
    cells: dict[str, dict[Cell, Any]] = {}
    for cell in product(*keep):
        for facet, value in ask(cell).items():
            cells.setdefault(facet, {})[cell] = value
    return {facet: spread(table(names, grid), "kv", alike) for facet, grid in cells.items()}


def _supported_fa() -> list[int]:
    from vllm.vllm_flash_attn import flash_attn_interface as interface

    supported = interface.is_fa_version_supported
    return [n for n in (2, 3, 4) if _answer(partial(supported, n))]


def release_facts(asker: Asker) -> dict[str, Any]:
    """What holds for the release on every device."""
    return {
        "kv_cache_dtypes": kv_dtypes(),
        "block_size_choices": block_choices(),
        "selector_fields": list(asker.release.selector_fields),
        "checks": _checks(),
        "quantized": [kv for kv in kv_dtypes() if _quantized()(kv)],
        "members": {
            name: _class_names(asker.classes[name]) if name in asker.classes else None
            for name in asker.release.enum.__members__
        },
        "failures": asker.failures,
    }


def _quantized() -> Any:
    """The release's own test for a quantised KV cache dtype."""
    name = "is_quantized_kv_cache"
    return first(
        f"vllm.v1.attention.backends.fa_utils:{name}",
        f"vllm.v1.attention.backends.flash_attn:{name}",
        f"vllm.utils.torch_utils:{name}",
        f"vllm.v1.attention.backend:{name}",
        f"vllm.attention.backends.abstract:{name}",
    )


def _class_names(cls: Any) -> list[str]:
    """The class, and the one among its bases whose ``supports_combination`` it uses."""
    owner = next(base for base in cls.__mro__ if "supports_combination" in vars(base))
    return [cls.__name__, owner.__name__]


def _checks() -> list[list[str]]:
    """The generic checks in the order they are made: ``[facet, reason]``."""
    import torch

    base = first(
        "vllm.v1.attention.backend:AttentionBackend",
        "vllm.attention.backends.abstract:AttentionBackend",
    )

    methods = {
        "head_sizes": "supports_head_size",
        "dtypes": "supports_dtype",
        "kv": "supports_kv_cache_dtype",
        "accepts": "supports_block_size",
        "attn_types": "supports_attn_type",
        "sm": "supports_compute_capability",
        **_SUPPORTS,
    }
    known = inspect.signature(base.validate_configuration).parameters
    wanted = {
        "head_size": 128, "dtype": torch.bfloat16, "kv_cache_dtype": "auto", "block_size": 16,
        "device_capability": None, "attn_type": "decoder",
    }  # fmt: skip
    asked = {n: wanted.get(n, True) for n in known}

    def says(value: Any) -> Any:
        return classmethod(lambda cls, *args, **kwargs: value)

    def refuses(*facets: str) -> list[str]:
        body = {method: says(facet not in facets) for facet, method in methods.items()}
        body["is_mla"] = says("mla" not in facets)
        body["is_sparse"] = says("sparse" not in facets)
        body["supports_combination"] = says(None)
        probe: Any = type("Probe", (base,), body)
        return list(probe.validate_configuration(**asked))

    order = refuses("mla", "sparse", *methods)
    out = []
    for facet in ("mla", "sparse", *methods):
        reasons = refuses(facet)
        if reasons:
            out.append([facet, reasons[0].replace(" decoder ", " {attn_type} ")])
    return sorted(out, key=lambda pair: order.index(pair[1].replace("{attn_type}", "decoder")))
