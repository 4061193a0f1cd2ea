"""The MkDocs plugin: records become pages, indexes and data of the site.

Thin on purpose. What a record is, where links lead and what claims gave is known below; here it is
only handed to MkDocs at the right moment, so that another generator can take its place.
"""

from __future__ import annotations

import gc
import logging
import posixpath
from collections.abc import Iterable
from html import escape
from itertools import chain
from pathlib import Path
from typing import Any

from jinja2 import Environment
from mkdocs.config import base
from mkdocs.config import config_options as c
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.livereload import LiveReloadServer
from mkdocs.plugins import BasePlugin, event_priority
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page
from mkdocs.structure.toc import AnchorLink

from kvgate.errors import InputError
from kvgate.records.codes import codes
from kvgate.records.heads import heads_in
from kvgate.records.markdown import WikiLinkExtension
from kvgate.records.resolver import Entry, Resolver
from kvgate.records.slugs import slug
from kvgate.records.targets import PageLinks
from kvgate.site.addresses import Addresses
from kvgate.site.bites import Bites
from kvgate.site.blocks import blocks
from kvgate.site.book import Book, read_book
from kvgate.site.claimfence import claim_fence
from kvgate.site.documents import documents
from kvgate.site.footnotes import filled as notes_filled
from kvgate.site.fragments import headings
from kvgate.site.handpages import faults, filled
from kvgate.site.inert import InertExtension
from kvgate.site.pages import Pages
from kvgate.site.planner import PLANNER, code_path
from kvgate.site.policy import policy
from kvgate.site.quickpage import Renderer, page_of
from kvgate.site.record_page import RecordPages, path_of
from kvgate.site.searching import Found, of_page, of_record, write_index
from kvgate.site.virtual import Virtual
from kvgate.site.worker import Pyodide, write_worker

__all__ = ["KvgateConfig", "KvgatePlugin"]

# Under MkDocs' own name its handler shows a warning, and a strict build counts it.
_log = logging.getLogger("mkdocs.plugins.kvgate")
_aside = logging.getLogger("kvgate.site")  # what a strict build may go on with
_THEME = Path(__file__).parent / "theme"


class KvgateConfig(base.Config):  # type: ignore[no-untyped-call]
    """``records``: the folder of records, relative to mkdocs.yml. ``report_url``: a form that takes
    ``title``, ``id`` and ``what`` or else ``body``, for readers who find a mistake; a GitHub
    repository's issues if unset.
    ``catalogue``: whether the site has pages of models, GPUs, kernels, KV formats and backends.
    ``policy``: whether built pages forbid the browser whatever isn't this site's own (fonts and
    scripts of other hosts too); a served preview, which reloads itself by a script, doesn't.
    ``search``: whether it has kvgate's search, which needs Pagefind.
    ``worker``: the folder of npm's packages, relative to mkdocs.yml, with the Pyodide that answers
    in the reader's tab; without it the site has no planner.
    """

    records = c.Type(str, default="gotchas")
    report_url = c.Type(str, default="")
    catalogue = c.Type(bool, default=False)
    policy = c.Type(bool, default=False)
    search = c.Type(bool, default=True)
    worker = c.Type(str, default="")


