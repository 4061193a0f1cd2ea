"""Container images: which engine they hold, what their tag says of its version, what they start."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from packaging.version import Version

__all__ = ["Image", "read_image"]

_VERSION = re.compile(r"v?(\d+\.\d+(?:\.\d+)*(?:(?:a|b|rc|\.?post|\.?dev)\d+)*)(?=[-_+.]|\Z)")
# Tags such as rocm6.4.1_vllm_0.10.1_20250909 name the engine and its version inside.
_INSIDE = re.compile(r"(?:vllm|sglang)[_-]?v?(\d+\.\d+(?:\.\d+)*(?:rc\d+|\.?post\d+)?)(?=[-_+]|\Z)")
_BUILD = re.compile(r"(?:\A|-)b(\d+)(?=-|\Z)")


@dataclass(frozen=True, slots=True)
class Image:
    """What an image's name and tag tell.

    ``engine`` is "" where kvgate doesn't know the image; ``runs`` are the words of its entrypoint,
    empty where it needs a command. ``version`` is the engine's, None where the tag doesn't tell,
    and ``why_not`` then says why.
    """

    name: str
    tag: str
    engine: str = ""
    runs: tuple[str, ...] = ()
    version: Version | None = None
    why_not: str = ""


def read_image(reference: str) -> Image:
    """What is known of an image by its reference (``vllm/vllm-openai:v0.19.1-cu130``).

    A tag that is no version (latest, nightly, a digest) is said, not guessed.

    >>> str(read_image("vllm/vllm-openai:v0.19.1-cu130").version)
    '0.19.1'
    >>> read_image("vllm/vllm-openai:latest").why_not
    'the tag latest names no version'
    """
    rest, _, digest = reference.strip().partition("@")
    folder, slash, last = rest.rpartition("/")
    last, _, tag = last.partition(":")
    name = folder + slash + last
    entry = _entry(name)
    if entry is None:
        return Image(name, tag, why_not=f"kvgate does not know the image {name}")
    runs = tuple(entry["runs"])
    if entry["engine"] == "llama.cpp" and entry["tag"] == "build":
        runs = _llama_runs(tag, runs)
    version, why_not = _version(entry, tag, digest)
    return Image(name, tag, entry["engine"], runs, version, why_not)


def _version(entry: Mapping[str, Any], tag: str, digest: str) -> tuple[Version | None, str]:
    named = entry.get("named", {}).get(tag)
    if named is not None:
        return Version(named["version"]), ""
    inside = _INSIDE.search(tag)
    if entry["tag"] == "product" and inside:
        return _read(inside.group(1), tag)
    release = _VERSION.match(tag)
    carried = entry.get("carries", {}).get(release.group(1)) if release else None
    if carried is not None:
        return Version(carried), ""
    if entry["tag"] == "product":
        said = f"the tag {tag}" if tag else "the image"
        return None, f"{said} carries the version of {entry['product']}, not the engine's"
    if not tag:
        what = "a digest" if digest else "no tag"
        return None, f"the image has {what}, which names no version"
    if entry["tag"] == "build":
        build = _BUILD.search(tag)
        return _read(build.group(1), tag) if build else (None, f"the tag {tag} names no build")
    match = _VERSION.match(tag)
    if match and not tag.startswith("nightly"):
        return _read(match.group(1), tag)
    return None, f"the tag {tag} names no version"


def _read(text: str, tag: str) -> tuple[Version | None, str]:
    try:
        return Version(text), ""
    except ValueError:  # no version, or a number of more digits than Python reads
        return None, f"the tag {tag} names no version"


def _llama_runs(tag: str, runs: tuple[str, ...]) -> tuple[str, ...]:
    kind = tag.split("-")[0]
    return {"light": ("llama-cli",), "full": ("tools.sh",), "server": runs}.get(kind, ())


def _entry(name: str) -> Mapping[str, Any] | None:
    """The entry whose name the image's ends in, so that a registry's mirror is recognised too."""
    path = "/" + name.casefold()
    found = [e for e in _entries() if path.endswith("/" + e["name"].casefold())]
    return max(found, key=lambda e: len(e["name"]), default=None)


@cache
def _entries() -> tuple[Mapping[str, Any], ...]:
    text = (files("kvgate.catalog") / "images.toml").read_text(encoding="utf-8")
    return tuple(tomllib.loads(text)["image"])
