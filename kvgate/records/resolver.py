"""What a wiki-link's target means: by id, alias or title, in any letter case and Unicode form."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from kvgate.records.nearby import Nearby
from kvgate.records.slugs import slug

__all__ = [
    "AMBIGUOUS",
    "DANGLING",
    "NO_HEADING",
    "Entry",
    "Heading",
    "Resolution",
    "Resolver",
    "fold",
]

DANGLING, NO_HEADING, AMBIGUOUS = "KV200", "KV201", "KV202"

_HINTS = 100  # did-you-mean compares with every name: worth it for the first so many unknown ones


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a page: the id it is rendered with, its text, and its level from 1 to 6."""

    id: str
    text: str
    level: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A page that a wiki-link can name.

    ``url`` is where the page is, in the same terms as the url of the page that links to it.
    ``status`` is ``draft``, ``active``, ``superseded`` or ``withdrawn``.
    """

    id: str
    title: str
    url: str = ""
    aliases: tuple[str, ...] = ()
    headings: tuple[Heading, ...] = ()
    status: str = "active"


@dataclass(frozen=True, slots=True)
class Resolution:
    """The page a link names, and the id of its heading, or else why there is none.

    Of ``code``, ``message`` and ``hint`` all are empty when the link is good. ``entry`` is None for
    a dangling and an ambiguous link; a link to an unknown heading still has its page.
    """

    entry: Entry | None
    heading: str = ""
    code: str = ""
    message: str = ""
    hint: str = ""


class Resolver:
    """All pages by every name they answer to.

    An id comes before an alias or a title, these before a name that only becomes an id as a slug.
    ``a.md``, ``./a``, ``folder/a`` and ``a/index`` name the page ``a``; a folder is dropped only
    before an id, never before an alias, which may hold a slash of its own.
    """

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries: dict[str, Entry] = {}
        self._levels: tuple[dict[str, list[Entry]], ...] = ({}, {}, {})
        for entry in entries:
            self.entries[entry.id] = entry
            for level, name in _names(entry):
                known = self._levels[level].setdefault(name, [])
                if entry not in known:
                    known.append(entry)
        self._hinted: dict[str, str] = {}

    @cached_property
    def _nearby(self) -> Nearby:
        return Nearby(name for level in self._levels[:2] for name in level)

    def resolve(self, target: str, heading: str = "", *, source: str = "") -> Resolution:
        """What ``[[target#heading]]`` on the page ``source`` (an id) names.

        Both come as plain text (``wikilinks.tidy``). An empty target is the page itself.
        """
        found = self._pages(target) if target else self._own(source)
        if not found:
            return Resolution(
                None, "", DANGLING, f"no record is called {target!r}", self._near(target)
            )
        if len(found) > 1:
            names = " and ".join(repr(entry.id) for entry in found)
            return Resolution(
                None, "", AMBIGUOUS, f"{target!r} names {names}", "write the id of the one you mean"
            )
        return self._heading(found[0], heading)

    def clashes(self) -> Iterator[tuple[str, tuple[Entry, ...]]]:
        """Each alias or title that more than one page answers to, with these pages, by name."""
        ids, words, _ = self._levels
        for name, pages in sorted(words.items()):
            everyone = list(pages) + [e for e in ids.get(name, ()) if e not in pages]
            if len(everyone) > 1:
                yield name, tuple(sorted(everyone, key=lambda entry: entry.id))

    def _own(self, source: str) -> list[Entry]:
        return [self.entries[source]] if source in self.entries else []

    def _pages(self, target: str) -> list[Entry]:
        ids, words, slugs = self._levels
        for level, name in ((ids, _path(target)), (words, fold(target)), (slugs, slug(target))):
            if found := level.get(name):
                return found
        parts = _path(target).split("/")
        for start in range(1, len(parts)):
            if found := ids.get("/".join(parts[start:])):
                return found
        return []

    def _heading(self, entry: Entry, heading: str) -> Resolution:
        if not heading:
            return Resolution(entry)
        ids = {known.id: known for known in entry.headings}
        for name in (heading, slug(heading)):
            if name in ids:
                return Resolution(entry, name)
        for known in entry.headings:
            if fold(heading) in (fold(known.id), fold(known.text)):
                return Resolution(entry, known.id)
        texts = [known.text for known in entry.headings]
        hint = _did_you_mean(difflib.get_close_matches(heading, texts, n=2, cutoff=0.6))
        if not texts:
            hint = "it has no headings"
        elif not hint:
            hint = "its headings are: " + ", ".join(repr(text) for text in texts[:12])
        return Resolution(entry, "", NO_HEADING, f"{entry.id!r} has no heading {heading!r}", hint)

    def _near(self, target: str) -> str:
        if target not in self._hinted:
            if len(self._hinted) >= _HINTS:
                return "look for it with `kvgate search`"
            near = self._nearby.closest(_path(target))
            pages = (level[name][0].id for name in near for level in self._levels if name in level)
            self._hinted[target] = _did_you_mean(pages) or "look for it with `kvgate search`"
        return self._hinted[target]


def _names(entry: Entry) -> Iterator[tuple[int, str]]:
    yield 0, _path(entry.id)
    for word in (*entry.aliases, entry.title):
        yield 1, fold(word)
    for word in (entry.id, *entry.aliases, entry.title):
        if name := slug(word):
            yield 2, name


def fold(text: str) -> str:
    """A name as it is compared: NFC, case-folded, spaces collapsed."""
    return unicodedata.normalize("NFC", " ".join(text.split()).casefold())


def _path(target: str) -> str:
    parts = [part for part in fold(target).split("/") if part not in ("", ".", "..")]
    if parts:
        parts[-1] = parts[-1].removesuffix(".md")
    if len(parts) > 1 and parts[-1] == "index":
        parts.pop()
    return "/".join(parts)


def _did_you_mean(words: Iterable[str]) -> str:
    said = dict.fromkeys(repr(word) for word in words)
    return f"did you mean {' or '.join(said)}?" if said else ""
