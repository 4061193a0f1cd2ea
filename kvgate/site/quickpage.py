"""Pages of records, which share one Markdown renderer.

MkDocs makes a renderer anew for each page, with all its extensions; for a thousand short pages that
is a tenth of the build. Records are rendered by the same extensions in the same way, so that theirs
is made once and reset between two of them, as Python-Markdown means it to be.
"""

from __future__ import annotations

from typing import Any

from markdown import Markdown
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure import pages
from mkdocs.structure.files import File, Files
from mkdocs.structure.toc import get_toc

__all__ = ["Renderer", "page_of"]


class Renderer:
    """The renderer of all records of one build, made when the first one is rendered."""

    def __init__(self, config: MkDocsConfig) -> None:
        self._config = config
        self._markdown: Markdown | None = None

    def ready(self) -> Markdown:
        """The renderer, without anything of the page before."""
        if self._markdown is None:
            extensions: list[Any] = self._config.markdown_extensions
            configs = self._config.mdx_configs or {}
            self._markdown = Markdown(extensions=extensions, extension_configs=configs)
        return self._markdown.reset()


class _QuickPage(pages.Page):
    renderer: Renderer

    def render(self, config: MkDocsConfig, files: Files) -> None:
        """Render as `Page.render` does, but for the renderer itself."""
        assert self.markdown is not None
        md = self.renderer.ready()
        # Each of these replaces that of the page before.
        raw = pages._RawHTMLPreprocessor()
        anchors = pages._ExtractAnchorsTreeprocessor(self.file, files, config)
        relative = pages._RelativePathTreeprocessor(self.file, files, config)
        title = pages._ExtractTitleTreeprocessor()
        for processor in (raw, anchors, relative, title):
            processor._register(md)
        self.content = md.convert(self.markdown)
        self.toc = get_toc(getattr(md, "toc_tokens", []))
        self._title_from_render = title.title
        self.present_anchor_ids = anchors.present_anchor_ids | raw.present_anchor_ids
        self.links_to_anchors = relative.links_to_anchors


def page_of(file: File, config: MkDocsConfig, renderer: Renderer) -> None:
    """Give a file the page of a record; MkDocs makes one only for a file that has none."""
    page = _QuickPage(None, file, config)
    page.renderer = renderer
