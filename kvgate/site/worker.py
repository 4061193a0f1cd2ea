"""What the web worker loads: Pyodide from npm, kvgate's pure part, and the records' heads.

All of it is served by the site itself, below ``assets/worker/``, and nothing is fetched before a
reader asks for an answer.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from kvgate.errors import InputError
from kvgate.site.wheel import wheel

__all__ = ["FOLDER", "Pyodide", "write_worker"]

FOLDER = "assets/worker"
_FILES = (
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "python_stdlib.zip",
    "pyodide-lock.json",
    "package.json",  # says whose it is, under which licence, and where its source is
)
_NONE = frozenset[str]()
# What needs more than the standard library, packaging and the pure part of PyYAML.
_BELOW = frozenset({"records", "site", "cli", "gotchas"})


@dataclass(frozen=True, slots=True)
class Pyodide:
    """Pyodide as npm installed it: its folder and version."""

    folder: Path
    version: str

    @classmethod
    def found(cls, modules: Path) -> Pyodide:
        """Pyodide in a ``node_modules`` folder. Raises InputError where it isn't whole."""
        folder = modules / "pyodide"
        missing = [name for name in _FILES if not (folder / name).is_file()]
        if missing:
            raise InputError(
                f"the planner is left out of the site: {folder.as_posix()} has no {missing[0]}",
                hint="install Node and npm, then run npm ci",
            )
        about = json.loads((folder / "package.json").read_text(encoding="utf-8"))
        return cls(folder, str(about["version"]))


def write_worker(
    site: Path, pyodide: Pyodide, heads: Mapping[str, object], paths: Mapping[str, str]
) -> None:
    """Write what the worker loads below a built site.

    ``heads`` are the records' (`kvgate.answers.known.Known.to_json`), ``paths`` the addresses of
    their pages below the site's root. ``worker.json`` names the files with a mark of their content,
    so that no cache mixes two builds.
    """
    folder = site / FOLDER
    home = f"pyodide-{pyodide.version}"
    (folder / home).mkdir(parents=True, exist_ok=True)
    for name in _FILES:
        shutil.copyfile(pyodide.folder / name, folder / home / name)
    wheels = []
    for package, dist, without in (
        ("kvgate", "kvgate", _BELOW), ("packaging", "packaging", _NONE), ("yaml", "pyyaml", _NONE),
    ):  # fmt: skip
        made = wheel(_home(package), dist=dist, without=without)
        (folder / made.name).write_bytes(made.data)
        wheels.append(_marked(made.name, made.data))
    data = json.dumps(
        {"heads": json.dumps(heads, ensure_ascii=False), "paths": dict(paths)},
        ensure_ascii=False, separators=(",", ":"),
    ).encode()  # fmt: skip
    (folder / "records.json").write_bytes(data)
    manifest = {"pyodide": f"{home}/", "wheels": wheels, "records": _marked("records.json", data)}
    (folder / "worker.json").write_text(json.dumps(manifest) + "\n", encoding="utf-8")


def _home(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def _marked(name: str, data: bytes) -> str:
    return f"{name}?{hashlib.sha256(data).hexdigest()[:12]}"
