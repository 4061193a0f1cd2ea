"""Where a record bites: its rule, asked of its first hit on each GPU generation and release.

A thousand plans a second take a while for all records, and the answers change only with the code
and the catalogue, so they are kept in a file beside the site's configuration, under a digest of
both. Nothing is taken from it when either changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

from kvgate.architecture import model
from kvgate.catalog.engines import releases
from kvgate.catalog.gpus import gpu, gpus
from kvgate.deployment import Deployment, deployments
from kvgate.errors import InputError
from kvgate.plan import plan
from kvgate.records.record import Record
from kvgate.records.schema import Hit
from kvgate.rules import Finding, Undecided, rule
from kvgate.units import GiB

__all__ = ["GENERATIONS", "Bites", "Row", "Strip", "strip"]

GENERATIONS = (
    "sm_75", "sm_80", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120", "sm_121", "gfx942",
    "gfx950",
)  # fmt: skip
"""The generations that are asked; the catalogue's card with the most memory stands for each."""
_ENGINES = ("vllm", "sglang")
# What decides an answer: everything below the rules, the rules, and what is asked here.
_FLOORS = (
    "units.py", "catalog", "architecture", "attention", "kvcache", "deployment", "plan", "rules",
    "site/bites.py",
)  # fmt: skip
_SAYS = {"#": "bites", ".": "doesn't", "?": "can't tell"}


@dataclass(frozen=True, slots=True)
class Row:
    """Generations with the same answers, and runs of releases: (answer, first, last, how many)."""

    generations: tuple[str, ...]
    runs: tuple[tuple[str, str, str, int], ...]


@dataclass(frozen=True, slots=True)
class Strip:
    """The answers for one deployment, by generation and release."""

    engine: str
    command: str
    versions: tuple[str, ...]
    rows: tuple[Row, ...]


def strip(record: Record) -> Strip | None:
    """The strip of a record; None where its answer is the same everywhere, or nobody can ask."""
    front = record.front
    hit = next((hit for hit in front.hits if hit.run), None)
    if front.rule is None or hit is None:
        return None
    try:
        (asked,) = deployments(hit.run or "", engine=hit.on.engine)
    except (InputError, ValueError):  # it starts several, or can't be read: the linter says so
        return None
    if asked.engine not in _ENGINES:
        return None
    versions = _minors(asked.engine)
    answers = dict.fromkeys(GENERATIONS, "")
    for version in versions:
        (asked,) = deployments(hit.run or "", engine=f"{asked.engine}=={version}")
        for generation in GENERATIONS:
            answers[generation] += _answer(front.rule, asked, hit, _card(generation, hit))
    if len(set("".join(answers.values()))) == 1:
        return None
    return Strip(asked.engine, hit.run or "", versions, tuple(_rows(answers, versions)))


def _answer(name: str, asked: Deployment, hit: Hit, card: str) -> str:
    """One character: # it bites, . it doesn't, ? nobody can tell."""
    on = hit.on
    memory = round(on.kv_cache_memory * GiB) if on.kv_cache_memory is not None else None
    try:
        given = model(on.model) if on.model else None
        made = plan(replace(asked, gpu=card), gpu=card, model=given, kv_cache_memory=memory)
        said = rule(name)(made)
    except InputError:
        return "?"
    return "#" if isinstance(said, Finding) else "?" if isinstance(said, Undecided) else "."


def _rows(answers: dict[str, str], versions: tuple[str, ...]) -> Iterator[Row]:
    for line, same in groupby(answers, key=lambda generation: answers[generation]):
        runs, at = [], 0
        for answer, run in groupby(line):
            count = len(list(run))
            runs.append((_SAYS[answer], versions[at], versions[at + count - 1], count))
            at += count
        yield Row(tuple(same), tuple(runs))


@cache
def _minors(engine: str) -> tuple[str, ...]:
    """The last release of each minor version of vLLM; each one of SGLang, which has no other."""
    last = {v.release[:2] if engine == "vllm" else v: str(v) for v in sorted(releases(engine))}
    return tuple(last.values())


def _card(generation: str, hit: Hit) -> str:
    """The hit's own card on its own generation, elsewhere the one with the most memory."""
    if hit.on.gpu and gpu(hit.on.gpu).arch == generation:
        return hit.on.gpu
    return _largest()[generation]


@cache
def _largest() -> dict[str, str]:
    found = sorted(gpus(), key=lambda card: card.memory_bytes)
    return {card.arch: card.name for card in found}


class Bites:
    """Strips of records, kept in a file from one build to the next."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._digest = _digest()
        self._known = self._read()
        self._new = False

    def of(self, record: Record) -> Strip | None:
        """The strip of a record, worked out where it isn't known."""
        hits = [hit.model_dump(mode="json") for hit in record.front.hits]
        key = sha256(json.dumps([record.front.rule, hits]).encode()).hexdigest()[:24]
        if key not in self._known:
            made = strip(record)
            self._known[key] = made and {
                "engine": made.engine, "command": made.command, "versions": made.versions,
                "rows": [[row.generations, row.runs] for row in made.rows],
            }  # fmt: skip
            self._new = True
        kept = self._known[key]
        if not kept:
            return None
        rows = (Row(tuple(g), tuple(tuple(run) for run in runs)) for g, runs in kept["rows"])
        return Strip(kept["engine"], kept["command"], tuple(kept["versions"]), tuple(rows))

    def keep(self) -> None:
        """Write what is known for the next build; a folder that can't be written is no matter."""
        if not self._new:
            return
        text = json.dumps({"digest": self._digest, "strips": self._known})
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            part = self._file.with_suffix(".part")
            part.write_text(text, encoding="utf-8")
            part.replace(self._file)
        except OSError:
            return

    def _read(self) -> dict[str, Any]:
        try:
            kept = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        strips: dict[str, Any] = kept["strips"] if kept.get("digest") == self._digest else {}
        return strips


def _digest() -> str:
    """What the answers rest on, in short: the code and the catalogue up to the rules."""
    root = Path(__file__).resolve().parents[1]
    made = sha256()
    for floor in _FLOORS:
        place = root / floor
        for file in [place] if place.is_file() else sorted(place.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                made.update(file.relative_to(root).as_posix().encode())
                made.update(file.read_bytes())
    return made.hexdigest()
