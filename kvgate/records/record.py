"""A record: one gotcha, its front matter and its page; and what one file gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kvgate import deprecation
from kvgate.errors import Diagnostic, Place
from kvgate.records import body, frontmatter, yaml
from kvgate.records.body import Section
from kvgate.records.footnotes import Footnote, footnotes
from kvgate.records.versions import affects

if TYPE_CHECKING:
    from kvgate.claims.document import Document
    from kvgate.records.scanner import Scan
    from kvgate.records.schema import FrontMatter

__all__ = ["Draft", "Page", "Record", "read_record"]


@dataclass(frozen=True)
class Page:
    """A record's file below its front matter; what stands on it is read when it is asked for.

    So is the code that reads it: who only shows a page's text doesn't pay for Markdown's parser.

    ``text`` is the whole file with ``\\n`` line ends; every line, column and offset counts in it.
    ``body_offset`` and ``body_line`` (1-based) say where the body begins.
    """

    path: str
    text: str
    body_offset: int
    body_line: int

    @property
    def body(self) -> str:
        """The Markdown below the front matter."""
        return self.text[self.body_offset :]

    @cached_property
    def prose(self) -> str:
        """The text, as long, with code, comments and front matter blanked out."""
        from kvgate.records.prose import blank

        return blank(self.text, self.body_offset)

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The sections in the order of their headings."""
        return body.sections(self.text, self.prose, self.body_offset)

    @cached_property
    def claims(self) -> Document:
        """The examples of the page; offsets count from ``body_offset``, places in the file."""
        from kvgate.claims.finder import find

        return find(self.body, path=self.path, first_line=self.body_line)

    @cached_property
    def scan(self) -> Scan:
        """The wiki-links and headings of the page, and what is wrong with them."""
        from kvgate.records.scanner import scan

        return scan(self.text, path=self.path, offset=self.body_offset)

    @cached_property
    def footnotes(self) -> tuple[Footnote, ...]:
        """The footnote references in prose, in order."""
        return footnotes(self.prose)

    @cached_property
    def _tree(self) -> yaml.Node | None:
        # Read again when a place is asked for: that is seldom, and trees of all records are heavy.
        return frontmatter.tree(self.text, self.path)

    def place(self, *path: str | int) -> Place:
        """Where a value of the front matter stands, such as ``place("related", 0, "id")``.

        A value that isn't there gives the place of what would hold it.
        """
        if self._tree is None:
            return Place(self.path)
        node = self._tree.at(path)
        return Place(self.path, node.line, node.column)

    def section(self, title: str) -> str:
        """The Markdown of a section by its heading; empty when there is none."""
        return next((s.body(self.text) for s in self.sections if s.title == title), "")

    def place_at(self, offset: int) -> Place:
        """The line and column of an offset in the file."""
        line = self.text.count("\n", 0, offset) + 1
        return Place(self.path, line, offset - self.text.rfind("\n", 0, offset))


@dataclass(frozen=True, slots=True)
class Record:
    """One gotcha: its front matter and its page."""

    front: FrontMatter
    page: Page

    @property
    def id(self) -> str:
        """The permanent name."""
        return self.front.id

    @property
    def title(self) -> str:
        """What happens, in a sentence."""
        return self.front.title

    @property
    def path(self) -> str:
        """The file, as it was named when it was read."""
        return self.page.path

    @property
    def claims(self) -> Document:
        """The examples of the page; the named ones are ``claims.claims``."""
        return self.page.claims

    def affects(self, engine: str, version: str) -> bool:
        """Whether a version of an engine is in one of the record's ranges."""
        return affects(self.front.ranges, engine, version)

    def place(self, *path: str | int) -> Place:
        """Where a value of the front matter stands, such as ``place("related", 0, "id")``."""
        return self.page.place(*path)


@dataclass(frozen=True, slots=True)
class Draft:
    """What one file gave, with what is wrong with its front matter or with the file itself.

    ``page`` is None where the file can't be read or has no front matter, ``record`` where the front
    matter doesn't keep to the schema. ``values`` are the keys of the front matter as they are
    written, whatever they hold; None where it is no YAML.
    """

    path: str
    found: tuple[Diagnostic, ...]
    page: Page | None = None
    record: Record | None = None
    values: Mapping[str, Any] | None = None

    def value(self, key: str) -> Any:
        """A value of the front matter as it is written; None where there is none."""
        return self.values.get(key) if self.values else None

    def place(self, *path: str | int) -> Place:
        """Where a value of the front matter stands; the file's beginning where it is no YAML."""
        return self.page.place(*path) if self.page else Place(self.path)


def read_record(text: str, path: str) -> Draft:
    """The record in a text, with what is wrong with its front matter.

    ``text`` has ``\\n`` line ends. Nothing but the front matter is looked at yet.
    """
    parsed = frontmatter.parse(text, path)
    if not parsed.body_offset:
        return Draft(path, parsed.found)
    page = Page(path, text, parsed.body_offset, parsed.body_line)
    record = Record(parsed.model, page) if parsed.model is not None else None
    if deprecation.DEPRECATED and parsed.values:
        for name, where in deprecation.names_in(parsed.values):
            deprecation.told("record", name, str(page.place(*where)))
    return Draft(path, parsed.found, page, record, parsed.values)
