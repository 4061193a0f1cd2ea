"""What the engine's gates say, as HTML: the backend that runs, and why the others won't."""

from __future__ import annotations

from collections.abc import Iterator

from kvgate.answers.markup import Html, element
from kvgate.attention.report import BackendVerdict, Group, Report
from kvgate.attention.sglang.outcome import Outcome
from kvgate.plan import Plan

__all__ = ["gates"]


def gates(plan: Plan) -> Html | None:
    """A section with the backend and the reasons; the missing fact where gates weren't asked."""
    title = element("h3", "Which attention backend runs")
    if plan.gates is not None:
        return element("section", title, *_report(plan.gates))
    if plan.outcome is not None:
        return element("section", title, *_outcome(plan.outcome))
    lacks = plan.lacks("gates")
    return element("section", title, element("p", f"Not known: {lacks}.")) if lacks else None


def _report(report: Report) -> Iterator[Html]:
    if report.error:
        yield element("p", element("code", report.error), class_="kv-bad")
    elif report.selected:
        bad = any(f.certain for f in report.then_fails)
        mark = "kv-bad" if bad else "kv-good"
        yield element("p", element("strong", report.selected, class_=mark))
    else:
        yield element("p", "No attention layer to choose for.")
    for failure in report.then_fails:
        sure = "" if failure.certain else " (reported, not read in the code)"
        say = f"{failure.backend} is chosen, then fails at the {failure.stage}{sure}: "
        yield element("p", say, element("code", failure.text), class_="kv-bad")
    head = element("tr", *(element("th", t, scope="col") for t in ("Backend", "Verdict")))
    for group in report.groups:
        if group.head_size is None:
            continue
        failing = {f.backend for f in report.then_fails if f.certain}
        rows = (_row(backend, group, failing) for backend in group.backends)
        table = element(
            "table", element("caption", _layers(group)), element("thead", head),
            element("tbody", *rows), class_="kv-data",
        )  # fmt: skip
        yield element("div", table, class_="kv-scroll", tabindex="0")
    notes = [*report.notes, *(f"Warning: {text}" for text in report.warnings)]
    if notes:
        yield element("ul", *(element("li", note) for note in notes))


def _row(backend: BackendVerdict, group: Group, failing: set[str]) -> Html:
    if backend.name == group.selected and backend.name in failing:
        verdict = element("strong", "chosen, then fails", class_="kv-bad")
    elif backend.name == group.selected:
        verdict = element("strong", "runs", class_="kv-good")
    else:
        verdict = element("span", "; ".join(backend.reasons) or "valid, and not chosen")
    name = element("th", element("code", backend.name), scope="row")
    return element("tr", name, element("td", verdict))


def _layers(group: Group) -> str:
    count = len(group.layers)
    dtype = f", stored as {group.kv_cache_dtype}" if group.kv_cache_dtype else ""
    dtype = "" if group.kv_cache_dtype == "auto" else dtype
    return f"{count} {group.kind} layers, {group.head_size} wide{dtype}"


def _outcome(outcome: Outcome) -> Iterator[Html]:
    if outcome.error:
        yield element("p", element("code", outcome.error), f" ({outcome.when})", class_="kv-bad")
    elif outcome.selected:
        page = f", pages of {outcome.page_size}" if outcome.page_size else ""
        dtype = f", KV dtype {outcome.kv_dtype}" if outcome.kv_dtype else ""
        chosen = element("strong", outcome.selected, class_="kv-good")
        yield element("p", chosen, f"{page}{dtype}")
    notes = [f"SGLang changes {note}" for note in outcome.notes]
    notes += [f"Warning: {text}" for text in outcome.warnings]
    if notes:
        yield element("ul", *(element("li", note) for note in notes))
