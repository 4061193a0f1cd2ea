"""A plan as HTML: the verdict, both KV answers with their formulas, the chart, what bites."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from kvgate.answers.checking import Checked
from kvgate.answers.gatespage import gates
from kvgate.answers.markup import Html, element, joined
from kvgate.answers.planner import Planned
from kvgate.kvcache.lines import Line
from kvgate.kvcache.lines import sizing as lines_of
from kvgate.kvcache.plot import plot_svg
from kvgate.kvcache.size import Sizing
from kvgate.plan import Plan
from kvgate.rules import Judged
from kvgate.units import format_bytes

__all__ = ["To", "linked", "plan_html"]

_UNVERSIONED = re.compile(r"==0(?![.\d])")  # of engines whose releases kvgate doesn't hold

To = Callable[[str], str | None]
"""Gives the address of a record's page, or of what explains a code, as the asking page links it;
None where the site has no such page."""


def linked(paths: Mapping[str, str], root: str) -> To:
    """Addresses below ``root``, from those of the pages of records and codes."""
    return lambda id_: root + paths[id_] if id_ in paths else None


def plan_html(planned: Planned, to: To) -> Html:
    """Everything that the planner page shows for a form that could be answered."""
    parts = [
        joined(*_deployment(one, sizing, to, named=len(planned.checks) > 1))
        for one, sizing in zip(planned.checks, planned.sizings, strict=True)
    ]
    return joined(*parts, _commands(planned))


def _deployment(
    one: Checked, sizing: Sizing | None, to: To, *, named: bool
) -> Iterator[Html | None]:
    if named:
        yield element("h2", one.plan.deployment.name or str(one.plan.deployment.place))
    yield _verdict(one, sizing)
    if sizing is not None:
        yield _figures(sizing)
    backends = gates(one.plan)
    yield element(
        "div", element("div", _found(one, to)), element("div", _chart(sizing), backends),
        class_="kv-two",
    )  # fmt: skip
    if sizing is not None:
        yield _formulas(sizing)
    yield _open(one, to)
    yield _notes(one.plan, sizing)


def _verdict(one: Checked, sizing: Sizing | None) -> Html:
    """One sentence: it won't start, it doesn't fit, it fits, or what it needs."""
    stops = [f for f in one.found if f.severity == "blocks-start"]
    where = f" on {one.plan.gpu.name}" if one.plan.gpu else ""
    engine = str(one.plan.release) if one.plan.release else one.plan.engine
    about = f"{engine.replace('==', ' ')}{where}"
    stopped = f"It does not start: {stops[0].finding.message}" if stops else ""
    if sizing is not None:
        _, text, style = next(iter(lines_of(sizing)))
        if style != "bad" and stops:
            text, style = stopped, "bad"
    elif stops:
        text, style = stopped, "bad"
    else:
        why = one.plan.lacks("model") or one.plan.lacks("size")
        text = f"Its memory could not be sized: {why}" if why else "Its memory could not be sized"
        style = ""
    if sizing is not None and style == "bad" and text != stopped and _unattended(one.plan):
        # More memory alone would not help: that must not stand far below.
        text += "; nor does an attention backend run for it"
    mark = {"good": "kv-good", "bad": "kv-bad"}.get(style, "")
    return element(
        "p", element("strong", text, class_=mark or None), " ",
        element("span", about, class_="kv-type"), class_="kv-verdict",
    )  # fmt: skip


def _unattended(plan: Plan) -> bool:
    """Whether it is certain that the engine stops at its attention backend."""
    if plan.outcome is not None and plan.outcome.error:
        return True
    gates_ = plan.gates
    return gates_ is not None and (bool(gates_.error) or any(f.certain for f in gates_.then_fails))


def _figures(sizing: Sizing) -> Html:
    """Both answers in large figures, the need first, each with what it counts."""
    need, pool = sizing.needs, sizing.pool
    rows = [(format_bytes(need.bytes_per_token), "a token, whole model, one copy")]
    rows.append((format_bytes(sizing.sequence_bytes), f"one sequence of {_n(sizing)} tokens"))
    parts = [_tiles("The model needs", rows)]
    if pool is not None:
        about = "" if pool.memory.known else (
            f", {format_bytes(pool.memory.low)} to {format_bytes(pool.memory.high)}"
        )  # fmt: skip
        rows = [(format_bytes(pool.memory.likely), f"KV memory per GPU{about}")]
        if pool.tokens is not None:
            rows.append((f"{pool.tokens:,}", "tokens in the pool"))
        if pool.max_concurrency is not None:
            rows.append((f"{pool.max_concurrency:.2f}x", "full-length sequences at once"))
        if pool.longest is not None:
            rows.append((f"{pool.longest:,}", "tokens, the longest that fits"))
        else:
            rows.append(("no limit", "to a sequence: nothing grows with it"))
        parts.append(_tiles(f"{_engine(sizing)} reserves", rows))
    return element("div", *parts, class_="kv-figures")


def _chart(sizing: Sizing | None) -> Html | None:
    if sizing is None:
        return None
    chart = Html(plot_svg(sizing))
    return element("figure", chart, class_="kv-chart", tabindex="0", aria_label="Chart of memory")


def _tiles(title: str, rows: Iterable[tuple[str, str]]) -> Html:
    tiles = (element("div", element("dt", about), element("dd", figure)) for figure, about in rows)
    return element("section", element("h3", title), element("dl", *tiles))


def _found(one: Checked, to: To) -> Html:
    """What bites, worst first, each linked to its record."""
    if not one.found:
        known = not one.plan.unknown
        say = "No gotcha fires." if known else "No gotcha fires, in what could be asked."
        mark = "kv-good" if known else None
        return element("section", element("h3", "What bites"), element("p", say, class_=mark))
    items = (_judged(found, to) for found in one.found)
    return element("section", element("h3", "What bites"), element("ul", *items, class_="kv-list"))


def _judged(one: Judged, to: To) -> Html:
    finding = one.finding
    record = None if one.id.startswith("KV") else one.id
    return element(
        "li",
        element("a", one.title, href=to(one.id), class_="kv-link", data_kv_id=record),
        element("span", one.severity.replace("-", " "), class_="kv-type"),
        element("p", finding.message) if finding.message != one.title else None,
        element("ul", *(element("li", fact) for fact in finding.because))
        if finding.because else None,
        element("p", element("strong", "Fix: "), element("code", finding.fix))
        if finding.fix else None,
        class_=f"kv-{one.severity}",
    )  # fmt: skip


def _formulas(sizing: Sizing) -> Html:
    """The very lines that ``kvgate size`` prints, by section."""
    sections: list[tuple[str, list[Line]]] = []
    for line in list(lines_of(sizing))[1:]:
        if line[2] == "head":
            sections.append((_UNVERSIONED.sub("", line[1]).replace("==", " "), []))
        elif line[1]:
            sections[-1][1].append(line)
    parts = [
        element("section", element("h4", title), element("ul", *map(_line, lines)))
        for title, lines in sections
        if title != "Assumed"
    ]
    return element(
        "details", element("summary", "Formulas"), element("div", *parts), class_="kv-formulas",
        open=True,
    )  # fmt: skip


def _line(line: Line) -> Html:
    indent, text, _ = line
    return element("li", text, class_="kv-from" if indent > 2 else None)


def _open(one: Checked, to: To) -> Html | None:
    """Records that couldn't be decided, by the fact that they lack."""
    if not one.undecided:
        return None
    by_fact: dict[str, list[str]] = {}
    for open_ in one.undecided:
        by_fact.setdefault(open_.lacks, []).append(open_.id)
    items = []
    for lacks, ids in by_fact.items():
        links: list[Html | str] = []
        for id_ in ids:
            links += [", " if links else "", element("a", id_, href=to(id_), data_kv_id=id_)]
        items.append(element("li", f"for want of {lacks}: ", *links))
    title = f"{len(one.undecided)} could not be decided"
    return element(
        "details", element("summary", title), element("ul", *items), class_="kv-undecided"
    )


