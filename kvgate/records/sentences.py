"""The sentence a link stands in, as plain text: what a backlink shows of the page it comes from."""

from __future__ import annotations

import re

from kvgate.records.wikilinks import tidy

__all__ = ["sentence"]

_WINDOW = 320  # characters looked at on each side: a longer sentence is cut with an ellipsis
_STOP = re.compile(r"[.!?…][\"'”’)\]*_]*\s+(?=[\"'“‘(*_\[`\x02]*[^\W_a-z])")
_CJK_STOP = re.compile("[。！？]")
_NO_STOP = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|cf|vs|etc|resp|approx|no|fig|sec|eq|[A-Z])\.$", re.IGNORECASE
)
_WIKILINK = re.compile(r"\[\[([^\[\]|]*)(?:\\?\|((?:[^\[\]]|\[[^\[\]]*\])*))?\]\]")
_FOOTNOTE = re.compile(r"\[\^[^\]]*\]")
_MARKDOWN_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<!--.*?-->", re.DOTALL)
_EMPHASIS = re.compile(r"(\*{1,3})(?=\S)(.+?)(?<=\S)\1", re.DOTALL)


def sentence(text: str, start: int, end: int) -> str:
    """The sentence of ``text`` around ``start:end``, markup removed.

    ``text`` is a run with its code spans between STX and ETX.

    >>> text = "It fails. See [[a-b|that page]] first. Then go on."
    >>> sentence(text, 14, 31)
    'See that page first.'
    """
    low, high = max(0, start - _WINDOW), min(len(text), end + _WINDOW)
    left = max([low, *(s for s in _stops(text, low, start))])
    right = min([high, *(s for s in _stops(text, end, high))])
    shown = _plain(text[left:right])
    before = "… " if left == low > 0 else ""
    after = " …" if right == high < len(text) else ""
    return f"{before}{shown}{after}"


def _stops(text: str, start: int, end: int) -> list[int]:
    found = [
        match.end()
        for match in _STOP.finditer(text, start, end)
        if not _NO_STOP.search(text, max(start, match.start() - 12), match.start() + 1)
    ]
    return found + [match.end() for match in _CJK_STOP.finditer(text, start, end)]


def _plain(text: str) -> str:
    text = _WIKILINK.sub(_words, text)
    text = _FOOTNOTE.sub("", text)
    text = _MARKDOWN_LINK.sub(r"\1", text)
    text = _TAG.sub("", text)
    return tidy(_EMPHASIS.sub(r"\2", text))


def _words(link: re.Match[str]) -> str:
    return link[2] or link[1].strip().lstrip("#").replace("#", " § ")
