"""MODEL on the command line: a catalogue id, a config.json or its folder, or a hub id."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from kvgate.architecture import Architecture, index_bytes, model, parse, read_json
from kvgate.errors import InputError, Place

__all__ = ["Source", "read_model"]

# A config.json is some kilobytes; a safetensors index of the largest models some megabytes.
_LARGEST = 64 * 2**20
_CONFIG = "config.json"
_PARAMS = "params.json"
_GGUF = "kvgate does not read GGUF files"
_ORIGINAL = "pass the config.json of the model that the GGUF was made from"
_QUANTIZED = "hf_quant_config.json"
_INDEX = "model.safetensors.index.json"


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
        return _config(_found(path))
    if path.suffix == ".gguf":
        raise InputError(_GGUF, place=Place(text), hint=_ORIGINAL, code="KV002")
    if path.is_file() or text.endswith(".json"):
        return _config(path)
    try:
        return Source(model(text), "catalogue")
    except InputError as error:
        if not hub:
            raise InputError(
                error.message,
                hint=f"{error.hint.removesuffix('.')}; or --hub to download the model's own",
            ) from None
        return _from_hub(text)


def _found(folder: Path) -> Path:
    """The file that describes the model in a folder: ``config.json``, or Mistral's own."""
    for name in (_CONFIG, _PARAMS):
        if (folder / name).is_file():
            return folder / name
    gguf = any(folder.glob("*.gguf"))
    raise InputError(
        f"holds no config.json; {_GGUF}" if gguf else "holds no config.json",
        place=Place(str(folder)),
        hint=_ORIGINAL if gguf else "pass the model's folder",
        code="KV002",
    )


def _read(path: Path) -> dict[str, Any]:
    where = Place(str(path))
    try:
        if path.exists() and not path.is_file():
            # A device or a pipe has no size, and may have no end.
            raise InputError("is no regular file", place=where, code="KV002")
        with path.open("rb") as stream:
            data = stream.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise InputError("is too large for a config", place=where, code="KV003")
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", place=where, code="KV002") from None
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 (byte {error.start})", place=where, code="KV003") from None
    try:
        return read_json(text, path=str(path))
    except InputError as error:
        raise InputError(
            error.message, hint=error.hint, place=error.place or where, code="KV003"
        ) from None


def _config(path: Path, *, name: str = "") -> Source:
    """A config with the files that lie beside it."""
    name = name or str(path)
    quantized, index = path.parent / _QUANTIZED, path.parent / _INDEX
    beside = _read(quantized) if quantized.is_file() else None
    try:
        architecture = parse(_read(path), id=name, hf_quant_config=beside)
    except InputError as error:
        if error.place is not None:
            raise
        raise InputError(
            error.message.removeprefix(f"{name}: "), hint=error.hint, place=Place(str(path)),
            code="KV004",
        ) from None  # fmt: skip
    total = None
    if index.is_file():
        try:
            total = index_bytes(_read(index), path=str(index))
        except InputError as error:
            raise InputError(
                error.message, hint="delete the index, or download it again", place=error.place,
                code=error.code if error.code != "KV001" else "KV004",
            ) from None  # fmt: skip
    return Source(architecture, str(path), total)


def _from_hub(name: str) -> Source:
    try:
        hub = import_module("huggingface_hub")
    except ImportError:
        raise InputError(
            "--hub needs the package huggingface_hub", hint="pip install huggingface_hub"
        ) from None
    try:
        path = Path(hub.hf_hub_download(name, _CONFIG))
    except Exception as error:
        # Whatever the library raises (network, 404, gated), the person needs one sentence.
        said = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{name} could not be downloaded: {said[:300]}") from None
    for beside in (_QUANTIZED, _INDEX):
        try:
            hub.hf_hub_download(name, beside)
        except Exception:  # noqa: S112 - most repositories have no such file
            continue
    return _config(path, name=name)
