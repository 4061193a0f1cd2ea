"""Fixes of one check that can be applied together: each builds on those of findings above it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from kvgate.deployment import deployments
from kvgate.deployment.model import Deployment
from kvgate.errors import InputError
from kvgate.plan import Plan
from kvgate.plan.command import program
from kvgate.rules import Judged

__all__ = ["in_turn"]

# More changes than these and the command is another one altogether.
_MOST = 6


def in_turn(
    plan: Plan, found: Sequence[Judged], again: Callable[[Deployment], Iterable[Judged]]
) -> tuple[Judged, ...]:
    """The findings with the command of each fix changed to hold the fixes above it as well.

    A finding that those settle already shows the command as it then stands. ``again`` judges a
    deployment anew. Fixes that are no whole command stay as they are.
    """
    start = f"{program(plan.deployment.launcher)} "
    if sum(one.finding.fix.startswith(start) for one in found) < 2:
        return tuple(found)
    line, applied = "", 0
    now: dict[str, Judged] = {}
    done = []
    for one in found:
        fix = one.finding.fix
        if fix.startswith(start) and line:
            later = now.get(one.id)
            fix = line if later is None else later.finding.fix
        done.append(one if fix == one.finding.fix else _with(one, fix))
        if not fix.startswith(start) or fix == line or applied == _MOST:
            continue
        changed = _deployment(plan.deployment, fix)
        if changed is None:
            return tuple(found)
        line, applied = fix, applied + 1
        now = {judged.id: judged for judged in again(changed)}
    return tuple(done)


def _with(one: Judged, fix: str) -> Judged:
    return replace(one, finding=replace(one.finding, fix=fix))


def _deployment(old: Deployment, command: str) -> Deployment | None:
    """The deployment with the flags of another command; all around it stays."""
    engine = f"{old.engine}=={old.version}" if old.version is not None else old.engine
    try:
        (new,) = deployments(command, path=old.place.path, engine=engine)
    except (InputError, ValueError):
        # A fix may hold what is to be filled in by hand.
        return None
    return replace(old, flags=new.flags, given=new.given, problems=new.problems)
