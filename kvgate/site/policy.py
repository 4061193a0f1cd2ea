"""The content security policy of a built page: what it may load and run, and nothing else.

It is a second wall. That no text of a record acts is the work of ``inert``; should something slip
through, a browser still runs only this site's own files and the few scripts that the theme writes
into its pages. Those are known by their hashes, and the hashes are taken from the theme's
templates, never from the finished page: a script that got into a page isn't allowed by being there.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from functools import cache
from hashlib import sha256

from jinja2 import Environment
from mkdocs.config.defaults import MkDocsConfig

__all__ = ["policy"]

# Material's templates whose scripts stand in the page: where it is served, its colours, its tabs.
_PARTIALS = ("base", "palette", "content")
_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)

# The planner computes in a worker of this site, with kvgate as WebAssembly's guest. Pictures as
# data are the theme's icons. A page in a frame of another site can't be told by a meta element:
# that takes a header of the server (`frame-ancestors`).
_RULES = (
    "default-src 'none'",
    "script-src 'self' 'wasm-unsafe-eval' {hashes}",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "worker-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
)


def policy(environment: Environment, config: MkDocsConfig) -> Callable[[str], str]:
    """The policy of a page by the relative address of the site's root, for the templates."""
    load = environment.loader
    assert load is not None
    scripts = [
        script
        for name in _PARTIALS
        for script in _SCRIPT.findall(
            load.get_source(environment, f"partials/javascripts/{name}.html")[0]
        )
    ]

    @cache
    def of(base_url: str) -> str:
        made = (
            environment.from_string(s).render(base_url=base_url, config=config) for s in scripts
        )
        hashes = " ".join(f"'sha256-{_digest(script)}'" for script in made)
        return "; ".join(_RULES).format(hashes=hashes)

    return of


def _digest(script: str) -> str:
    return base64.b64encode(sha256(script.encode()).digest()).decode()
