"""vLLM's selection as its releases make it: all reasons, the automatic choice, the errors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from kvgate.attention.query import Query
from kvgate.attention.vllm.blocks import accepts
from kvgate.attention.vllm.flash import flash_attention_version
from kvgate.attention.vllm.release import Backend, Device
from kvgate.attention.vllm.tables import resolve
from kvgate.errors import InputError

__all__ = ["Selection", "judge", "reasons", "refusal", "select", "valid_elsewhere"]


@dataclass(frozen=True, slots=True)
class Selection:
    """What the selector makes of one query, nothing forced.

    ``order`` is every backend it tries, ``valid`` those that take the query, both in its order;
    ``invalid`` maps the others to their reasons, in the engine's order. ``auto`` is its choice.
    """

    order: tuple[str, ...]
    valid: tuple[str, ...]
    invalid: dict[str, tuple[str, ...]]

    @property
    def auto(self) -> str | None:
        """The backend it takes; None where none is valid."""
        return self.valid[0] if self.valid else None


_FLAGS = (
    "mm_prefix", "sink", "per_head_scales", "window", "rswa", "non_causal", "batch_inv",
    "kv_connector", "adaptive_verification",
)  # fmt: skip


def _wanted(device: Device, query: Query) -> int:
    """One bit per flag the query sets and the release looks at."""
    bits, wanted = device.bits, 0
    for word in _FLAGS:
        if getattr(query, word):
            wanted |= bits.get(word, 0)
    if query.pcp > 1:
        wanted |= bits.get("pcp", 0)
    if query.dcp > 1:
        wanted |= bits.get("dcp", 0)
        if query.mla and query.non_causal:
            wanted |= bits.get("non_causal_dcp", 0)
    return wanted


def _refused(device: Device, backend: Backend, query: Query, wanted: int) -> int:
    """One bit per generic reason, in the order of the release's checks."""
    bits = device.bits
    refused = backend.refuses & wanted
    if query.adaptive_verification and backend.cls == "FlashInferBackend":
        refused |= _flashinfer_verification(device, query)
    if not backend.takes_head(query.head_size):
        refused |= bits["head_sizes"]
    if query.dtype not in backend.dtypes:
        refused |= bits["dtypes"]
    if query.kv_cache_dtype not in backend.kv:
        refused |= bits["kv"]
    if query.block_size is not None and not accepts(device, backend, query, query.block_size):
        refused |= bits["accepts"]
    if query.mla is not backend.mla:
        refused |= bits["mla"]
    if query.sparse is not backend.sparse:
        refused |= bits["sparse"]
    if not backend.sm:
        refused |= bits["sm"]
    if query.attn_type not in backend.attn_types:
        refused |= bits["attn_types"]
    return refused


def _flashinfer_verification(device: Device, query: Query) -> int:
    """FlashInfer's decode kernels read lengths from the device unless ranks share the cache (0.29).

    Source: ``v1/attention/backends/flashinfer.py``, supports_device_cpu_query_lens_mismatch.
    """
    shares = query.dcp > 1 or query.num_heads % max(1, query.num_kv_heads) != 0
    return device.bits.get("adaptive_verification", 0) if shares else 0


def _words(device: Device, query: Query, refused: int) -> tuple[str, ...]:
    key = (refused, query.mla, query.sparse, query.attn_type)
    found = device.told.get(key)
    if found is None:
        cells = [cell for cell in device.bits.items() if refused & cell[1]]
        found = device.told[key] = tuple(_word(device, query, *cell) for cell in cells)
    return found


def _word(device: Device, query: Query, facet: str, bit: int) -> str:
    reason = device.reasons[bit.bit_length() - 1]
    if (facet == "mla" and not query.mla) or (facet == "sparse" and not query.sparse):
        return f"non-{reason}"
    return reason.replace("{attn_type}", query.attn_type)


def reasons(device: Device, name: str, query: Query) -> tuple[str, ...]:
    """Why this backend refuses the query, in the engine's words and order; empty when it doesn't.

    Raises InputError where the release has no such backend, or its answer is unknown.
    """
    backend = device.backend(name, query)
    return _reasons(device, backend, query, _wanted(device, query))


def _reasons(device: Device, backend: Backend, query: Query, wanted: int) -> tuple[str, ...]:
    if backend.unknown or backend.rule is None:
        what = ", ".join(backend.unknown) or "its supports_combination"
        raise InputError(
            f"what {backend.name} accepts in vllm {device.name} is unknown",
            hint=f"{what} could not be asked under a made-up device",
        )
    refused = _refused(device, backend, query, wanted)
    out = _words(device, query, refused) if refused else ()
    combination = backend.rule(device, query)
    return out if combination is None else (*out, combination)


def _order(device: Device, query: Query) -> list[str]:
    heads = (
        query.num_heads if query.mla else None
    )  # dense layers don't say how many heads they have
    place = 0
    if heads is not None:
        place = sum(1 for step in device.head_steps if heads > step)
    elif device.head_steps:
        place = len(device.head_steps)
    keys = {
        "sm": device.capability,
        "mla": "1" if query.mla else "0",
        "kv": query.kv_cache_dtype,
        "heads": str(place),
        "head": str(query.head_size),
        "mm_prefix": "1" if query.mm_prefix else "0",
        "non_causal": "1" if query.non_causal else "0",
        "sparse": "1" if query.sparse else "0",
        "kv_connector": "1" if query.kv_connector else "0",
        "aiter": query.aiter,
    }
    order: list[str] = resolve(device.order, keys)
    return order


