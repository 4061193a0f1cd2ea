"""Records that several signatures point to, held against what else the log says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kvgate.catalog.gpus import Gpu, gpu, gpus
from kvgate.deployment import deployments
from kvgate.diagnose.answer import Found
from kvgate.diagnose.context import Context
from kvgate.errors import InputError
from kvgate.plan import Plan, plan
from kvgate.rules.registry import rule
from kvgate.rules.verdict import Finding
from kvgate.units import GiB

__all__ = ["Suspect", "possible", "weigh"]

# A log's figure for a card's memory, and the driver's of the catalogue, differ by less than this.
_SAME_MEMORY = 0.03
_CONFIRMED, _DENIED, _ELSEWHERE = 0.3, 0.5, 0.6


@dataclass(frozen=True, slots=True)
class Suspect:
    """What of a record a log is held against: its rule (or ""), the engines it affects, and the GPU
    generations it is about (``sm_120``, ``gfx942``; none for any)."""

    rule: str
    engines: frozenset[str]
    gpus: frozenset[str] = frozenset()


def possible(suspect: Suspect | None, said: Context) -> bool:
    """Whether the log's own GPU, by name, generation or memory, may be one the record is about."""
    if suspect is None or not suspect.gpus:
        return True
    if said.generation:
        return said.generation in suspect.gpus
    if said.gpu:
        try:
            return _kind(gpu(said.gpu)) in suspect.gpus
        except InputError:
            pass  # a card that the catalogue doesn't hold may be any
    if said.memory_gib:
        return any(
            abs(card.memory_bytes / GiB - said.memory_gib) < _SAME_MEMORY * said.memory_gib
            for card in gpus()
            if _kind(card) in suspect.gpus
        )
    return True


def _kind(card: Gpu) -> str:
    return f"sm_{card.sm[0]}{card.sm[1]}" if card.sm is not None else str(card.arch)


def weigh(found: Sequence[Found], suspects: Mapping[str, Suspect], said: Context) -> list[Found]:
    """The matches with their scores moved by the log's own settings, and the grounds in words.

    A record whose rule reports the log's deployment rises, one whose rule leaves it alone falls,
    as does one of another engine. Nothing moves where the log doesn't say enough.
    """
    made = _plan(said)
    grounds = said.grounds()
    out = []
    for one in found:
        suspect = suspects.get(one.id)
        if suspect is None:
            out.append(one)
            continue
        score, why = one.score, ""
        if said.engine and suspect.engines and said.engine not in suspect.engines:
            score *= _ELSEWHERE
            why = f"the log is of {said.engine}"
        elif made is not None and suspect.rule:
            verdict = rule(suspect.rule)(made)
            if isinstance(verdict, Finding):
                score = min(1.0, score + _CONFIRMED)
                why = f"its rule reports what the log says of itself: {grounds}"
            elif verdict is None:
                score *= _DENIED
                why = f"its rule leaves alone what the log says of itself: {grounds}"
        out.append(replace(one, score=round(score, 4), grounds=why))
    return out


def _plan(said: Context) -> Plan | None:
    """The plan of the log's deployment, None where the log doesn't say enough for one."""
    if not said.line:
        return None
    engine = f"{said.engine}=={said.version}" if said.version else said.engine or None
    for spec in (engine, None):
        try:
            first = deployments(said.line, path="<log>", engine=spec)[0]
            return plan(first, gpu=said.gpu or None)
        except InputError:
            # An unreadable version or an unknown GPU is what a log may well hold: try without.
            said = replace(said, gpu="")
    return None
