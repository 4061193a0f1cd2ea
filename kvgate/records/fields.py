"""The values that fields of a record may hold: texts, names, versions, dates, addresses."""

from __future__ import annotations

import datetime
import re
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from kvgate.errors import InputError, nearest
from kvgate.records.versions import parse_version

__all__ = [
    "Component",
    "Date",
    "EngineSpec",
    "GpuKind",
    "GpuName",
    "Id",
    "Line",
    "LinkName",
    "Name",
    "Relation",
    "RelativePath",
    "Severity",
    "Status",
    "Text",
    "Title",
    "Url",
    "VersionText",
    "distinct",
    "fault",
]

Engine = Literal["vllm", "sglang", "tensorrt-llm", "llama.cpp"]
# What a gotcha can sit in: an engine, or a library or layer that engines stand on.
Component = Literal[
    "vllm", "sglang", "tensorrt-llm", "llama.cpp",
    "aiter", "deepgemm", "dynamo", "flash-attention", "flashinfer", "flashmla", "lmcache",
    "mooncake", "transformers",
]  # fmt: skip
Severity = Literal["blocks-start", "fails-later", "silently-wrong", "slower", "surprise"]
Relation = Literal["prerequisite", "caused-by", "see-also", "superseded-by"]
Status = Literal["draft", "active", "superseded", "withdrawn"]

_GFX = re.compile(r"gfx(9[0-9a-f]{2}|1[0-9a-f]{3})\Z")


def fault(code: str, message: str, hint: str = "") -> PydanticCustomError:
    """What a validator raises: a finding with one of our codes, message and hint."""
    # Braces in a template are pydantic's; the words travel in the context instead.
    return PydanticCustomError(code, "{says}", {"says": message, "hint": hint})


# Ends of lines, controls, marks that turn the direction of reading, and what is no character: half
# of one, or one that XML has none of.
_UNPRINTED = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def _one_line(value: str) -> str:
    value = value.removesuffix("\n")  # a folded text (>) ends with one
    bad = _UNPRINTED.search(value)
    if bad:
        what = "more than one line" if bad[0] in "\n\r\x85\u2028\u2029" else "a control character"
        raise fault("KV125", f"the text has {what}", "write one line; fold a long one with >")
    if value != value.strip():
        raise fault("KV125", "the text begins or ends with a space", "remove it")
    return value


def _date(value: Any) -> Any:
    if isinstance(value, str) and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        try:
            return datetime.date.fromisoformat(value)
        except ValueError:
            pass
    elif type(value) is datetime.date:
        return value
    raise fault("KV125", f"{value!r} is not a date", "write it as 2026-11-30")


def _version(value: str) -> str:
    try:
        parse_version(value)
    except InputError as error:
        raise fault("KV125", error.message, error.hint) from None
    return value


def _engine_spec(value: str) -> str:
    engine, equals, version = value.partition("==")
    known = get_args(Engine)
    if not equals:
        raise fault("KV125", f"{value!r} names no version", f"write {engine or 'vllm'}==0.33.0")
    if engine not in known:
        raise fault("KV129", f"unknown engine {engine!r}", nearest(engine, known))
    _version(version)
    return value


def _gpu_kind(value: str) -> str:
    from kvgate.catalog.gpus import gpus  # read for the few records that name one

    known = dict.fromkeys(g.arch for g in gpus())
    if value in known or _GFX.match(value):
        return value
    of = {name.casefold(): g.arch for g in gpus() for name in (g.name, *g.aliases)}.get(
        value.casefold()
    )
    hint = f"{value} is {of}" if of else nearest(value, known)
    raise fault("KV129", f"{value!r} is not a GPU generation", hint)


def _gpu(value: str) -> str:
    from kvgate.catalog.gpus import gpu

    try:
        gpu(value)
    except InputError as error:
        raise fault("KV129", error.message, error.hint) from None
    return value


def _unique(values: tuple[Any, ...]) -> tuple[Any, ...]:
    for index, value in enumerate(values):
        if value in values[:index]:
            raise fault("KV127", f"{value!r} is listed twice", "list it once")
    return values


def distinct(least: int = 0, most: int = 50) -> tuple[Any, ...]:
    """What makes a tuple one of values that differ, at least and at most so many."""
    bounds = Field(
        min_length=least or None, max_length=most, json_schema_extra={"uniqueItems": True}
    )
    return (bounds, AfterValidator(_unique))


Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=100)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([-_.][a-z0-9]+)*$", max_length=60)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=600), AfterValidator(_one_line)]
Title = Annotated[str, StringConstraints(min_length=12, max_length=160), AfterValidator(_one_line)]
Line = Annotated[str, StringConstraints(min_length=8, max_length=4000), AfterValidator(_one_line)]
LinkName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=120, pattern=r"^[^\[\]|#]+$"),
    AfterValidator(_one_line),
]
Url = Annotated[
    str, StringConstraints(pattern=r"""^https://[^\s/<>"'`]+\.[^\s<>"'`]+$""", max_length=400)
]
RelativePath = Annotated[
    str,
    StringConstraints(pattern=r"""^[^/\\:*?"<>|\s]+(/[^/\\:*?"<>|\s]+)*$""", max_length=200),
]
VersionText = Annotated[str, AfterValidator(_version)]
Date = Annotated[datetime.date, BeforeValidator(_date)]
GpuName = Annotated[str, AfterValidator(_gpu)]
GpuKind = Annotated[str, AfterValidator(_gpu_kind)]
EngineSpec = Annotated[str, AfterValidator(_engine_spec)]
