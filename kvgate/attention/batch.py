"""Rows in, rows out: the batch form of ``kvgate backends``, for programs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from kvgate.attention.query import Query, mla_widths
from kvgate.catalog.engines import release
from kvgate.catalog.gpus import gpu
from kvgate.errors import InputError, nearest
from kvgate.units import whole_number

__all__ = ["FIELDS", "answer", "query_of"]

_BOOLEANS = (
    "window", "sink", "mm_prefix", "non_causal", "batch_inv", "per_head_scales", "mla", "sparse",
    "kv_connector", "adaptive_verification", "rswa", "softcap", "diffusion",
)  # fmt: skip
_NUMBERS = (
    "head_size", "block_size", "num_heads", "num_kv_heads", "head_size_v", "kv_lora_rank",
    "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim", "index_topk", "flash_attn_version",
)  # fmt: skip
_TEXTS = ("v", "engine", "sm", "gpu", "kv", "dtype", "attn_type", "forced", "trtllm", "aiter")
# These count something that is there: zero is none of their values.
_COUNTS = frozenset({"head_size", "block_size", "num_heads", "num_kv_heads", "head_size_v"})
_ANSWERS = (
    "valid", "auto", "invalid", "forced_ok_extra", "fa", "selected", "error", "error_text",
    "impl_init", "then_fails", "warning", "note",
)  # fmt: skip
FIELDS = (*_TEXTS, *_NUMBERS, *_BOOLEANS, "dcp", "pcp")

_DTYPES = ("bfloat16", "float16", "float32")
_ATTENTION = ("decoder", "encoder", "encoder_only", "encoder_decoder")
_WORDS = (
    ("dtype", _DTYPES),
    ("attn_type", _ATTENTION),
    ("trtllm", ("auto", "no-cubins", "off")),
    ("aiter", ("none", "found", "on")),
)


def answer(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with its answer: ``valid``, ``auto``, ``invalid``, ``forced_ok_extra`` and ``fa``.

    A row with ``forced`` (a backend, or ``AUTO``) gets ``selected`` (the class) and ``impl_init``
    (what its constructor says) or ``error`` instead. Fields that were left out have the engine's
    defaults: bfloat16, decoder, no flag set, no block size, 32 query heads, one KV head per four.
    MLA rows stand for the model family of their head size. A row whose ``engine`` is SGLang has
    that engine's fields instead: see `kvgate.attention.sglang.rows.answer_named`.

    Raises InputError for fields, values, backends, devices or versions that are unknown, naming all
    of them.
    """
    if str(row.get("engine") or "").strip().casefold().startswith("sglang"):
        from kvgate.attention.sglang.rows import answer_named

        return answer_named(row)
    unknown = [name for name in row if name not in FIELDS and name not in _ANSWERS]
    if unknown:
        hints = "; ".join(f"{name}: {nearest(name, FIELDS)}" for name in unknown)
        raise InputError(f"unknown field {', '.join(map(repr, unknown))}", hint=hints)
    texts = [name for name in _TEXTS if not isinstance(row.get(name) or "", str)]
    if texts:
        said = "; ".join(f"{name} is text, not {row[name]!r}" for name in texts)
        raise InputError(said, hint='write it in quotes: "v": "0.33.0", "sm": "9.0"')
    from kvgate.attention.vllm.release import device

    engine = row.get("engine") or (f"vllm=={row['v']}" if row.get("v") else "vllm")
    found = release(str(engine))
    if found.engine != "vllm":
        raise InputError(f"rows are answered for vllm, not for {found.engine}")
    query = query_of(row)
    place = device(found, query.sm, query.arch)
    if query.kv_cache_dtype not in place.kv_cache_dtypes:
        raise InputError(
            f"vllm {place.name} has no KV cache dtype {query.kv_cache_dtype!r}",
            hint=nearest(query.kv_cache_dtype, place.kv_cache_dtypes),
        )
    out = {name: value for name, value in row.items() if name not in _ANSWERS}
    out.update(
        _forced(place, query, str(row["forced"])) if row.get("forced") else _all(place, query)
    )
    if found.note:
        out["note"] = found.note
    return out


def _all(place: Any, query: Query) -> dict[str, Any]:
    from kvgate.attention.vllm.selector import (
        judge,
        layer_flash_attention,
        valid_elsewhere,
        warning,
    )

    selection = judge(place, query)
    out: dict[str, Any] = {
        "valid": list(selection.valid),
        "auto": selection.auto,
        "invalid": {name: list(why) for name, why in selection.invalid.items()},
        "forced_ok_extra": valid_elsewhere(place, query, selection.order),
    }
    if not query.mla:
        out["fa"] = layer_flash_attention(place, query)
    if told := warning(place, query, selection):
        out["warning"] = told
    return out


