"""MODEL on the command line: a catalogue id, a config.json or its folder, or a hub id."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from kvgate.architecture import Architecture, model, parse
from kvgate.errors import InputError, Place

__all__ = ["Source", "read_json", "read_model"]

# A config.json is some kilobytes; a safetensors index of the largest models a few megabytes.
_LARGEST = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Source:
    """A model and where it came from; ``weights_total`` in bytes, from a safetensors index."""

    architecture: Architecture
    origin: str
    weights_total: int | None = None


def read_model(text: str, *, hub: bool = False) -> Source:
    """The model that ``text`` names.

    Raises InputError when it's neither in the catalogue nor a readable config; ``hub`` allows a
    download of the config with huggingface_hub (the ``hub`` extra).
    """
    path = Path(text)
    if path.is_dir():
        return _folder(path)
    if path.is_file() or text.endswith(".json"):
        return _config(path)
    try:
        return Source(model(text), "catalogue")
    except InputError as error:
        if not hub:
            raise InputError(
                error.message,
                hint=f"{error.hint}; or pass the model's config.json, or --hub to download it",
            ) from None
        return _from_hub(text)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file. Raises InputError with line and column for anything else."""
    where = Place(str(path))
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError("is too large for a config", place=where, code="KV003")
        value = json.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", place=where, code="KV002") from None
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 (byte {error.start})", place=where, code="KV003") from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"is not JSON: {error.msg}",
            hint="is the file whole?",
            place=Place(str(path), error.lineno, error.colno),
            code="KV003",
        ) from None
    except RecursionError:
        raise InputError("is nested too deeply", place=where, code="KV003") from None
    if not isinstance(value, dict):
        raise InputError(
            f"is {type(value).__name__}, not an object", place=where, code="KV003",
            hint="pass the config.json of a Hugging Face model",
        )  # fmt: skip
    return value


def _folder(path: Path) -> Source:
    if not (path / "config.json").is_file():
        raise InputError(
            "holds no config.json",
            place=Place(str(path)),
            hint="pass the model's folder",
            code="KV002",
        )
    return _config(path / "config.json")


def _config(path: Path) -> Source:
    config = read_json(path)
    beside = path.parent / "hf_quant_config.json"
    quantized = read_json(beside) if beside.is_file() else None
    named = config.get("_name_or_path")
    name = named if isinstance(named, str) and named else str(path)
    try:
        architecture = parse(config, id=name, hf_quant_config=quantized)
    except InputError as error:
        raise InputError(
            error.message, hint=error.hint, place=error.place or Place(str(path)), code="KV004"
        ) from None
    index = path.parent / "model.safetensors.index.json"
    total = _total(index) if index.is_file() else None
    return Source(architecture, str(path), total)


def _total(index: Path) -> int | None:
    metadata = read_json(index).get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    return int(total) if isinstance(total, int | float) and total > 0 else None


def _from_hub(name: str) -> Source:
    try:
        hub = import_module("huggingface_hub")
    except ImportError:
        raise InputError(
            "--hub needs the package huggingface_hub", hint="pip install 'kvgate[hub]'"
        ) from None
    try:
        path = Path(hub.hf_hub_download(name, "config.json"))
    except Exception as error:
        # Whatever the library raises (network, 404, gated), the person needs one sentence.
        raise InputError(f"{name} could not be downloaded: {error}") from None
    return Source(parse(read_json(path), id=name), f"hub: {name}")
