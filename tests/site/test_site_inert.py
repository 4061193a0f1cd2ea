"""A record that carries HTML, scripts or pictures of elsewhere is shown, and does nothing."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from lxml import html
from lxml.html import HtmlElement
from markdown import Markdown

from kvgate.records.markdown import WikiLinkExtension
from kvgate.site.claimfence import claim_fence, claims_html
from kvgate.site.inert import InertExtension

if TYPE_CHECKING:
    from tests.site.conftest import Built

# A plain record in whose every text and value somebody tries to have something done.
EVIL_FRONT = """\
fix: Run <script>alert("fix")</script> &amp; <img src=x onerror=alert(1)>
signatures:
  - text: "A log says <script>alert(1)</script> and {*} more"
    sample: "A log says <script>alert(1)</script> and no more"
rule: made_up_rule
hits:
  - run: vllm serve "</code><script>alert(2)</script>" --x $(reboot)
    on: {gpu: H100, engine: vllm==0.19.1}
    because: <b onmouseover=alert(3)>so</b>
misses:
  - run: vllm serve org/model
    on: {gpu: H100, engine: vllm==0.33.0}
    because: <iframe src=https://evil.example/></iframe>
aliases: ["<svg onload=alert(4)>", 'a"onload="alert(4)']
"""
EVIL_TEXT = """\
<script>alert(5)</script>

<div onclick="alert(6)">

Inside.

</div></article></main>

<iframe src="https://evil.example/frame"></iframe>

Inline <img src="https://evil.example/a.png" onerror="alert(7)"> and <b style="color:red">bold</b>.

