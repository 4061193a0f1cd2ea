"""Addresses on the site: where a page's source path leads, and how one page links to another."""

from __future__ import annotations

from dataclasses import dataclass

from kvgate.records.targets import relative

__all__ = ["Addresses"]


@dataclass(frozen=True, slots=True)
class Addresses:
    """Every address is relative, so that the site works below any path.

    ``directories`` says whether a page is a folder (``a/``) or a file (``a.html``); ``base`` is the
    site's own address with a slash at its end, or empty where it doesn't know it.
    """

    directories: bool = True
    base: str = ""

    def of(self, source: str) -> str:
        """The address below the site's root of a page, by its path among the sources.

        >>> Addresses().of("gotchas/a.md"), Addresses().of("index.md"), Addresses(False).of("a.md")
        ('gotchas/a/', '', 'a.html')
        """
        if not source.endswith(".md"):
            return source
        stem = source.removesuffix(".md")
        if not self.directories:
            return f"{stem}.html"
        if stem == "index" or stem.endswith("/index"):
            return stem.removesuffix("index")
        return f"{stem}/"

    def between(self, source: str, target: str) -> str:
        """``target`` as the page ``source`` links to it; both as paths among the sources.

        >>> Addresses().between("gotchas/a.md", "signatures.md")
        '../../signatures/'
        """
        return relative(self.of(target), self.of(source))

    def full(self, source: str) -> str:
        """The address with the site's own in front, for those who read it elsewhere."""
        return self.base + self.of(source)

    def file(self, source: str) -> str:
        """The file of the built site that a page becomes.

        >>> Addresses().file("gotchas/a.md")
        'gotchas/a/index.html'
        """
        address = self.of(source)
        return f"{address}index.html" if not address or address.endswith("/") else address
