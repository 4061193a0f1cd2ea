"""The MkDocs plugin: records become pages, indexes and data of the site.

Thin on purpose. What a record is, where links lead and what claims gave is known below; here it is
only handed to MkDocs at the right moment, so that another generator can take its place.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from mkdocs.config import base
from mkdocs.config import config_options as c
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.livereload import LiveReloadServer
from mkdocs.plugins import BasePlugin
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from kvgate.errors import InputError
from kvgate.records.loader import Library
from kvgate.records.markdown import WikiLinkExtension
from kvgate.records.record import Record
from kvgate.records.resolver import Entry, Resolver
from kvgate.records.slugs import slug
from kvgate.records.targets import PageLinks
from kvgate.site.api import documents
from kvgate.site.book import Book, read_book
from kvgate.site.inert import InertExtension
from kvgate.site.pages import Pages

__all__ = ["KvgateConfig", "KvgatePlugin"]

# Under MkDocs' own name its handler shows a warning, and a strict build counts it.
_log = logging.getLogger("mkdocs.plugins.kvgate")


class KvgateConfig(base.Config):  # type: ignore[no-untyped-call]
    """``records``: the folder of records, relative to mkdocs.yml."""

    records = c.Type(str, default="gotchas")


class KvgatePlugin(BasePlugin[KvgateConfig]):  # type: ignore[no-untyped-call]
    """Virtual pages from records, wiki-links on every page, and data beside the pages."""

    book: Book
    pages: Pages

    def on_config(self, config: MkDocsConfig) -> MkDocsConfig:
        """Register the Markdown extensions and the theme's additions."""
        root = Path(config.config_file_path).parent if config.config_file_path else Path()
        self._folder = root / self.config.records
        self._links = PageLinks(Resolver(()))
        self._on_record = False
        # MkDocs types this list by its configured form, names; Python-Markdown takes both.
        extensions: list[Any] = config.markdown_extensions
        extensions.append(WikiLinkExtension(links=self._links))
        extensions.append(InertExtension(on=lambda: self._on_record))
        toc = config.mdx_configs.setdefault("toc", {})
        toc.setdefault("slugify", slug)
        return config

    def on_files(self, files: Files, *, config: MkDocsConfig) -> Files:
        """Read the records, compute their claims, and add a page for each and for each index."""
        here = Path.cwd()
        folder = self._folder
        try:
            self.book = read_book(
                folder.relative_to(here) if folder.is_relative_to(here) else folder
            )
        except InputError as error:
            raise PluginError(str(error)) from None
        for diagnostic in self.book.found:
            _log.warning("%s", diagnostic)
        self._links.resolver = Resolver(_entries(self.book.library))
        self.pages = Pages(self.book, edit_base=_edit_base(config))
        for path, text in self.pages.virtual():
            existing = files.get_file_from_path(path)
            if existing:
                files.remove(existing)
            files.append(File.generated(config, path, content=text))
        return files

    def on_pre_page(self, page: Page, *, config: MkDocsConfig, files: Files) -> Page:
        """Point the edit link of a record's page at the record's file."""
        record = self._record(page)
        if record and config.repo_url:
            page.edit_url = f"{config.repo_url.rstrip('/')}/edit/main/gotchas/{record.id}.md"
        return page

    def on_page_markdown(
        self, markdown: str, *, page: Page, config: MkDocsConfig, files: Files
    ) -> str:
        """Tell the extensions whose text comes next."""
        record = self._record(page)
        self._on_record = record is not None
        self._links.source = record.id if record else ""
        self._links.url = page.file.src_uri
        return markdown

    def on_page_content(self, html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
        """Put the head above a record's text, and below it what points to it."""
        record = self._record(page)
        return self.pages.around(record, html) if record else html

    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """Write the JSON, the feed and llms.txt."""
        site_url = config.site_url or ""
        site_url += "/" if site_url and not site_url.endswith("/") else ""
        site = Path(config.site_dir)
        for path, text in documents(
            self.book,
            site_url=site_url,
            title=config.site_name,
            description=config.site_description or "",
        ):
            target = site / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")

    def on_serve(
        self, server: LiveReloadServer, *, config: MkDocsConfig, builder: Any
    ) -> LiveReloadServer:
        """Build again when a record changes."""
        server.watch(str(self._folder))
        return server

    def _record(self, page: Page) -> Record | None:
        folder, _, name = page.file.src_uri.rpartition("/")
        if folder != "gotchas":
            return None
        return self.book.library.records.get(name.removesuffix(".md"))


def _entries(library: Library) -> list[Entry]:
    """The records as link targets, with their addresses below the site's root."""
    return [
        Entry(e.id, e.title, f"gotchas/{e.url}", e.aliases, e.headings, e.status)
        for e in library.entries()
    ]


def _edit_base(config: MkDocsConfig) -> str:
    return f"{config.repo_url.rstrip('/')}/edit/main/" if config.repo_url else ""