def _notes(plan: Plan, sizing: Sizing | None) -> Html | None:
    notes = [*plan.assumed, *(sizing.assumptions if sizing else ())]
    notes += [f"unknown {u.what}: {u.lacks}" for u in plan.unknown]
    if not notes:
        return None
    items = (element("li", note) for note in dict.fromkeys(notes))
    title = f"{len(dict.fromkeys(notes))} assumed or unknown"
    return element("details", element("summary", title), element("ul", *items), class_="kv-assumed")


def _commands(planned: Planned) -> Html:
    """What was asked, and how to ask it in a terminal."""

    def shown(text: str) -> Html:
        code = element("code", text)
        return element("div", element("pre", code), class_="highlight kv-command")

    commands = shown("\n".join(planned.commands))
    if planned.file:
        return element(
            "section", element("h3", "In a terminal"),
            element("p", "With what you pasted in ", element("code", planned.file), ":"), commands,
        )  # fmt: skip
    return element(
        "section", element("h3", "The command line"), shown(planned.line),
        element("p", "The same answer in a terminal:"), commands,
    )  # fmt: skip


def _engine(sizing: Sizing) -> str:
    name, _, version = sizing.engine.partition("==")
    return name if version in ("", "0") else f"{name} {version}"


def _n(sizing: Sizing) -> str:
    return f"{sizing.max_model_len:,}"
