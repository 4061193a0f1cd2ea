"""What parts deployments that are hit from those that aren't: the conditions of a new rule."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kvgate.architecture.model import Architecture
from kvgate.errors import InputError
from kvgate.plan.model import Plan
from kvgate.rules.facts import between, is_latent, is_sparse, keeps_state, window_layers

__all__ = ["Condition", "decisive"]

# Expressions of a model that has it and of one that hasn't, the words, and the test itself.
_Trait = tuple[str, str, str, Callable[[Architecture], bool]]


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that is so of every hit, and isn't of a miss.

    ``fails`` is the Python expression under which a rule says nothing, ``open`` the one under
    which it can't tell ("" where it always can) and ``lacks`` the expression of what it lacks.
    ``because`` is the expression of the fact behind a finding. ``needs`` are names that the
    expressions take from `kvgate.rules.facts`. ``holds`` is the same for a plan: None if unknown.
    ``otherwise`` says in words why a plan is not hit. ``setting`` is the setting it is about.
    """

    fails: str
    because: str
    holds: Callable[[Plan], bool | None]
    otherwise: Callable[[Plan], str]
    open: str = ""
    lacks: str = ""
    needs: tuple[str, ...] = ()
    setting: str = ""


def decisive(
    hits: Sequence[Plan], misses: Sequence[Plan], *, introduced: str = "", fixed: str = ""
) -> tuple[tuple[Condition, ...], tuple[tuple[Condition, ...], ...]]:
    """The conditions that part the hits from the misses, and for each miss those it doesn't meet.

    Versions are those of the record's range, the first left out where it is empty. Raises
    InputError where the hits are of several engines, and where nothing that kvgate can see parts
    a miss from them.
    """
    engines = {p.engine for p in hits}
    if len(engines) != 1:
        raise InputError(
            "the hits start " + (", ".join(sorted(engines)) or "nothing"),
            hint="a new rule is about one engine; give hits of one",
        )
    known = [c for c in _candidates(hits, misses, introduced, fixed) if _of_all(c, hits)]
    parted = tuple(tuple(_parting(known, miss)) for miss in misses)
    for number, parts in enumerate(parted, 1):
        if not parts:
            raise InputError(
                f"nothing that kvgate can see parts miss {number} from the hits",
                hint="give one that differs in the engine, its version, a setting, the GPU's "
                "generation or the kind of the model's attention",
            )
    wanted = [c for c in known if any(c in parts for parts in parted) or not c.setting]
    return tuple(wanted), parted


def _parting(known: Sequence[Condition], miss: Plan) -> Iterator[Condition]:
    """What a miss doesn't meet. Of two models many things differ; the first that tells will do."""
    model = False
    for condition in known:
        if condition.holds(miss) is False and not (model and condition.setting == "model"):
            model = model or condition.setting == "model"
            yield condition


def _of_all(condition: Condition, hits: Sequence[Plan]) -> bool:
    return all(condition.holds(hit) is True for hit in hits)


def _candidates(
    hits: Sequence[Plan], misses: Sequence[Plan], introduced: str, fixed: str
) -> Iterator[Condition]:
    engine = hits[0].engine
    yield Condition(
        f"not plan.runs({_text(engine)})", "", lambda p: p.runs(engine),
        lambda p: f"it runs on {p.engine}",
    )  # fmt: skip
    for name in sorted({k for p in (*hits, *misses) for k in p.settings} - {"model", "model_path"}):
        yield from _setting(name, hits, misses)
    if introduced or fixed:
        yield _range(introduced, fixed)
    if any(_differs(m.gpu and m.gpu.capability, {h.gpu and h.gpu.capability for h in hits})
           for m in misses):  # fmt: skip
        yield from _generation(hits)
    yield from _traits(hits, misses)


def _setting(name: str, hits: Sequence[Plan], misses: Sequence[Plan]) -> Iterator[Condition]:
    values = [p.get(name) for p in hits]
    others = [p.get(name) for p in misses if p.given(name)]
    flag = _flag(name, [*hits, *misses])
    get = f"plan.get({_text(name)})"
    if not any(p.given(name) for p in hits):
        if others:
            yield Condition(
                f"plan.given({_text(name)})", _text(f"{flag} isn't given"),
                lambda p: not p.given(name), lambda p: f"{flag} is given", setting=name,
            )  # fmt: skip
        return
    value = values[0]
    if not isinstance(value, str | bool | int | float) or len(str(value)) > 60:
        return
    if _numbers(values) and _numbers(others) and others and len({*map(type, values)}) == 1:
        least, most = min(values), max(values)
        if max(others) < least:
            test, low = f"({get} or 0) < {least}", least
            yield Condition(
                test, _text(f"{flag} is {low:,} or more"),
                lambda p: _numbers([p.get(name)]) and p.get(name) >= least,
                lambda p: f"{flag} is {p.get(name)}", setting=name,
            )  # fmt: skip
            return
        if min(others) > most:
            yield Condition(
                f"({get} or {most + 1}) > {most}", _text(f"{flag} is {most:,} or less"),
                lambda p: _numbers([p.get(name)]) and p.get(name) <= most,
                lambda p: f"{flag} is {p.get(name)}", setting=name,
            )  # fmt: skip
            return
    if any(v != value for v in values):
        return
    same = f"{get} is not {value}" if isinstance(value, bool) else f"{get} != {_text(value)}"
    shown = flag if value is True else f"{flag} {value}"
    yield Condition(
        same, _text(f"{shown} is given"), lambda p: p.get(name) == value,
        lambda p: f"{flag} is {p.get(name)}" if p.given(name) else f"without {shown}",
        setting=name,
    )  # fmt: skip