class KvgatePlugin(BasePlugin[KvgateConfig]):  # type: ignore[no-untyped-call]
    """Virtual pages from records, wiki-links on every page, and data beside the pages."""

    book: Book
    _preview = False

    def on_startup(self, *, command: str, dirty: bool) -> None:
        """Know a preview from a build."""
        self._preview = command == "serve"

    def on_config(self, config: MkDocsConfig) -> MkDocsConfig:
        """Register the Markdown extensions and the theme's additions."""
        root = Path(config.config_file_path).parent if config.config_file_path else Path()
        self._folder = root / self.config.records
        self._addresses = Addresses(config.use_directory_urls, _slashed(config.site_url or ""))
        self._links = PageLinks(Resolver(()))
        self._on_record = False
        self._pyodide = _pyodide(root, self.config.worker)
        # MkDocs types this list by its configured form, names; Python-Markdown takes both.
        extensions: list[Any] = config.markdown_extensions
        extensions.append(WikiLinkExtension(links=self._links))
        extensions.append(InertExtension(on=lambda: self._on_record))
        config.mdx_configs.setdefault("toc", {}).setdefault("slugify", slug)
        fences = config.mdx_configs.setdefault("pymdownx.superfences", {})
        fences["custom_fences"] = [
            *fences.get("custom_fences", []),
            claim_fence(lambda: self._on_record, runs=self._pyodide is not None),
        ]  # fmt: skip
        # Behind the site's own overrides, before the theme itself.
        config.theme.dirs.insert(1 if config.theme.custom_dir else 0, str(_THEME))
        config.extra_css.append("assets/kvgate.css")
        script = c.ExtraScriptValue("assets/kvgate/main.js")
        script.type = "module"
        config.extra_javascript.append(script)
        if self.config.search and config.plugins.keys() & {"search", "material/search"}:
            _log.warning("kvgate brings its own search: take 'search' out of the plugins")
        if "navigation.tracking" in (config.theme.get("features") or ()):
            _log.warning(
                "a page's address holds its plan or its question, and the theme's feature "
                "'navigation.tracking' writes headings over it: take it out"
            )
        return config

    def on_files(self, files: Files, *, config: MkDocsConfig) -> Files:
        """Read the records, compute their claims, and add a page for each and for each index."""
        here = Path.cwd()
        folder = self._folder
        if folder.is_relative_to(here):  # findings name files as the person who types would
            folder = folder.relative_to(here)
        try:
            self.book = _quickly(folder)
        except InputError as error:
            raise PluginError(str(error)) from None
        for diagnostic in self.book.found:
            _log.warning("%s", diagnostic)
        self._links.resolver = Resolver(_entries(self.book))
        self._bites = Bites(self._folder.absolute().parent / ".cache" / "kvgate" / "bites.json")
        self._searched: list[Found] = []
        planner = PLANNER if self._pyodide and files.get_file_from_path(PLANNER) else ""
        self._records = RecordPages(
            self.book, self._addresses, self._report_url(config), planner=planner,
            **({"strip": self._bites.of} if self.config.catalogue else {}),
        )  # fmt: skip
        self._renderer = Renderer(config)
        self._virtual: dict[str, Virtual] = {}
        self._edited = _up(Path(config.docs_dir), self._folder)
        self._pages = Pages(self.book, self._addresses, worker=self._pyodide is not None)
        made = [self._pages.all()]
        if self.config.catalogue:
            from kvgate.site.reference import reference_pages  # other sites don't pay for it

            made.append(reference_pages(self.book, self._pages.to_from))
        for page in chain.from_iterable(made):
            self._virtual[page.path] = page
            existing = files.get_file_from_path(page.path)
            if existing:
                files.remove(existing)
            files.append(self._file(page, config))
        return files

    def on_page_markdown(
        self, markdown: str, *, page: Page, config: MkDocsConfig, files: Files
    ) -> str:
        """Tell the extensions whose text comes next, and check links of hand-written pages."""
        path = page.file.src_uri
        virtual = self._virtual.get(path)
        record = virtual.record if virtual else None
        self._on_record = record is not None
        self._links.source = record.id if record else ""
        self._links.url = path
        if virtual:
            # The theme writes both as they are.
            page.meta = {
                "title": escape(virtual.title, quote=False),
                "description": escape(virtual.description),
            }
            if virtual.hide:
                page.meta["hide"] = list(virtual.hide)
            if record and record.front.status == "withdrawn":
                page.meta["robots"] = "noindex"
        elif "[[" in markdown or "<!-- kvgate:" in markdown:
            source = page.file.abs_src_path or path
            text, shown = page.file.content_string, _shown(source)
            for diagnostic in faults(text, shown, self._links.resolver, self._blocks(path)):
                _log.warning("%s", diagnostic)
        return markdown

    def on_page_content(self, html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
        """Put around a record's text what the book knows of it; fill the blocks of other pages."""
        path = page.file.src_uri
        virtual = self._virtual.get(path)
        if virtual is None:
            html = self._filled(html, path) if "<!-- kvgate:" in html else html
            # Below the records, which are what readers look for.
            self._searched.append(of_page(str(page.title or ""), html, page.url, weight=0.4))
            return html
        if virtual.record is None:
            _list(page, headings(virtual.body))
            html += virtual.body
            if virtual.searched:
                self._searched.append(of_page(virtual.title, html, page.url, weight=0.2))
            return html
        html = notes_filled(html, self._pages.notes[virtual.record.id])
        made = self._records.page(virtual.record, html)
        _list(page, made.below, above=made.above)
        self._searched.append(of_record(virtual.record, made, page.url, virtual.description))
        return made.html

    def on_env(self, env: Environment, *, config: MkDocsConfig, files: Files) -> Environment:
        """Give the templates the policy of their page."""
        if self.config.policy and not self._preview:
            env.globals["kvgate_policy"] = policy(env, config)
        return env

    @event_priority(50)
    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """Write what is no page: the JSON, the feed, llms.txt, signs at former addresses."""
        site = Path(config.site_dir)
        self._bites.keep()
        if self.config.search:
            self._index(site / "pagefind")
        made: set[Path] = set()
        for path, text in documents(
            self._pages,
            title=config.site_name,
            description=config.site_description or "",
        ):
            target = site / path
            if target.parent not in made:
                target.parent.mkdir(parents=True, exist_ok=True)
                made.add(target.parent)
            target.write_text(text, encoding="utf-8", newline="\n")
        if self._pyodide is not None:
            pages = {i: path_of(i) for i in self.book.library.records}
            pages |= {code: code_path(code) for code in codes()}
            paths = {
                name: self._addresses.of(path)
                for name, path in pages.items()
                if (site / self._addresses.file(path)).is_file()
            }
            write_worker(site, self._pyodide, heads_in(self._folder).to_json(), paths)

    def on_serve(
        self, server: LiveReloadServer, *, config: MkDocsConfig, builder: Any
    ) -> LiveReloadServer:
        """Build again when a record changes."""
        server.watch(str(self._folder))
        return server

    def _file(self, page: Virtual, config: MkDocsConfig) -> File:
        # A navigation that MkDocs makes by itself would list each record, in quadratic time.
        listed = not config.nav and page.record is None and page.path.count("/") < 2
        listed = listed and (page.path.endswith("/index.md") or "/" not in page.path)
        inclusion = InclusionLevel.INCLUDED if listed else InclusionLevel.NOT_IN_NAV
        file = File.generated(config, page.path, content=page.markdown, inclusion=inclusion)
        if page.record:
            file.edit_uri = f"{self._edited}/{posixpath.basename(page.record.path)}"
            page_of(file, config, self._renderer)
        return file

    def _index(self, folder: Path) -> None:
        try:
            write_index(self._searched, folder)
        except ImportError:
            hint = "pip install 'pagefind[bin]', or set search: false for the plugin"
            raise PluginError(f"The search index needs Pagefind: {hint}") from None
        except RuntimeError as error:
            raise PluginError(f"Pagefind left no whole search index: {error}") from None

    def _filled(self, html: str, path: str) -> str:
        try:
            return filled(html, self._blocks(path))
        except InputError as error:
            _log.warning("%s: a block can't be made: %s", path, error)
            return html

    def _blocks(self, path: str) -> Any:
        return blocks(
            self.book,
            lambda target: self._addresses.between(path, target),
            worker=self._pyodide is not None,
        )

    def _report_url(self, config: MkDocsConfig) -> str:
        if self.config.report_url or not config.repo_url:
            return self.config.report_url
        github = config.repo_url.startswith("https://github.com/")
        return f"{config.repo_url.rstrip('/')}/issues/new" if github else ""


def _pyodide(root: Path, modules: str) -> Pyodide | None:
    """Pyodide, None where the site isn't to have it or it is missing, which is told.

    A strict build doesn't stop on that: who writes a record needs no Node.
    """
    if not modules:
        return None
    try:
        return Pyodide.found(root / modules)
    except InputError as error:
        _aside.warning("kvgate: %s; %s", error.message, error.hint)
        return None


def _quickly(folder: Path) -> Book:
    """The book, without the collector of cyclic garbage going over it again and again."""
    if gc.get_freeze_count():
        # A preview's build before this one, which froze its book: garbage in cycles by now, and
        # nobody would look at it again once it is frozen for this build.
        gc.unfreeze()
        gc.collect()
    gc.disable()
    try:
        book = read_book(folder)
    finally:
        gc.enable()
    gc.freeze()  # the book stays for the whole build
    return book


def _entries(book: Book) -> list[Entry]:
    """The records as link targets, by the paths of their pages."""
    return [
        Entry(e.id, e.title, path_of(e.id), e.aliases, e.headings, e.status)
        for e in book.library.entries()
    ]


def _list(
    page: Page, below: Iterable[tuple[str, str]], *, above: Iterable[tuple[str, str]] = ()
) -> None:
    """Add headings to a page's table of contents, below and above those it has."""
    items = page.toc.items
    children = items[0].children if items and items[0].level == 1 else items
    children[:0] = [AnchorLink(title, id_, 2) for id_, title in above]
    children.extend(AnchorLink(title, id_, 2) for id_, title in below)


def _up(start: Path, target: Path) -> str:
    return posixpath.relpath(target.absolute().as_posix(), start.absolute().as_posix())


def _shown(path: str) -> str:
    here = Path.cwd()
    return Path(path).relative_to(here).as_posix() if Path(path).is_relative_to(here) else path


def _slashed(address: str) -> str:
    return f"{address}/" if address and not address.endswith("/") else address
