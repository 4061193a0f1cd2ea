"""A package of this environment as a wheel, so that another Python can have the very same code."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import distribution
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

__all__ = ["Wheel", "wheel"]

_KINDS = (".py", ".json", ".toml")
_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip knows: the same content, the same bytes
_TAG = "Wheel-Version: 1.0\nGenerator: kvgate\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel's file name and its bytes."""

    name: str
    data: bytes


def wheel(package: Path, *, dist: str = "", without: frozenset[str] = frozenset()) -> Wheel:
    """The package in a folder as a wheel, its version as installed; ``without`` names the modules
    and subpackages below it that stay behind. ``dist`` is what it was installed as, where that is
    another name.

    Pure Python, its data and its licence only. The same files give the same bytes.
    """
    name = dist or package.name
    installed = distribution(name)
    release = installed.version
    info = f"{name}-{release}.dist-info"
    files = {
        path.relative_to(package.parent).as_posix(): path.read_bytes()
        for path in _files(package, without)
    }
    files |= {
        f"{info}/licenses/{path.name}": path.read_binary()
        for path in sorted(installed.files or ())
        if path.parts[0].endswith(".dist-info") and path.name.startswith("LICEN")
    }
    files[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {release}\n".encode()
    )
    files[f"{info}/WHEEL"] = _TAG.encode()
    record = "".join(f"{path},sha256={_digest(data)},{len(data)}\n" for path, data in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    made = BytesIO()
    with ZipFile(made, "w", ZIP_DEFLATED, compresslevel=9) as archive:
        for path, data in files.items():
            entry = ZipInfo(path, _DATE)
            entry.compress_type = ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    return Wheel(f"{name}-{release}-py3-none-any.whl", made.getvalue())


def _files(package: Path, without: frozenset[str]) -> Iterator[Path]:
    for path in sorted(package.rglob("*")):
        below = path.relative_to(package).parts
        if path.suffix in _KINDS and below[0].removesuffix(".py") not in without:
            yield path


def _digest(data: bytes) -> str:
    return urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
