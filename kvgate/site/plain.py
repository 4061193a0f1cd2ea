"""Markdown as plain text, for places that show none: feeds, previews, descriptions."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["first_paragraph", "plain", "shortened"]

_CODE = re.compile(r"(?<![\\`])(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_FOOTNOTE = re.compile(r"\[\^[^\]\s]+\]")
_WIKILINK = re.compile(r"\[\[([^\[\]|#]*)(#[^\[\]|]*)?(?:\\?\|([^\[\]]*))?\]\]")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"]*\")?\)")
_EMPHASIS = re.compile(r"(\*{1,3})(?=\S)(.+?)(?<=\S)\1", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?--!?>", re.DOTALL)
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()>#+.!|-])")
_MARK = re.compile(
    r"^[ \t]*(?:[-*+]|\d{1,9}[.)]|>|#{1,6}|!!!.*|\?\?\?.*)(?:[ \t]+|$)", re.MULTILINE
)
# What no place shows, and an XML document may not hold. Ends of lines are white space.
_UNSEEN = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff]")
_NOT_PROSE = re.compile(r"\s*(?:```|~~~|\||    |\t|<)")


def plain(markdown: str, name: Callable[[str], str] = str) -> str:
    """Prose without its marks, on one line; ``name`` says what a wiki-link's target is called.

    >>> plain("It **stops**[^a]; see [[b|that `x`]].")
    'It stops; see that x.'
    """
    held: list[str] = []

    def hold(match: re.Match[str]) -> str:
        held.append(match[2].strip())
        return f"\x02{len(held) - 1}\x03"

    text = _CODE.sub(hold, _COMMENT.sub("", _UNSEEN.sub("", markdown)))
    text = _FOOTNOTE.sub("", text)
    text = _WIKILINK.sub(lambda m: m[3] or name(m[1].strip()) or (m[2] or "")[1:], text)
    text = _LINK.sub(r"\1", text)
    text = _EMPHASIS.sub(r"\2", _MARK.sub("", text))
    text = _ESCAPE.sub(r"\1", text)
    text = re.sub("\x02(\\d+)\x03", lambda m: held[int(m[1])], text)
    return " ".join(text.split())


def first_paragraph(markdown: str) -> str:
    """The first block of prose, still as Markdown; empty where there is none."""
    for block in re.split(r"\n[ \t]*\n", markdown.strip("\n")):
        if block.strip() and not _NOT_PROSE.match(block):
            return block
    return ""


def shortened(text: str, most: int) -> str:
    """Text cut at a word, with an ellipsis where something is gone.

    >>> shortened("one two three", 9)
    'one two …'
    """
    if len(text) <= most:
        return text
    return text[: most - 1].rpartition(" ")[0].rstrip(" ,;:") + " …"
