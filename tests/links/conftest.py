"""The renderer in use, and generated pages full of what Markdown's rules meet badly in."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import strategies as st
from markdown import Markdown

from kvgate.records import dialect
from kvgate.records.markdown import WikiLinkExtension
from kvgate.records.targets import Target


@dataclass(frozen=True)
class Rendered:
    """A rendered page: its HTML, its wiki-links as (target, heading), the ids of its headings."""

    html: str
    links: list[tuple[str, str]]
    headings: list[str]


class Everywhere:
    """Every link leads somewhere; the id carries what the renderer understood."""

    def link(self, target: str, heading: str) -> Target:
        return Target("#", f"{target}#{heading}")


Renderer = Callable[..., Rendered]


@pytest.fixture(scope="session")
def render() -> Renderer:
    """Render a page with everything the site renders with; ``extra`` are further extensions."""
    links = WikiLinkExtension(links=Everywhere())

    def run(text: str, *extra: object, markdown_in_html: bool = False) -> Rendered:
        extensions = [e for e in dialect.EXTENSIONS if markdown_in_html or e != "md_in_html"]
        md = Markdown(
            extensions=[*extensions, links, *extra],  # type: ignore[list-item]
            extension_configs=dialect.CONFIGS,
        )
        page = md.convert(text)
        seen = re.sub("<!--.*?-->", "", page, flags=re.DOTALL)
        ids = re.findall(r'<a [^<>]*data-kv-id="([^"]*)"', seen)
        return Rendered(
            page,
            [(t, h) for t, _, h in (html.unescape(found).partition("#") for found in ids)],
            [html.unescape(i) for i in re.findall(r'<h[1-6][^<>]* id="([^"]*)"', seen)],
        )

    return run


# Pieces of a line. {} becomes a number, so that every link has a target of its own.
INLINE = r"""
[[a{}]]|[[a{}¦lab]]|[[a{}\¦lab]]|[[a{}#h x]]|[[#h{}]]|![[a{}]]|\[[a{}]]|`[[a{}]]`|``[[a{}]]``
`|``|\`|*|**|_|[|]|(|)|](u)|[x|<code>|</code>|<b>|</b>|<!--|-->|<b title="|">|[^1]|[1]|¦|\¦|\|\\
!|word|$|<|> |<a href=x>|</a>|[[a{}¦see [1]]]|[[a{} [[b]]]]|x[[0]][[1]]|[[ -f x ]]
https://x/[[a{}]]|<https://x/[[a{}]]>|[t](http://x/[[a{}]])|[see [[a{}]] x](u)|&amp;|`` ` ``|==
[[a{}¦`c`]]|[[a{}¦`c]]`|[[a{}#`c`]]|![alt [[a{}]]](s)|[[a{}]](u)|[[a{}]][1]|{.c}|[[Ü{}]]|<span>
</span>|<script>|</script>|<pre>|</pre>|<div>|</div>|- |1. |: |#|&|e.g.|  |[[a{}]]|[[a{}]]
[[a{}¦lab]]|word|word
""".strip()
PIECES = [piece.replace("¦", "|") for line in INLINE.split("\n") for piece in line.split("|")]
PIECES += ["\n", "  \n", "\t", "[[a{}\n b]]"]
BEGINNINGS = [
    *["", "", "", "", "", "", "- ", "    - ", "1. ", "    ", "> ", "> > ", "        ", "# ", "## "],
    *["| ", "```\n", "~~~\n", "````\n", "    ```\n", "> ```\n", "[^1]: ", "[1]: ", ":   ", "  "],
    *["!!! note\n    ", "??? x\n    ", "<div>\n", "</div>\n", "<!--\n", "-->\n", "<pre>\n"],
    *["</pre>\n", "|---|---|\n", "---\n", "===\n", "\n", "\n", "\n", "* * *\n", "<div markdown>\n"],
    *["| a | b |\n|---|---|\n", "<script>\n", "</script>\n"],
]


@st.composite
def pages(draw: st.DrawFn) -> str:
    """A page of a few blocks, each of pieces that disturb each other."""
    parts: list[str] = []
    number = 0
    for _ in range(draw(st.integers(1, 6))):
        parts.append(draw(st.sampled_from(BEGINNINGS)))
        for piece in draw(st.lists(st.sampled_from(PIECES), max_size=5)):
            number += 1
            space = " " if draw(st.booleans()) else ""
            parts.append(piece.replace("{}", str(number)) + space)
        parts.append(draw(st.sampled_from(["\n", "\n\n", "\n\n"])))
    return "".join(parts).lstrip()


@pytest.fixture(scope="session")
def nasty_pages() -> st.SearchStrategy[str]:
    """Generated pages; see ``pages``."""
    return pages()
