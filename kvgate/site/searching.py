"""What search knows of a record: one entry a section, made of the HTML that was rendered anyway.

The theme's own indexer parses each page with Python's HTML parser, which takes longer than all the
rest that the site adds to a page; and it doesn't know that a signature is what readers look for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from kvgate.records.record import Record
from kvgate.site.record_page import RecordPage

__all__ = ["Entry", "entries"]

Entry = dict[str, str]
"""``location`` (address and anchor), ``title`` and ``text`` (HTML) of one find."""

_SECTION = re.compile(r'<h([2-6]) id="([^"]*)"[^>]*>(.*?)</h\1>', re.DOTALL)
_LINK_MARK = re.compile(
    r'<a class="(?:headerlink|footnote-ref|footnote-backref)".*?</a>', re.DOTALL
)
_KEPT = re.compile(r"<(?!/?(?:p|pre|code|ul|ol|li)\b)[^>]*>")
_ATTRIBUTES = re.compile(r"<(p|pre|code|ul|ol|li)\s[^>]*>")
_BLANKS = re.compile(r"\n{2,}")


def entries(record: Record, page: RecordPage, url: str) -> Iterator[Entry]:
    """The entries of a record's page at ``url``."""
    front = record.front
    words = " ".join((front.id, *front.aliases, *front.concepts))
    about = [front.fix, front.reason, words]
    text = "".join(f"<p>{escape(part)}</p>" for part in about if part)
    yield {"location": url, "title": escape(front.title, quote=False), "text": text}
    if front.signatures:
        samples = "".join(f"<p><code>{escape(s.sample)}</code></p>" for s in front.signatures)
        title = "Am I affected?"
        yield {"location": f"{url}#am-i-affected", "title": title, "text": samples}
    parts = _SECTION.split(page.text)
    for anchor, title, html in zip(parts[2::4], parts[3::4], parts[4::4], strict=True):
        yield {"location": f"{url}#{anchor}", "title": _text(title, ""), "text": _text(html)}


def _text(html: str, mark: str = " ") -> str:
    html = _KEPT.sub("", _LINK_MARK.sub("", html))
    return _BLANKS.sub("\n", _ATTRIBUTES.sub(r"<\1>", html)).strip()
