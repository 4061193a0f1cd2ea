"""The text of a flag's value, read as that flag's engine reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from kvgate.catalog.flags import Flag
from kvgate.errors import InputError, nearest
from kvgate.units import parse_count

__all__ = ["read_choice", "read_open", "read_value"]

_INTEGER = re.compile(r"[+-]?\d+(?:_\d+)*\Z")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\Z")
_COUNT = re.compile(r"\d+(?:\.\d+)?[kKmMgGtT]\Z")
_COUNTED = re.compile(r"(?:_bytes|_tokens|_len|_size|_gb|_length|_blocks|_seqs|_limit)\Z")
_NAMED = re.compile(r"(?:revision|name|path|dir|url|plugin|prefix|host|key|token|alias|model)\Z")
_JSON_NAMED = re.compile(r"(?:\Ajson_|_config\Z|_override_args\Z|_kwargs\Z)")
_TRUE = {"true", "on", "1", "yes", "enabled"}
_FALSE = {"false", "off", "0", "no", "disabled"}

# SGLang's suffixes are SI and IEC (sglang 0.5.23 srt/utils/common.py, human_readable_int); vLLM's
# are lower case for powers of 1000 and upper case for powers of 1024 (units.parse_count).
_SGLANG = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SGLANG |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_SGLANG_COUNT = re.compile(r"(\d+)(\.\d+)?(Ki|Mi|Gi|Ti|k|M|G|T)\Z")


def read_value(flag: Flag, texts: Sequence[str], *, engine: str) -> Any:
    """What the texts behind a flag mean: a scalar, plain JSON data, or a tuple for several values.

    Raises InputError (without a place) for text that the flag's type does not admit.
    """
    if flag.nargs in ("+", "*") or isinstance(flag.nargs, int):
        return tuple(_scalar(flag, text, engine) for text in texts)
    if flag.nargs == "?" and not texts:
        return True
    value = _scalar(flag, texts[0], engine)
    if flag.nargs == "?" and flag.choices and isinstance(value, str):
        folded = value.casefold()
        return True if folded in _TRUE else False if folded in _FALSE else value
    return value


def read_choice(flag: Flag, value: Any) -> str:
    """Why a value is not one of the flag's choices, with the nearest; "" when it is one."""
    if not flag.choices or isinstance(value, bool):
        return ""
    known = [str(choice) for choice in flag.choices]
    for one in value if isinstance(value, tuple) else (value,):
        if one not in flag.choices and str(one) not in known:
            return nearest(str(one), known)
    return ""


def read_open(text: str, dest: str = "") -> Any:
    """A value whose type the parser doesn't tell, as what it looks like.

    JSON where it starts like JSON; a whole number, a number, or 128k where it is one and ``dest``
    names no path, name or the like; None for "None" and ""; text otherwise. Raises InputError for
    broken JSON.
    """
    if text in ("", "None"):
        return None
    if _NAMED.search(dest) or text.startswith("{{"):
        return text
    if text[:1] in ("{", "["):
        return _json(text)
    if _INTEGER.match(text):
        return int(text) if len(text) < 40 else text
    if _COUNT.match(text) and _COUNTED.search(dest):
        return parse_count(text)
    if _NUMBER.match(text):
        return float(text)
    return text


def _scalar(flag: Flag, text: str, engine: str) -> Any:
    stripped = text.strip()
    if flag.kind == "text":
        json_like = stripped[:1] == "{" and flag.nargs is None
        return _text(stripped, flag.dest) if json_like else text
    if flag.kind == "length" and stripped.casefold() == "auto":
        return -1
    if flag.kind in ("count", "length"):
        return _count(stripped, engine)
    if flag.kind == "integer":
        if not _INTEGER.match(stripped) or len(stripped) > 40:
            raise InputError(f"{text!r} is not a whole number")
        return int(stripped)
    if flag.kind == "number":
        if not _NUMBER.match(stripped):
            raise InputError(f"{text!r} is not a number")
        return float(stripped)
    if flag.kind == "json":
        return _json(stripped)
    return read_open(stripped, flag.dest) if flag.nargs is None else text


def _text(text: str, dest: str) -> Any:
    """A text that is JSON is plain data; one that should be JSON by its name must be."""
    try:
        return _json(text)
    except InputError:
        if _JSON_NAMED.search(dest):
            raise
        return text


def _count(text: str, engine: str) -> int:
    if _INTEGER.match(text) and len(text) < 40:
        return int(text)
    if engine == "sglang":
        m = _SGLANG_COUNT.match(text)
        if not m or len(text) > 40:
            raise InputError(f"{text!r} is not a whole number", hint="write 131072, 128k or 128Ki")
        unit = _SGLANG[m.group(3)]
        if m.group(2) and m.group(3).endswith("i"):
            raise InputError(f"{text!r}: no decimals before {m.group(3)}")
        return (
            int(float(m.group(1) + (m.group(2) or "")) * unit)
            if m.group(2)
            else (int(m.group(1)) * unit)
        )
    if not _COUNT.match(text) or len(text) > 40:
        raise InputError(f"{text!r} is not a whole number", hint="write 131072, 128k or 128K")
    if "." in text and text[-1].isupper():
        raise InputError(f"{text!r}: no decimals before {text[-1]}", hint=f"write {text.lower()}")
    return int(float(text[:-1]) * parse_count("1" + text[-1]))


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise InputError("this JSON is nested too deeply") from None
    except ValueError as error:
        where = getattr(error, "colno", 0)
        hint = _json_hint(text)
        raise InputError(
            f"this is no JSON{f' (at its character {where})' if where else ''}: {_short(text)}",
            hint=hint,
        ) from None


def _json_hint(text: str) -> str:
    if re.match(r"\{[A-Za-z_]", text):
        return "the shell took the inner quotes away: put the whole JSON in single quotes"
    if text.startswith("{'"):
        return "JSON takes double quotes inside, single quotes around"
    if re.match(r"[\w.]+=", text):
        return 'write {"name": value}'
    return "put it in single quotes, with double quotes inside"


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "…")
