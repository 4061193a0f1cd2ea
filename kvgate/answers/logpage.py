"""What a log points to, as HTML."""

from __future__ import annotations

from kvgate.answers.known import Known
from kvgate.answers.markup import Html, element, joined
from kvgate.answers.planpage import To
from kvgate.diagnose.answer import Answer

__all__ = ["log_html"]


def log_html(answer: Answer, known: Known, to: To, *, most: int = 5) -> Html:
    """The records that a log points to, best first; else the nearest by its words, as guesses."""
    heads = known.by_id
    if answer.matches:
        say = "This is in the log:"
        if len(answer.matches) > 1:
            say = "These are in the log, the likeliest first:"
        items = []
        for match in answer.matches[:most]:
            head = heads[match.id]
            items.append(
                element(
                    "li", _link(head.id, head.title, to),
                    element("span", f"line {match.line:,} of the log", class_="kv-type"),
                    element("p", element("code", match.text)),
                    element("p", f"{match.grounds}.") if match.grounds else None,
                    class_=f"kv-{head.severity}",
                )
            )  # fmt: skip
        return joined(element("p", say), element("ul", *items, class_="kv-list"))
    if answer.guesses:
        say = "No record's signature stands in this log. By its words, these are the nearest:"
        items = [
            element("li", _link(i, heads[i].title, to), class_=f"kv-{heads[i].severity}")
            for i, _ in answer.guesses
        ]
        return joined(element("p", say), element("ul", *items, class_="kv-list"))
    return element("p", "No record's signature stands in this log, and none is near by its words.")


def _link(id_: str, title: str, to: To) -> Html:
    return element("a", title, href=to(id_), class_="kv-link", data_kv_id=id_)