def _range(introduced: str, fixed: str) -> Condition:
    asked = f"between(plan, {_or_none(introduced)}, {_or_none(fixed)})"
    if not fixed:
        asked = f"between(plan, {_text(introduced)})"
    words = " and ".join(
        [f"from {introduced} on"] * bool(introduced) + [f"before {fixed}"] * bool(fixed)
    )
    return Condition(
        f"{asked} is False", _text(f"the release is one {words}"),
        lambda p: between(p, introduced or None, fixed or None),
        lambda p: f"{p.deployment.version or p.release} isn't one {words}",
        f"{asked} is None", _text("the engine's version"), ("between",),
    )  # fmt: skip


def _generation(hits: Sequence[Plan]) -> Iterator[Condition]:
    if any(h.gpu is None for h in hits):
        return
    kinds = sorted({h.gpu.capability for h in hits if h.gpu is not None})
    # A closed set: kernel families don't nest, so "this one or newer" is no condition.
    test = (
        f"!= {_text(kinds[0])}" if len(kinds) == 1 else f"not in ({', '.join(map(_text, kinds))})"
    )
    yield Condition(
        f"plan.gpu is not None and plan.gpu.capability {test}",
        'f"{plan.gpu.name} is compute capability {plan.gpu.capability}"',
        lambda p: p.gpu.capability in kinds if p.gpu is not None else None,
        lambda p: f"{p.gpu.name} is compute capability {p.gpu.capability}" if p.gpu else "",
        "plan.gpu is None", _text("the GPU (--gpu)"), setting="gpu",
    )  # fmt: skip


def _traits(hits: Sequence[Plan], misses: Sequence[Plan]) -> Iterator[Condition]:
    traits: list[_Trait] = [
        ("is_latent(plan.arch)", "not is_latent(plan.arch)", "keep a latent", is_latent),
        ("is_sparse(plan.arch)", "not is_sparse(plan.arch)", "are sparse MLA", is_sparse),
        ("keeps_state(plan.arch)", "not keeps_state(plan.arch)", "keep a state", keeps_state),
        ("window_layers(plan.arch) > 0", "window_layers(plan.arch) == 0", "have a window",
         lambda arch: window_layers(arch) > 0),
    ]  # fmt: skip
    widths = {w for h in hits if h.arch is not None for w in h.arch.head_sizes()}
    traits += [
        (f"{width} in plan.arch.head_sizes()", f"{width} not in plan.arch.head_sizes()",
         f"have heads of {width}", _wide(width))
        for width in sorted(widths)
    ]  # fmt: skip
    for trait in traits:
        for wanted in (True, False):
            condition = _trait(*trait, wanted)
            if any(condition.holds(m) is False for m in misses):
                yield condition


def _trait(
    has: str, hasnt: str, words: str, test: Callable[[Architecture], bool], wanted: bool
) -> Condition:
    said, denied = f"layers of the model {words}", f"none of the model's layers {words}"
    name = has.partition("(")[0]
    return Condition(
        f"plan.arch is not None and {hasnt if wanted else has}",
        _text(said if wanted else denied),
        lambda p: (test(p.arch) is wanted) if p.arch is not None else None,
        lambda p: denied if wanted else said,
        "plan.arch is None",
        'plan.lacks("model") or "the model\'s config"',
        (name,) if name.isidentifier() else (),
        setting="model",
    )


def _wide(width: int) -> Callable[[Architecture], bool]:
    return lambda arch: width in arch.head_sizes()


def _differs(value: object, others: set[Any]) -> bool:
    return value is not None and value not in others


def _numbers(values: Sequence[Any]) -> bool:
    return all(type(v) in (int, float) for v in values)


def _flag(name: str, plans: Sequence[Plan]) -> str:
    for plan in plans:
        given = plan.deployment.last(name)
        if given is not None and given.written.startswith("-"):
            return given.written.partition("=")[0]
    return f"--{name.replace('_', '-')}"


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _or_none(version: str) -> str:
    return _text(version) if version else "None"
