"""Deployments against the records' rules: the answer of ``kvgate check``, and its JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kvgate.answers.fixes import in_turn
from kvgate.architecture.model import Architecture
from kvgate.catalog.gpus import Gpu
from kvgate.deployment.model import Deployment
from kvgate.plan import Plan, plan
from kvgate.rules import Case, Judged, judge
from kvgate.rules.judge import Open
from kvgate.rules.pair import pairs

__all__ = ["Checked", "as_json", "checked"]


@dataclass(frozen=True, slots=True)
class Checked:
    """One deployment's plan with what was found and what couldn't be decided."""

    plan: Plan
    found: tuple[Judged, ...]
    undecided: tuple[Open, ...]

    @property
    def unasked(self) -> tuple[str, ...]:
        """Which of version, model and GPU are unknown: without one, little could be asked."""
        unknown = {u.what for u in self.plan.unknown}
        return tuple(what for what in ("version", "model", "gpu") if what in unknown)


def checked(
    deployments: Iterable[Deployment],
    cases: Iterable[Case],
    *,
    gpu: str | Gpu | None = None,
    model: Architecture | None = None,
    kv_cache_memory: int | None = None,
) -> list[Checked]:
    """Each deployment held against the rules of ``cases``; options as `kvgate.plan.plan` has them.

    What the two sides of a prefill/decode pair disagree on is told with the first of them.
    """
    cases = tuple(cases)
    results = []
    for one in deployments:

        def planned(deployment: Deployment) -> Plan:
            return plan(deployment, gpu=gpu, model=model, kv_cache_memory=kv_cache_memory)

        made = planned(one)
        found, undecided = judge(made, cases)
        found = in_turn(made, found, lambda changed: judge(planned(changed), cases)[0])
        results.append(Checked(made, found, undecided))
    if results:
        between = pairs([one.plan for one in results])
        results[0] = replace(results[0], found=(*results[0].found, *between))
    return results


def as_json(results: Sequence[Checked]) -> dict[str, Any]:
    """The object of ``kvgate check --json``; all deployments stand in ``deployments`` besides."""
    each = [
        {
            "name": made.deployment.name,
            "engine": made.deployment.spec,
            "model": made.deployment.model,
            "gpu": made.gpu.name if made.gpu else None,
            "role": made.deployment.role,
            "place": str(made.deployment.place),
            "findings": [
                {
                    "id": f.id,
                    "severity": f.severity,
                    "message": f.finding.message,
                    "because": list(f.finding.because),
                    "fix": f.finding.fix,
                }
                for f in found
            ],
            "undecided": [{"id": u.id, "lacks": u.lacks} for u in undecided],
            "assumed": list(made.assumed),
            "unknown": [{"what": u.what, "lacks": u.lacks} for u in made.unknown],
            "size": made.sizing.to_json() if made.sizing else None,
            "backends": made.gates.as_json() if made.gates else _outcome(made),
        }
        for made, found, undecided in ((r.plan, r.found, r.undecided) for r in results)
    ]
    first = each[0]
    return {
        "schema_version": 1,
        "findings": [f for one in each for f in one["findings"]],  # type: ignore[union-attr]
        "undecided": [u for one in each for u in one["undecided"]],  # type: ignore[union-attr]
        "size": first["size"],
        "backends": first["backends"],
        "deployments": each,
    }


def _outcome(made: Plan) -> dict[str, Any] | None:
    if made.outcome is None:
        return None
    return {
        "selected": made.outcome.selected,
        "error": made.outcome.error,
        "page_size": made.outcome.page_size,
        "kv_cache_dtype": made.outcome.kv_dtype,
        "warnings": list(made.outcome.warnings),
        "notes": [str(n) for n in made.outcome.notes],
    }