![a picture](https://evil.example/b.png) ![another](//evil.example/c.png)
![slashes](/\\\\evil.example/d.png) ![data](data:image/svg+xml,<svg/onload=alert(8)>)
![entity](htt&#112;s://evil.example/e.png)

[one](javascript:alert(9)) [two](JaVaScRiPt:alert(9)) [three](java&#115;cript:alert(9))
[four](java\tscript:alert(9)) [five](<java script:alert(9)>) [six](vbscript:x)
[seven](data:text/html,x)
[eight](javascript&colon;alert(9)) [nine](http://[bad) [ten](java\\script:alert(9))

[ref][evil] and <javascript:alert(10)> and <https://fine.example/>

[evil]: javascript:alert(10) "title\\" onclick=alert(10)"

A paragraph with attributes.
{: onclick="alert(11)" style="position:fixed" class="md-overlay kv-glance mermaid fine" id=own }

### A heading {: onmouseover=alert(12) data-md-component=source }

!!! note md-dialog "A <script>alert(13)</script> title"
    Text.

=== "A tab"

    Inside of it.

| a | b |
|--:|---|
| <script>alert(14)</script> | 1 |

```{.python onclick="alert(15)" .mermaid #__drawer}
print("<script>alert(15)</script>")
```

```python title="<script>alert(16)</script>"
x = 1
```

```mermaid
graph TD; A-->B
```

`<script>alert(17)</script>` and `#!python "<script>"`.

*[HTML]: <script>alert(18)</script>

HTML.

<!-- a comment with <script>alert(19)</script> -->

<style>body { display: none }</style>

&lt;script&gt;alert(20)&lt;/script&gt; &#60;script&#62;

[[first-step|<img src=x onerror=alert(21)>]] and [[<script>alert(22)</script>]]
"""
ACTS = {
    "script", "iframe", "object", "embed", "style", "link", "meta", "base", "form", "svg", "math",
    "video", "audio", "source", "picture", "template", "noscript", "img",
}  # fmt: skip
EXTENSIONS = [
    "abbr", "admonition", "attr_list", "def_list", "footnotes", "md_in_html", "tables", "toc",
    "pymdownx.details", "pymdownx.highlight", "pymdownx.inlinehilite", "pymdownx.superfences",
    "pymdownx.tabbed",
]  # fmt: skip


def rendered(text: str, *, on: bool = True) -> str:
    """A text as a record's page is rendered."""
    fences = {"custom_fences": [claim_fence(lambda: on)]}
    configs: dict[str, dict[str, Any]] = {
        "pymdownx.superfences": fences,
        "pymdownx.tabbed": {"alternate_style": True},
    }
    extensions: list[Any] = [*EXTENSIONS, WikiLinkExtension(), InertExtension(on=lambda: on)]
    return Markdown(extensions=extensions, extension_configs=configs).convert(text)


def alone(text: str) -> HtmlElement:
    """The body of a page whose one element holds a text, as a browser would read it."""
    (body,) = html.document_fromstring(f"<body><main>{text}</main></body>").iter("body")
    assert isinstance(body, HtmlElement)
    return body


def acting(tree: HtmlElement, *, allowed: frozenset[str] = frozenset()) -> list[str]:
    """Whatever in a tree would do something, as text."""
    found = []
    for element in tree.iter():
        if not isinstance(element.tag, str):
            continue
        if element.tag in ACTS - allowed:
            found.append(html.tostring(element, encoding="unicode")[:120])
        for name, value in element.attrib.items():
            address = "".join(value.split()).casefold()
            acts = name.startswith("on") or name in ("srcdoc", "srcset", "formaction", "ping")
            if name in ("href", "src", "xlink:href", "action") and not value.startswith("#"):
                scheme = urlsplit(address).scheme if "[" not in address else "unreadable"
                acts = acts or scheme not in ("", "http", "https", "mailto")
                acts = acts or ":" in address.split("/")[0].removeprefix(f"{scheme}:")
            if name == "style":
                acts = not value.startswith("text-align:")
            if name == "class":
                acts = any(c.startswith("md-") or c == "mermaid" for c in value.split())
            if name.startswith("data-md"):
                acts = True
            if acts:
                found.append(f"{element.tag} {name}={value}")
    return found


@pytest.mark.parametrize("block", EVIL_TEXT.split("\n\n"))
def test_nothing_that_a_record_s_text_says_acts(block: str) -> None:
    body = alone(rendered(block))
    assert not acting(body)
    assert [element.tag for element in body] == ["main"]  # nothing in it has closed it


def test_nothing_acts_where_one_block_of_the_text_could_use_another() -> None:
    body = alone(rendered(EVIL_TEXT))
    assert not acting(body)
    assert [element.tag for element in body] == ["main"]


def test_the_same_text_does_act_where_it_is_not_made_inert() -> None:
    assert acting(html.fromstring(f"<main>{rendered(EVIL_TEXT, on=False)}</main>"))


def test_raw_html_is_shown_as_it_was_written() -> None:
    assert "&lt;b&gt;bold&lt;/b&gt;" in rendered("A <b>bold</b> word.")
    assert "&lt;div onclick=&quot;x&quot;&gt;" in rendered('<div onclick="x">\n\nInside.\n\n</div>')


def test_a_comment_is_not_shown() -> None:
    found = rendered("Before.\n\n<!-- [[a]] hidden -->\n\nAfter <!-- this too --> all.")
    assert "hidden" not in found
    assert "this too" not in found


def test_a_picture_of_elsewhere_becomes_a_link_to_it() -> None:
    found = rendered("![a picture](https://elsewhere.example/b.png)")
    assert '<a href="https://elsewhere.example/b.png">a picture</a>' in found


def test_tables_keep_their_alignment_and_tabs_their_parts() -> None:
    assert 'style="text-align: right;"' in rendered("| a | b |\n|--:|---|\n| 1 | 2 |")
    tabs = rendered('=== "One"\n\n    Inside.\n')
    assert '<input checked="checked"' in tabs
    assert 'type="radio"' in tabs


def test_links_and_mail_addresses_still_work() -> None:
    found = rendered(
        "[a](https://a.example/?q=1&b=2#c) <https://b.example/> <me@c.example> [d](../d/)"
    )
    hrefs = html.fromstring(found).xpath("//a/@href")
    assert hrefs == [
        "https://a.example/?q=1&b=2#c", "https://b.example/", "mailto:me@c.example", "../d/",
    ]  # fmt: skip


def test_a_claim_s_code_is_escaped_whatever_it_holds() -> None:
    source = (
        '>>> "<script>alert(1)</script>"  # claim: a<b>\n<img src=x onerror=alert(2)>\n'
        '>>> f"{x}</code>" # claim: fine\n... "<b>"\n\n'
    )
    tree = html.fromstring(str(claims_html(source)))
    assert not acting(tree)
    assert "".join(map(str, tree.itertext())).strip("\n") == source.strip("\n")
    assert tree.xpath("//a/@id") == ["claim-fine"]


@pytest.mark.slow
def test_an_evil_record_is_harmless_on_its_page_and_on_all_others(
    base: Callable[..., Path],
    text: Callable[..., str],
    mkdocs: Callable[..., subprocess.CompletedProcess[str]],
    base_site: Built,
) -> None:
    title = "A title with <script>alert(0)</script> & \"quotes' of each kind"
    evil = text("evil", title, front=EVIL_FRONT, notes=EVIL_TEXT, symptom="<b onclick=a>b</b>")
    folder = base({"evil.md": evil, "first-step.md": text("first-step", cause="See [[evil]].")})
    done = mkdocs(folder)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    harmless = base_site.page("gotchas/first-step/index.html")
    scripts = len(list(harmless.iter("script")))
    for path in sorted((folder / "site").rglob("*.html")):
        page = html.fromstring(path.read_bytes())
        if "gotchas" not in path.parts and "signatures" not in path.parts:
            continue
        (article,) = page.iter("article")
        assert not [f for f in acting(article, allowed=frozenset({"svg"})) if "md-" not in f], path
        # The page around it is whole: what the record closed was not the page's own.
        assert len(list(page.iter("script"))) == scripts, path
        assert len(list(page.iter("footer"))) == 1, path