@lru_cache(maxsize=65536)
def judge(device: Device, query: Query) -> Selection:
    """Every backend the selector would try, and what each says."""
    backends, wanted = device.backends(query), _wanted(device, query)
    valid: list[str] = []
    invalid: dict[str, tuple[str, ...]] = {}
    order = _order(device, query)
    for name in order:
        backend = backends.get(name)
        if backend is None:
            invalid[name] = (_import_error(device, name),)
            continue
        why = _reasons(device, backend, query, wanted)
        if why:
            invalid[name] = why
        else:
            valid.append(name)
    return Selection(tuple(order), tuple(valid), invalid)


def _import_error(device: Device, name: str) -> str:
    """What the release gives as the reason when a backend's module cannot be imported."""
    full: str = device.entry["failures"].get(name, "ImportError")
    return full if device.version >= (0, 29) else "ImportError"


def valid_elsewhere(device: Device, query: Query, order: Iterable[str]) -> list[str]:
    """Backends outside the order of trying that would take the query if they were forced."""
    backends, wanted, tried = device.backends(query), _wanted(device, query), set(order)
    out = []
    for name in device.asked_members:
        if name in tried:
            continue
        backend = backends[name]
        if backend.mla is not query.mla or backend.sparse is not query.sparse or not backend.sm:
            continue
        if backend.unknown or backend.rule is None or _refused(device, backend, query, wanted):
            continue
        if backend.rule(device, query) is None:
            out.append(name)
    return out


def layer_flash_attention(device: Device, query: Query) -> int | None:
    """The FlashAttention version FLASH_ATTN takes for the query's head size."""
    return flash_attention_version(
        device,
        query,
        head_size=query.head_size,
        sinks=query.sink,
        block_size=query.block_size,
        takes_hd256=True,
    )


def refusal(name: str, why: Iterable[str]) -> str:
    """The error of a forced backend, as the engine raises it."""
    return (
        f"ValueError: Selected backend AttentionBackendEnum.{name} is not valid for this "
        f"configuration. Reason: {list(why)}"
    )


def none_valid(device: Device, query: Query, selection: Selection) -> str:
    """The error when no backend takes the query, as the engine raises it."""
    why = ", ".join(f"{name}: [{', '.join(r)}]" for name, r in selection.invalid.items())
    return (
        f"ValueError: No valid attention backend found for {device.platform} with "
        f"{describe(device, query)}. Reasons: {{{why}}}."
    )


# The parts of the engine's own description of a query, in its order, and what they show.
_SHOWN = (
    ("head_size", lambda q: q.head_size),
    ("dtype", lambda q: f"torch.{q.dtype}"),
    ("kv_cache_dtype", lambda q: q.kv_cache_dtype),
    ("block_size", lambda q: q.block_size),
    ("use_mla", lambda q: q.mla),
    ("has_sink", lambda q: q.sink),
    ("use_sparse", lambda q: q.sparse),
    ("use_mm_prefix", lambda q: q.mm_prefix),
    ("use_per_head_quant_scales", lambda q: q.per_head_scales),
    ("attn_type", lambda q: q.attn_type),
    ("has_sliding_window", lambda q: q.window),
    ("use_non_causal", lambda q: q.non_causal),
    ("use_batch_invariant", lambda q: q.batch_inv),
    ("use_kv_connector", lambda q: q.kv_connector),
    ("use_adaptive_verification", lambda q: q.adaptive_verification),
    ("use_pcp", lambda q: q.pcp > 1),
    ("use_dcp", lambda q: q.dcp > 1),
    ("use_rswa", lambda q: q.rswa),
)


def describe(device: Device, query: Query) -> str:
    """The engine's own description of a query: ``AttentionSelectorConfig(head_size=128, …)``."""
    shown = (f"{name}={value(query)}" for name, value in _SHOWN if name in device.fields)
    return f"AttentionSelectorConfig({', '.join(shown)})"


def warning(device: Device, query: Query, selection: Selection) -> str | None:
    """The engine's warning when the user's block size alone kept a better backend out (0.18)."""
    if query.block_size is None or selection.auto is None or device.version < (0, 18):
        return None
    before = selection.order[: selection.order.index(selection.auto)]
    out = [n for n in before if selection.invalid[n] == ("block_size not supported",)]
    if not out:
        return None
    return (
        f"--block-size {query.block_size} precluded higher-priority backend(s) {', '.join(out)}. "
        f"Using {selection.auto} instead, which may result in reduced performance. "
        "Consider removing --block-size to auto-select the optimal block size."
    )


def select(
    device: Device, query: Query, forced: str | None = None
) -> tuple[str | None, str | None]:
    """The backend the engine takes, or its error: exactly one of the two.

    Up to 0.17 the engine drops the block size before it asks.
    """
    if query.block_size is not None and device.version < (0, 18):
        from dataclasses import replace

        query = replace(query, block_size=None)
    if forced is None:
        selection = judge(device, query)
        if selection.auto is None:
            return None, none_valid(device, query, selection)
        return selection.auto, None
    why = reasons(device, forced, query)
    return (None, refusal(forced, why)) if why else (forced, None)
