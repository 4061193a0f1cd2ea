"""Raw HTML of a page as text: for pages that strangers write.

What is HTML is decided as always (so a comment stays hidden, and nothing that the linter takes as
HTML is rendered as Markdown); it is only shown with its angle brackets instead of acting.
"""

from __future__ import annotations

import html
import re
from typing import Any

from markdown import Markdown
from markdown.extensions import Extension
from markdown.htmlparser import HTMLExtractor
from markdown.inlinepatterns import HTML_RE, HtmlInlineProcessor
from markdown.preprocessors import Preprocessor

__all__ = ["RawHtmlAsText"]


class RawHtmlAsText(Extension):
    """Register it after ``md_in_html``, which would read on inside elements that ask for it."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - Python-Markdown's name
        """Replace the two places where Python-Markdown lets HTML through."""
        md.preprocessors.register(_Blocks(md), "html_block", 20)
        md.inlinePatterns.register(_Inline(HTML_RE, md), "html", 90)


class _Blocks(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        parser = HTMLExtractor(_Harmless(self.md))  # type: ignore[arg-type]
        parser.feed("\n".join(lines))
        parser.close()
        return "".join(parser.cleandoc).split("\n")


class _Harmless:
    """Stands in for the Markdown instance: what the extractor stores is stored as text."""

    def __init__(self, md: Markdown) -> None:
        self._md = md
        self.htmlStash = self

    def store(self, raw: str) -> str:
        text = _shown(raw)
        return self._md.htmlStash.store(f"<p>{text}</p>" if text.strip() else "")

    def is_block_level(self, tag: Any) -> bool:
        return self._md.is_block_level(tag)


class _Inline(HtmlInlineProcessor):
    def handleMatch(  # type: ignore[override]  # noqa: N802 - Python-Markdown's name
        self, m: re.Match[str], data: str
    ) -> tuple[str, int, int]:
        raw = self.backslash_unescape(self.unescape(m[1]))
        return self.md.htmlStash.store(_shown(raw)), m.start(0), m.end(0)


_COMMENT = re.compile(r"<!--.*?--!?>", re.DOTALL)


def _shown(raw: str) -> str:
    return html.escape(_COMMENT.sub("", raw), quote=False)
