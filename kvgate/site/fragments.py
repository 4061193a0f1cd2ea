"""The HTML around a record's text, from templates that escape everything they are given."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

__all__ = ["fragment"]


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("kvgate.site", "templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["words"] = lambda text: str(text).replace("-", " ")
    return environment


def fragment(template: str, **values: Any) -> str:
    """One template of ``templates/`` filled in; an unknown name in it is an error."""
    return _environment().get_template(template).render(**values)
