"""The grammar of a wiki-link, and the one function that finds wiki-links in a run of text.

::

    [[target]]   [[target#heading]]   [[target|label]]   [[#heading]]   [[target#heading|label]]

A target begins with a letter or a digit (or ``./``, ``../``, ``/``), holds at least one letter, and
none of ``[ ] | # < > " $ = { } \\ ^ ~ * ;``; so ``array[[0]][[1]]``, ``[[1, 2], [3, 4]]``,
``[[ -f file ]]``, ``[["label"]]``, ``[[x == y]]`` and ``[[]]`` are ordinary text. A label is plain
text, code spans and bracketed words (``[[t|see [1]]]``). The pipe may carry a backslash, as it must
in a table. A line break counts as a space.

What has the shape of a wiki-link and still cannot be one gets a ``kind`` that says why; it is shown
as text, and lint reports it. ``[[words]](address)`` is an ordinary Markdown link and left alone.

The text is what the renderer holds when it comes to wiki-links: code spans are already set aside,
each as an atom between STX and ETX. The scanner makes the same atoms, so both read alike.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterator
from dataclasses import dataclass

from markdown.inlinepatterns import HTML_RE

from kvgate.records.codespans import shown

__all__ = [
    "COMMENT",
    "EMBED",
    "EMPTY",
    "GLUED",
    "IN_HTML_LINK",
    "IN_LINK",
    "IN_TAG",
    "LINK",
    "NESTED",
    "PLAIN",
    "Found",
    "find",
    "is_linkable",
    "looks_like_link",
    "tidy",
]

LINK = "link"
EMBED = "embed"
"""``![[x]]``: kvgate shows no page inside another."""
EMPTY = "empty"
"""``[[|label]]``, ``[[target|]]``, ``[[target#]]``: a part is missing."""
GLUED = "glued"
"""``word[[x]]``: stuck to what stands before it, as an index is."""
NESTED = "nested"
"""``[[a [[b]]]]``: a link inside an unfinished one."""
IN_LINK = "in-link"
"""Inside the text or the address of an ordinary link or image."""
IN_TAG = "in-tag"
"""Inside an HTML tag or an address in angle brackets."""
IN_HTML_LINK = "in-html-link"
"""Between ``<a>`` and ``</a>``."""
COMMENT = "comment"
"""Inside an HTML comment: nothing to report."""
PLAIN = "plain"
"""Text by intent, nothing to report: in ``<code>``, in mathematics (``$a_{[[i]]}$``)."""

_ATOM = r"\x02[^\x02\x03]*+\x03"
_WIKILINK = re.compile(
    rf"""
    \[\[
    (?P<target> [^\[\]|\#<>"$={{}}\\^~*;`\x00-\x08\x0b-\x1f]*+ )
    (?: \# (?P<heading> (?: [^\[\]|\\\x02\x03]++ | {_ATOM} | \\[^|] )*+ ) )?+
    (?: \\?\| (?P<label> (?: [^\[\]\\\x02\x03]++ | {_ATOM} | \\. | \[[^\[\]\x02\x03]*+\] )*+ ) )?+
    \]\]
    """,
    re.VERBOSE | re.DOTALL,
)
_MATH = frozenset("{}$")  # as in `$a_{[[i]]}$`
_CLOSERS = frozenset("])\x03")
_MOST = 500  # characters of a link; more is a slip, such as a bracket never closed
_UNFINISHED = re.compile(rf"(?<!\\)\[\[(?:[^\[\]\n\x02\x03]|{_ATOM}|\[[^\[\]\n\x02\x03]*\])*+\Z")
_OPAQUE_TAG = re.compile(r"<(/?)(code|pre|script|style|textarea|kbd|samp|a)\b", re.IGNORECASE)
_AUTOLINK = r"<[A-Za-z][A-Za-z0-9+.-]*://[^<>]*>|<[^<> !]+@[^@<> ]+>"
_ANGLES = re.compile(rf"{_AUTOLINK}|{HTML_RE}", re.DOTALL)
_BRACKET = re.compile(rf"\\.|{_ATOM}|[\[\]()]", re.DOTALL)
_REFERENCE = re.compile(r"\s?\[([^\]]*)\]")


@dataclass(frozen=True, slots=True)
class Found:
    """One thing of a wiki-link's shape: ``text[start:end]``, its parts as written, and its kind."""

    start: int
    end: int
    kind: str
    target: str
    heading: str
    label: str


def find(text: str, references: Container[str] = ()) -> list[Found]:
    """Everything in ``text`` that has the shape of a wiki-link, in order; linear in its length.

    ``references`` are the page's link references (``[name]: address``), lower case.

    >>> [(f.target, f.kind) for f in find("see [[a-b]] and ![[c]], not x[[0]]")]
    [('a-b', 'link'), ('c', 'embed')]
    """
    if "[[" not in text:
        return []
    html = list(_html(text))
    taken = [
        (kind, _Spans(span for of, span in html if of == kind))
        for kind in (COMMENT, IN_TAG, PLAIN, IN_HTML_LINK)
    ]
    taken.append((IN_LINK, _Spans(_ordinary_links(text, references))))
    found, end = [], 0
    for match in _WIKILINK.finditer(text):
        start = match.start()
        if len(match[0]) > _MOST or not _is_shape(match):
            continue
        if _escaped(text, start) or text.startswith("(", match.end()):
            continue
        if _is_reference(text, match.end(), references):
            continue
        kind = _kind(text, match, taken, end)
        end = match.end()
        found.append(
            Found(start, end, kind, match["target"], match["heading"] or "", match["label"] or "")
        )
    return found


def looks_like_link(text: str, start: int) -> bool:
    """Whether ``text`` (source, not set aside) holds the shape of a wiki-link at ``start``."""
    match = _WIKILINK.match(text, start)
    return match is not None and _is_shape(match)


def is_linkable(name: str) -> bool:
    """Whether a wiki-link can name ``name`` as its whole target.

    >>> is_linkable("Part (1)"), is_linkable("a | b"), is_linkable("42")
    (True, False, False)
    """
    match = _WIKILINK.fullmatch(f"[[{name}]]")
    return match is not None and match["target"].strip() == name.strip() and _is_shape(match)


def tidy(part: str) -> str:
    """A part as one line of plain text: NFC, spaces collapsed, escapes and backticks undone."""
    part = shown(re.sub(r"\\([\\`*_{}\[\]()>#+.!|-])", r"\1", part))
    return unicodedata.normalize("NFC", " ".join(part.split()))


def _is_shape(match: re.Match[str]) -> bool:
    target = match["target"].strip()
    if not target:
        return match["heading"] is not None or match["label"] is not None
    first = target.lstrip("./")[:1]
    return first.isalnum() and any(letter.isalpha() for letter in target)


def _kind(text: str, match: re.Match[str], taken: list[tuple[str, _Spans]], last: int) -> str:
    start, end = match.span()
    for kind, spans in taken:
        if spans.meet(start, end):
            return kind
    if _UNFINISHED.search(text, max(last, text.rfind("\n", 0, start) + 1, start - _MOST), start):
        return NESTED
    if text[start - 1 : start] in _MATH:
        return PLAIN
    if text[start - 1 : start] == "!" and not _escaped(text, start - 1):
        return EMBED
    if _is_glued(text, start):
        return GLUED
    if match["heading"] is not None and not match["heading"].strip():
        return EMPTY
    if match["label"] is not None and not match["label"].strip():
        return EMPTY
    return LINK if match["target"].strip() or match["heading"] is not None else EMPTY


def _is_glued(text: str, start: int) -> bool:
    at = start
    while at and text[at - 1] == "_":  # `_[[x]]_` is emphasis, `a_[[i]]` an index
        at -= 1
    before = text[at - 1 : at]
    return (before.isascii() and before.isalnum()) or (at == start and before in _CLOSERS)


def _escaped(text: str, at: int) -> bool:
    slashes = at
    while slashes and text[slashes - 1] == "\\":
        slashes -= 1
    return (at - slashes) % 2 == 1


def _is_reference(text: str, at: int, references: Container[str]) -> bool:
    match = _REFERENCE.match(text, at)
    return match is not None and " ".join(match[1].lower().split()) in references


class _Spans:
    """Stretches of text in order; asked from left to right."""

    def __init__(self, spans: Iterator[tuple[int, int]]) -> None:
        self._spans = sorted(spans)
        self._reach = 0
        self._at = 0

    def meet(self, start: int, end: int) -> bool:
        """Whether any stretch shares a character with ``start:end``."""
        while self._at < len(self._spans) and self._spans[self._at][0] < end:
            self._reach = max(self._reach, self._spans[self._at][1])
            self._at += 1
        return self._reach > start


def _html(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Comments, tags and autolinks, and what lies in an element that holds code or a link."""
    if "<" not in text:
        return
    opened: tuple[str, int] | None = None
    for match in _ANGLES.finditer(text):
        yield (COMMENT if match[0].startswith("<!--") else IN_TAG), match.span()
        if tag := _OPAQUE_TAG.match(match[0]):
            name = tag[2].lower()
            if not tag[1] and not opened and not match[0].endswith("/>"):
                opened = (name, match.end())
            elif tag[1] and opened and opened[0] == name:
                yield _content(name), (opened[1], match.start())
                opened = None
    if opened:
        yield _content(opened[0]), (opened[1], len(text))


def _content(tag: str) -> str:
    return IN_HTML_LINK if tag == "a" else PLAIN


def _ordinary_links(text: str, references: Container[str]) -> Iterator[tuple[int, int]]:
    """The texts and the addresses of ordinary links and images."""
    if "](" not in text and not references:
        return
    brackets: list[int] = []
    parentheses: list[int] = []
    for match in _BRACKET.finditer(text):
        at, mark = match.start(), match[0]
        if mark == "[":
            brackets.append(at)
        elif mark == "(":
            parentheses.append(at)
        elif mark == "]" and brackets:
            opened = brackets.pop()
            if text.startswith("(", at + 1) or _is_reference(text, at + 1, references):
                yield opened, at + 1
        elif mark == ")" and parentheses:
            opened = parentheses.pop()
            if text.startswith("]", opened - 1) and opened:
                yield opened, at + 1
