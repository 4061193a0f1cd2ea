"""llama.cpp: whether flash attention runs, and which KV cache types it starts with."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from kvgate.errors import InputError, nearest

__all__ = ["Verdict", "cache_types", "check"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What llama.cpp makes of a cache: ``flash_attention`` on or off, or the error it stops with.

    ``kernel`` is False where the CUDA backend has no kernel for the heads or the types, so that the
    attention of a layer goes to the CPU (or, with ``auto``, flash attention is switched off), and
    ``why`` says which rule that was. ``source`` is where the rules were read.
    """

    flash_attention: bool
    kernel: bool
    error: str | None
    why: tuple[str, ...]
    source: str


def cache_types() -> tuple[str, ...]:
    """The types that ``--cache-type-k`` and ``--cache-type-v`` take."""
    return tuple(_file()["blocks"])


def check(
    *,
    type_k: str = "f16",
    type_v: str = "f16",
    flash_attention: Literal["on", "off", "auto"] = "auto",
    head_k: int,
    head_v: int | None = None,
    query_heads: int,
    kv_heads: int,
    mla: bool = False,
    split_mode: str = "layer",
    all_quants: bool = False,
    promotes_auto: bool = True,
) -> Verdict:
    """Whether llama.cpp starts on CUDA with these cache types, and with flash attention or without.

    ``head_k`` and ``head_v`` are elements of one key and one value; for MLA those of the latent
    (576 and 512). ``all_quants`` is the build option GGML_CUDA_FA_ALL_QUANTS. ``promotes_auto`` is
    whether the build turns ``auto`` into ``on`` for a quantised V cache (since pull request 25871);
    older ones let ``auto`` end at off and stop then. Raises InputError for an unknown cache type.

    >>> heads = dict(head_k=128, query_heads=32, kv_heads=8)
    >>> check(type_v="q8_0", flash_attention="off", **heads).error
    'quantized V cache requires flash_attn to be enabled'
    >>> check(type_k="q8_0", type_v="q8_0", **heads).flash_attention
    True
    """
    data = _file()
    for asked in (type_k, type_v):
        if asked not in data["blocks"]:
            raise InputError(f"unknown cache type {asked!r}", hint=nearest(asked, data["blocks"]))
    value = head_k if head_v is None else head_v
    why = (
        *_no_head(data, head_k, value, query_heads // kv_heads),
        *_no_types(data, type_k, type_v, all_quants),
    )
    error = _refusal(data, type_k, type_v, flash_attention, mla, split_mode)
    on = flash_attention == "on" or (
        flash_attention == "auto" and (not why or _must(data, type_v, split_mode, promotes_auto))
    )
    if error is None and on:
        error = _undivided(data, type_k, head_k, "k") or _undivided(data, type_v, value, "v")
    if error is None and not on and data["blocks"][type_v] > 1:
        error = str(data["texts"]["v_needs_fa_auto"])
    source = f"{data['source']['kernels']}; {data['source']['context']}"
    return Verdict(error is None and on, not why, error, tuple(why), source)


def _must(data: dict[str, Any], type_v: str, split_mode: str, promotes_auto: bool) -> bool:
    quantised = data["blocks"][type_v] > 1
    return split_mode == "tensor" or (quantised and promotes_auto)


def _refusal(
    data: dict[str, Any], type_k: str, type_v: str, flash: str, mla: bool, split_mode: str
) -> str | None:
    texts = data["texts"]
    if split_mode == "tensor" and flash == "off":
        return str(texts["split_needs_fa"])
    if mla and type_k != type_v:
        return str(texts["mla_types"]).format(k=type_k, v=type_v)
    if data["blocks"][type_v] > 1 and flash == "off":
        return str(texts["v_needs_fa"])
    return None


def _undivided(data: dict[str, Any], kind: str, width: int, side: str) -> str | None:
    block = data["blocks"][kind]
    if width % block == 0:
        return None
    return str(data["texts"][f"{side}_block"]).format(type=kind, block=block, width=width)


def _no_head(data: dict[str, Any], head_k: int, head_v: int, group: int) -> tuple[str, ...]:
    for row in data["cuda"]["head"]:
        if head_k in row["k"]:
            wanted = head_k if row["v"] == "k" else row["v"]
            if head_v != wanted:
                return (f"no CUDA kernel for K width {head_k} with V width {head_v}",)
            need = row["group"]
            if need and (group < 2 or group % need):
                return (
                    f"K width {head_k} needs a group of query heads"
                    f"{f' that {need} divides' if need > 1 else ''}, not {group}",
                )
            return ()
    return (f"no CUDA kernel for K width {head_k}",)


def _no_types(data: dict[str, Any], type_k: str, type_v: str, all_quants: bool) -> tuple[str, ...]:
    cuda = data["cuda"]
    option = cuda["all_quants_option"]
    if not all_quants and type_k != type_v and [type_k, type_v] not in cuda["mixed"]:
        return (f"K {type_k} with V {type_v} needs a build with {option}",)
    for kind in dict.fromkeys((type_k, type_v)):
        if kind in cuda["types_all_quants"] and not all_quants:
            return (f"{kind} needs a build with {option}",)
        if kind not in cuda["types"] and kind not in cuda["types_all_quants"]:
            return (f"no CUDA kernel reads {kind}",)
    return ()


@cache
def _file() -> dict[str, Any]:
    text = (files("kvgate.catalog") / "llamacpp.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