def _forced(place: Any, query: Query, forced: str) -> dict[str, Any]:
    from kvgate.attention.vllm.constructor import refuses
    from kvgate.attention.vllm.selector import select

    name = None if forced.upper() == "AUTO" else forced.upper()
    chosen, error = select(place, query, name)
    if chosen is None:
        assert error is not None
        # The engine's description of the configuration is long: the short form says which it is.
        head, mark, _ = error.partition("AttentionSelectorConfig(")
        short = head + "AttentionSelectorConfig..." if mark else error
        return {"error": short, **({"error_text": error} if mark else {})}
    told = refuses(place, query, chosen)
    out = {"selected": place.backend(chosen, query).cls}
    if told and (query.mla or told.stage != "layer"):
        out["then_fails"] = told.text
    if not query.mla:
        out["impl_init"] = told.text if told and told.stage == "layer" else "ok"
    return out


@lru_cache(maxsize=4096)
def _sm(name: str, device: str) -> tuple[tuple[int, int], str, str]:
    from kvgate.attention.vllm.rocm import CAPABILITY

    if not name and not device:
        raise InputError("the row says no device", hint='write "sm": "9.0" or "gpu": "H100"')
    if device:
        known = gpu(device)
        if known.sm is None and known.arch not in CAPABILITY:
            raise InputError(f"what vllm does on {known.name} ({known.arch}) is unknown")
        if name and name != known.capability:
            raise InputError(f"{known.name} has compute capability {known.capability}, not {name}")
        arch = "" if known.sm else known.arch
        return known.sm or CAPABILITY[arch], arch, f"{known.vendor.upper()} {known.name}"
    if name in CAPABILITY:
        return CAPABILITY[name], name, ""
    major, minor = map(whole_number, name.partition(".")[::2])
    if major is None or minor is None:
        raise InputError(f"{name!r} is no compute capability", hint='write "9.0"')
    return (major, minor), "", ""


def query_of(row: Mapping[str, Any]) -> Query:
    """The query a row stands for. Raises InputError for values that are not of the field's kind."""
    wrong = [
        f"{name} is true or false, not {row[name]!r}"
        for name in _BOOLEANS
        if not isinstance(row.get(name, False), bool)
    ]
    for name in _NUMBERS:
        value = row.get(name)
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, int) or value < 0
        ):
            wrong.append(f"{name} is a whole number, not {value!r}")
        elif value == 0 and name in _COUNTS:
            wrong.append(f"{name} is at least 1")
    if row.get("flash_attn_version") not in (None, 2, 3, 4):
        wrong.append(f"flash_attn_version is 2, 3 or 4, not {row['flash_attn_version']!r}")
    if row.get("head_size") is None:
        wrong.append("head_size is missing")
    for name, known in _WORDS:
        if row.get(name) is not None and row[name] not in known:
            wrong.append(f"unknown {name} {row[name]!r}, {nearest(str(row[name]), known)}")
    if wrong:
        raise InputError("; ".join(wrong))
    sm, arch, device = _sm(str(row.get("sm") or ""), str(row.get("gpu") or ""))
    size, mla = row["head_size"], row.get("mla", False)
    rank, rope, nope, v = mla_widths(size) if mla else (0, 0, 0, 0)
    heads = row.get("num_heads") or 32
    sparse = row.get("sparse", False)
    return Query(
        sm=sm,
        head_size=size,
        kv_cache_dtype=row.get("kv") or "auto",
        dtype=row.get("dtype") or "bfloat16",
        block_size=row.get("block_size"),
        mla=mla,
        sink=row.get("sink", False),
        sparse=sparse,
        mm_prefix=row.get("mm_prefix", False),
        per_head_scales=row.get("per_head_scales", False),
        attn_type=row.get("attn_type") or "decoder",
        window=row.get("window", False),
        non_causal=row.get("non_causal", False),
        batch_inv=row.get("batch_inv", False),
        kv_connector=row.get("kv_connector", False),
        adaptive_verification=row.get("adaptive_verification", False),
        rswa=row.get("rswa", False),
        dcp=_group(row, "dcp"),
        pcp=_group(row, "pcp"),
        num_heads=heads,
        num_kv_heads=row.get("num_kv_heads") or (1 if mla else max(1, heads // 4)),
        head_size_v=row.get("head_size_v"),
        kv_lora_rank=row.get("kv_lora_rank", rank),
        qk_rope_head_dim=row.get("qk_rope_head_dim", rope),
        qk_nope_head_dim=row.get("qk_nope_head_dim", nope),
        v_head_dim=row.get("v_head_dim", v),
        index_topk=row.get("index_topk", 2048 if mla and sparse else None),
        softcap=row.get("softcap", False),
        diffusion=row.get("diffusion", False),
        flash_attn_version=row.get("flash_attn_version"),
        trtllm=row.get("trtllm") or "auto",
        device=device,
        arch=arch,
        aiter=row.get("aiter") or "found",
    )


def _group(row: Mapping[str, Any], name: str) -> int:
    """``true`` is a group of two; a number is its size."""
    value = row.get(name) or False
    if value is False and row.get(name) == 0 and not isinstance(row.get(name), bool):
        raise InputError(f"{name} is true, false or a size, not 0")
    if isinstance(value, bool):
        return 2 if value else 1
    if isinstance(value, int) and value >= 1:
        return value
    raise InputError(f"{name} is true, false or a size, not {value!r}")
