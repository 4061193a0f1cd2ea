"""Write requirements/licences.md: the licence of every package that dev.lock or npm's lock pins.

What a package says of itself counts: its ``License-Expression``, else its ``License``, else its
classifiers (npm: ``package-lock.json``). Run it where dev.lock is installed. A package that isn't
installed here (it is for another platform or another Python) keeps the row it had at that version;
without one it is said to be unknown.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.utils import canonicalize_name

__all__ = ["UNKNOWN", "Row", "locked", "npm", "page", "said", "written"]

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "requirements" / "licences.md"
LOCK = ROOT / "requirements" / "dev.lock"
NPM = ROOT / "package-lock.json"
UNKNOWN = "unknown: not installed where this was written"
_PINNED = re.compile(r"^([\w.-]+)==([^\s;\\]+)", re.MULTILINE)
_ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
_CLASSIFIER = re.compile(r"License :: (?:OSI Approved :: )?(.+)")

Row = tuple[str, str, str]
"""Name, version, licence."""

HEAD = """\
# Licences

kvgate itself is under Apache-2.0 (`LICENSE`) and carries none of these along: a package manager \
installs them. A built site holds parts of mkdocs-material and pagefind and, where npm is there, \
pyodide, packaging and pyyaml. Written by `scripts/write_licences.py` from what each package says \
of itself; not legal advice.
"""


def locked(text: str) -> list[tuple[str, str]]:
    """(name, version) of each pin of a lock file, in its order; a name may have several."""
    return [(canonicalize_name(name), version) for name, version in _PINNED.findall(text)]


def said(package: Distribution) -> str:
    """What a package's metadata says is its licence; empty where it says nothing."""
    data = package.metadata
    expression, free = (
        "".join(data.get_all(key, [])[:1]).strip() for key in ("License-Expression", "License")
    )
    named = [
        match[1]
        for line in data.get_all("Classifier", [])
        if (match := _CLASSIFIER.fullmatch(line))
    ]
    if expression:
        return expression
    # Some put the whole text there, and some a word that says nothing.
    if free and "\n" not in free and len(free) <= 60 and free.upper() != "UNKNOWN":
        return free
    return ", ".join(dict.fromkeys(named))


def written(text: str) -> dict[tuple[str, str], str]:
    """The rows of a page that was written before: (name, version) to licence."""
    return {(name, version): licence for name, version, licence in _ROW.findall(text)}


def rows(pins: Iterable[tuple[str, str]], before: dict[tuple[str, str], str]) -> Iterator[Row]:
    """Each pin with its licence: of what is installed, else as it was written before."""
    for name, version in pins:
        try:
            found = distribution(name)
        except PackageNotFoundError:
            found = None
        if found is not None and found.version == version:
            yield name, version, said(found) or "it says none"
        else:
            yield name, version, before.get((name, version), UNKNOWN)


def npm(text: str) -> list[Row]:
    """The packages of a package-lock.json, each once, with the licence that it names."""
    found = {
        (path.rpartition("node_modules/")[2], entry["version"], entry.get("license", "none named"))
        for path, entry in json.loads(text)["packages"].items()
        if path
    }
    return sorted(found)


def page(before: str) -> str:
    """The whole page, with what an older one knew of packages that aren't installed here."""
    pins = locked(LOCK.read_text(encoding="utf-8"))
    parts = [HEAD]
    for title, listed in (
        ("Python (`dev.lock`)", list(rows(pins, written(before)))),
        ("npm (`package-lock.json`)", npm(NPM.read_text(encoding="utf-8"))),
    ):
        lines = [f"| {name} | {version} | {licence} |" for name, version, licence in listed]
        parts.append("\n".join([f"## {title}\n", "| package | version | licence |",
                                "|---|---|---|", *lines, ""]))  # fmt: skip
    return "\n".join(parts)


def main() -> int:
    """Write the page; exit 1 where a licence is unknown."""
    before = TARGET.read_text(encoding="utf-8") if TARGET.is_file() else ""
    text = page(before)
    TARGET.write_text(text, encoding="utf-8")
    unknown = [name for (name, _), licence in written(text).items() if licence == UNKNOWN]
    if unknown:
        print(f"unknown, as not installed here: {', '.join(unknown)}", file=sys.stderr)
    return int(bool(unknown))


if __name__ == "__main__":
    sys.exit(main())
