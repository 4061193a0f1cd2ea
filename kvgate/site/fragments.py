"""The HTML around a record's text, from templates that escape everything they are given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from kvgate.diagnose.signature import Signature
from kvgate.errors import InputError

__all__ = ["fragment", "headings", "holes", "named"]

_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+")
_TAG = re.compile(r"<[^<>]*>")
_HEADING = re.compile(r'<h2 id="([^"]+)">(.*?)</h2>', re.DOTALL)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("kvgate.site", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["words"] = lambda text: str(text).replace("-", " ")
    environment.filters["sentence"] = lambda text: f"{str(text).rstrip('.')}."
    environment.filters["holes"] = holes
    environment.filters["named"] = named
    return environment


@cache
def _template(name: str) -> Template:
    return _environment().get_template(name)


def fragment(template: str, **values: Any) -> str:
    """One template of ``templates/`` filled in; an unknown name in it is an error."""
    return _template(template).render(**values)


def holes(signature: str) -> Markup:
    """A signature with its holes marked, escaped."""
    try:
        parts = Signature(signature).parts
    except InputError:  # the linter says so
        return escape(signature)
    pieces = (
        escape(literal) if kind == "text" else Markup("<var>{%s}</var>") % kind
        for kind, literal in parts
    )
    return Markup("").join(pieces)


def named(text: str, names: Mapping[str, str]) -> Markup:
    """Text in which each id of ``names`` is replaced by its emphasised name, escaped."""
    parts, at = [], 0
    for word in _ID.finditer(text):
        if word[0] in names:
            parts += [escape(text[at : word.start()]), Markup("<em>%s</em>") % names[word[0]]]
            at = word.end()
    return Markup("").join([*parts, escape(text[at:])])


def headings(html: str) -> list[tuple[str, str]]:
    """(id, title as HTML without tags) of each second-level heading of a fragment."""
    return [(id_, _TAG.sub("", title)) for id_, title in _HEADING.findall(html)]
