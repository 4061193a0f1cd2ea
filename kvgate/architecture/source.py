"""The text of a config, an index or a quantisation file as a mapping; errors say where."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kvgate.errors import InputError, Place

__all__ = ["index_bytes", "read_json"]


def read_json(text: str, *, path: str) -> dict[str, Any]:
    """The JSON object in ``text``; ``path`` is where it came from, for messages.

    Raises InputError, with the place, where the text ends early, is no JSON, or is no object.
    """
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        raise InputError(
            f"is not JSON: {'it ends in the middle' if cut else error.msg}",
            hint="download it again" if cut else "",
            place=Place(path, error.lineno, error.colno),
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON that can be read: {error}", place=Place(path)) from None
    if not isinstance(value, dict):
        raise InputError(
            f"is {_kind(value)}, not an object",
            hint="pass the config.json of a Hugging Face model",
            place=Place(path),
        )
    return value


def index_bytes(index: Mapping[str, Any], *, path: str = "model.safetensors.index.json") -> int:
    """``metadata.total_size`` of a safetensors index: the bytes of all weights, drafts included.

    Raises InputError where the index does not say.
    """
    metadata = index.get("metadata")
    size = metadata.get("total_size") if isinstance(metadata, Mapping) else None
    if isinstance(size, float) and size.is_integer():
        size = int(size)
    if isinstance(size, bool) or not isinstance(size, int) or size <= 0:
        raise InputError("metadata.total_size is missing or no number of bytes", place=Place(path))
    return size


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {list: "a list", str: "a string", bool: "true or false"}
    return names.get(type(value), "a number")
