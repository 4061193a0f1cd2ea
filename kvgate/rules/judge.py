"""All rules over one plan: what was found, worst first, and what couldn't be decided."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kvgate.deployment.problems import REFUSED
from kvgate.plan.model import Plan
from kvgate.plan.ranks import TOO_MANY
from kvgate.rules.fitting import does_not_fit, more_than_the_gpu
from kvgate.rules.registry import rules
from kvgate.rules.verdict import Finding, Undecided

__all__ = ["SEVERITIES", "Case", "Judged", "Open", "judge"]

SEVERITIES = ("blocks-start", "fails-later", "silently-wrong", "slower", "surprise")

# Codes of findings that no record stands for: what the engine itself would say.
GATE, LATER, POOL, VALUE, UNKNOWN_MODEL = "KV430", "KV431", "KV432", "KV434", "KV435"
_NOTES = frozenset({"KV407", "KV415", "KV417"})


@dataclass(frozen=True, slots=True)
class Case:
    """A record as the judge needs it: its id, severity, title and the name of its rule."""

    id: str
    severity: str
    title: str
    rule: str


@dataclass(frozen=True, slots=True)
class Judged:
    """A finding with the record (or code) it belongs to; ``title`` is the record's."""

    id: str
    severity: str
    title: str
    finding: Finding


@dataclass(frozen=True, slots=True)
class Open:
    """A record whose rule couldn't decide, and the fact that would settle it."""

    id: str
    lacks: str


def judge(plan: Plan, cases: Iterable[Case]) -> tuple[tuple[Judged, ...], tuple[Open, ...]]:
    """What the records' rules, the parser and the engine's own gates say of a plan.

    Findings come worst first, in the order of ``cases`` among equals. The engine's own refusal is a
    finding of its own only where no record already explains why it won't start.
    """
    found: list[Judged] = []
    undecided: list[Open] = []
    known = rules()
    for case in cases:
        if case.rule not in known:
            # A knowledge base newer than this kvgate: one record's rule must not stop the others.
            undecided.append(Open(case.id, f"the rule {case.rule}, unknown to this kvgate"))
            continue
        match known[case.rule](plan):
            case Finding() as finding:
                severity = "blocks-start" if _refused(plan, finding) else case.severity
                found.append(Judged(case.id, severity, case.title, finding))
            case Undecided(lacks):
                undecided.append(Open(case.id, lacks))
            case None:
                pass
    found += _own(plan, [f.finding.message for f in found])
    match does_not_fit(plan):
        case Undecided(lacks):
            undecided.append(Open(POOL, lacks))
        case _:
            pass
    found += [
        Judged(
            problem.code,
            "blocks-start"
            if problem.code in (*REFUSED, VALUE, UNKNOWN_MODEL, TOO_MANY)
            else "surprise",
            problem.message,
            Finding(problem.message, (str(problem.place),), problem.hint),
        )
        for problem in (*plan.deployment.problems, *plan.problems)
        if problem.code not in _NOTES and not _explained(problem.message, found)
    ]
    found.sort(key=lambda f: SEVERITIES.index(f.severity))
    return tuple(found), tuple(undecided)


def _explained(message: str, found: list[Judged]) -> bool:
    """Whether a record's finding is about the flag that a message of the parser begins with."""
    flag = message.partition(" ")[0]
    names = [f.finding.message.partition(" ")[0].rstrip(",") for f in found]
    return flag.startswith("--") and " is gone in " in message and flag in names


def _refused(plan: Plan, finding: Finding) -> bool:
    """Whether a finding quotes the engine's refusal: then it won't start, whatever its record is.

    A record that tells of what runs as well (a matrix of backends) has one severity for all of it.
    """
    said = (plan.gates and plan.gates.error, plan.outcome and plan.outcome.error)
    return any(text and text in finding.message for text in said)


def _own(plan: Plan, told: list[str]) -> list[Judged]:
    """What the engine itself would say, where no record's finding quotes it already."""
    said: list[Judged] = []
    if plan.gates is not None and plan.gates.error:
        title = "the engine refuses the attention backend"
        fix = plan.without_flag("--attention-backend") if plan.forced_backend else ""
        said.append(_blocks(GATE, title, plan.gates.error, fix))
    if plan.outcome is not None and plan.outcome.error:
        message = f"{plan.outcome.error} [{plan.outcome.when}]"
        said.append(_blocks(GATE, "SGLang refuses these settings", message))
    if plan.outcome is not None:
        texts = dict.fromkeys(f"{f.backend}: {f.text}" for f in plan.outcome.then_fails)
        said += [_blocks(LATER, "a backend is chosen, then fails", text) for text in texts]
    if plan.gates is not None and not plan.gates.error:
        texts = dict.fromkeys(f"{f.backend}: {f.text}" for f in plan.gates.then_fails if f.certain)
        said += [_blocks(LATER, "a backend is chosen, then fails", text) for text in texts]
    if (too_much := more_than_the_gpu(plan)) is not None:
        title = "the KV memory is more than the GPU has"
        said.append(Judged(POOL, "blocks-start", title, too_much))
    match does_not_fit(plan):
        case (severity, finding):
            said.append(Judged(POOL, severity, "the KV cache does not fit", finding))
        case _:
            pass
    return [one for one in said if not any(_quotes(text, one) for text in told)]


def _quotes(text: str, own: Judged) -> bool:
    return own.finding.message.rpartition(": ")[2][:80] in text or own.finding.message in text


def _blocks(code: str, title: str, message: str, fix: str = "") -> Judged:
    return Judged(code, "blocks-start", title, Finding(message, (), fix))
