"""Claims as they stand on a record's page: each named one can be linked to, code lightly coloured.

A general highlighter spends more time on these fences than anything else on the page; claims are a
small part of Python, which one expression can read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from typing import Any

from markupsafe import Markup

__all__ = ["claim_fence", "claims_html"]

_PROMPT = re.compile(r"([ \t]*)(>>>|\.\.\.)( ?)(.*)")
_NAME = re.compile(r"#\s*claims?\s*:\s*([a-z0-9]+(?:[-_.][a-z0-9]+)*)\s*\Z", re.IGNORECASE)
# The classes are Pygments', whose colours the theme has for both schemes.
_TOKEN = re.compile(
    r"(?P<c1>#.*)"
    r"|(?P<s2>[fFrRbB]{0,2}(?:\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'))"
    r"|(?P<mi>\b\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?\b)"
    r"|(?P<k>\b(?:and|else|for|if|in|is|not|or|None|True|False)\b)"
    r"|(?P<n>\b[A-Za-z_]\w*\b)"
)


def claim_fence(on: Callable[[], bool], *, runs: bool = False) -> dict[str, Any]:
    """A fence for pymdownx.superfences, in force on the pages for which ``on`` says so.

    ``runs`` says whether the site has a worker that evaluates claims anew.
    """

    def fits(language: str, inputs: Any, options: Any, attrs: Any, md: Any) -> bool:
        return on() and not inputs

    def format_(source: str, *_: Any, **__: Any) -> Markup:
        return claims_html(source, runs=runs)

    return {"name": "pycon", "class": "pycon", "format": format_, "validator": fits}


def claims_html(source: str, *, runs: bool = False) -> Markup:
    """The HTML of a fence of prompts and outputs, marked where a reader can change and run it."""
    lines = [_line(line) for line in source.split("\n")]
    code = "\n".join(lines)
    mark = " data-kv-run" if runs else ""
    shown = f'<pre><code tabindex="0">{code}\n</code></pre>'
    html = f'<div class="highlight kv-claims"{mark}>{shown}</div>'
    return Markup(html)  # noqa: S704 - each line of it is escaped


def _line(line: str) -> str:
    prompt = _PROMPT.match(line)
    if not prompt:
        return f'<span class="go">{escape(line, quote=False)}</span>' if line else ""
    indent, mark, space, code = prompt.groups()
    return f'{indent}<span class="gp">{escape(mark)}{space}</span>{_code(code)}'


def _code(code: str) -> str:
    parts, at = [], 0
    for token in _TOKEN.finditer(code):
        kind = token.lastgroup
        if kind == "n":
            continue
        parts.append(escape(code[at : token.start()], quote=False))
        if kind == "c1" and (name := _NAME.match(token[0])):
            # Not on the span: the theme takes a span with an id in code for a numbered line.
            parts.append(f'<a id="claim-{name[1].lower()}"></a>')
        parts.append(f'<span class="{kind}">{escape(token[0], quote=False)}</span>')
        at = token.end()
    return "".join([*parts, escape(code[at:], quote=False)])
