"""Where the wiki-links of one page lead: addresses relative to it, and what they show."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import Protocol

from kvgate.records.resolver import Resolver

__all__ = ["Links", "PageLinks", "Target", "relative"]


@dataclass(frozen=True, slots=True)
class Target:
    """Where a link leads: the address and the page's id, or no address and the reason.

    ``text`` is what to show where the link has no label; empty shows the target as written.
    """

    href: str = ""
    id: str = ""
    text: str = ""
    reason: str = ""


class Links(Protocol):
    """Whoever knows where wiki-links lead."""

    def link(self, target: str, heading: str) -> Target:
        """The target of ``[[target#heading]]``, both as plain text."""


@dataclass(slots=True)
class PageLinks:
    """The links of one page.

    ``source`` is the page's id, ``url`` its address in the terms of ``Entry.url``; set both anew
    before each page is rendered.
    """

    resolver: Resolver
    source: str = ""
    url: str = ""

    def link(self, target: str, heading: str) -> Target:
        """The target as a relative address, shown by its title when it is named by its id."""
        found = self.resolver.resolve(target, heading, source=self.source)
        if found.code or not found.entry:
            return Target(id=found.entry.id if found.entry else "", reason=found.message)
        entry = found.entry
        anchor = f"#{_fragment(found.heading)}" if found.heading else ""
        href = anchor if anchor and not target else relative(entry.url, self.url) + anchor
        by_id = target.casefold() == entry.id.casefold() and not heading
        return Target(href, entry.id, entry.title if by_id else "")


def relative(url: str, base: str) -> str:
    """``url`` as seen from the page at ``base``; both relative to the site.

    >>> relative("gotchas/a/", "gotchas/b/"), relative("gotchas/a.md", "index.md")
    ('../a/', 'gotchas/a.md')
    """
    path = posixpath.relpath(url or ".", posixpath.dirname(base) or ".")
    return f"{path}/" if url.endswith("/") or not url else path


def _fragment(heading: str) -> str:
    """An id as the part of an address after ``#``: letters of all scripts stay readable."""
    return re.sub(
        r"[%\s\"'<>\\^`{|}]", lambda m: "".join(f"%{b:02X}" for b in m[0].encode()), heading
    )
