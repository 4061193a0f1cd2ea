"""What search knows of a page, and the index that Pagefind makes of it.

Pagefind reads HTML, so each page is handed to it as a small document made of the HTML that was
rendered anyway: without navigation and footnotes, and with what readers look for and a page doesn't
show as it is, the log line of each signature.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from kvgate.records.record import Record
from kvgate.site.record_page import RecordPage

__all__ = ["Found", "of_page", "of_record", "write_index"]

_LINK_MARK = re.compile(
    r'<a class="(?:headerlink|footnote-ref|footnote-backref)".*?</a>', re.DOTALL
)
_NOTES = re.compile(r'<div class="footnote">.*', re.DOTALL)
# Of what Pagefind writes: ready-made boxes to search in, for which the site has its own.
_UNUSED = ("*ui.js", "*ui.css", "pagefind-highlight.js")


@dataclass(frozen=True, slots=True)
class Found:
    """A page as search is to know it: its address below the site's root, and its HTML."""

    url: str
    html: str


def of_record(record: Record, page: RecordPage, url: str, summary: str = "") -> Found:
    """A record's page: its title, ids and concepts, its signatures' log lines, its text.

    ``summary`` is what a find shows of it, with its severity and versions: the words around a hit
    are as often a claim's code as a sentence.
    """
    front = record.front
    words = " ".join((front.id, *front.aliases, *front.concepts))
    about = "".join(f"<p>{escape(part)}</p>" for part in (front.fix, front.reason) if part)
    parts = [about, page.text, f'<p data-pagefind-weight="2">{escape(words)}</p>']
    if front.signatures:
        samples = "".join(
            f"<p><code>{escape(sample)}</code></p>"
            for sample in dict.fromkeys(s.sample for s in front.signatures)
        )
        parts.insert(1, f'<h2 id="am-i-affected">Am I affected?</h2>{samples}')
    shown = {
        "severity": front.severity,
        "about": " · ".join(str(r) for r in front.ranges),
        "summary": summary,
    }
    parts += (
        f'<p data-pagefind-ignore data-pagefind-meta="{name}:{escape(text)}"></p>'
        for name, text in shown.items()
        if text
    )
    return Found(url, _document(front.title, "".join(parts)))


def of_page(title: str, html: str, url: str, *, weight: float = 1) -> Found:
    """Any other page; a light one has every word, such as a large table."""
    return Found(url, _document(title, html, weight))


def _document(title: str, html: str, weight: float = 1) -> str:
    html = _LINK_MARK.sub("", _NOTES.sub("", html))
    return (
        f'<!doctype html><html lang="en"><title>{escape(title)}</title>'
        f'<body data-pagefind-weight="{weight}" data-pagefind-meta="title:{escape(title)}">'
        f"{'' if '<h1' in html else f'<h1>{escape(title)}</h1>'}{html}</body></html>"
    )


def write_index(pages: Iterable[Found], folder: Path) -> None:
    """Write the search index of these pages into a folder, with the program that reads it.

    Raises ImportError where Pagefind isn't installed, RuntimeError where it leaves no whole index.
    """
    from pagefind.service import get_executable  # a build without search needs none

    program = get_executable()
    if program is None:
        raise ImportError("Pagefind's own program is missing")
    with TemporaryDirectory() as place:
        for page in pages:
            at = page.url or "index.html"
            file = Path(place, at, "index.html") if at.endswith("/") else Path(place, at)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(page.html, encoding="utf-8")
        # Its Python service is ended by a signal, which at times comes before the last file is on
        # the disk, so that nothing is found on the site; its command ends by itself. It runs beside
        # the pages, so that no pagefind.toml of the reader's folder has a say.
        where = ["--site", place, "--output-path", str(folder.absolute())]
        done = subprocess.run(  # noqa: S603 - no shell, and nothing of a page is in the command
            [str(program), *where, "--silent"],
            cwd=place,
            capture_output=True,
            text=True,
            check=False,
        )
    lost = [] if done.returncode else _unwritten(folder)
    if done.returncode or lost:
        said = (done.stderr or done.stdout).strip()
        raise RuntimeError(said or f"these are empty or missing: {', '.join(lost)}")
    for pattern in _UNUSED:
        for file in folder.glob(pattern):
            file.unlink()


def _unwritten(folder: Path) -> list[str]:
    """What an index can't be read without and isn't there."""
    entry = folder / "pagefind-entry.json"
    files = [entry, *(f for f in folder.rglob("*") if f.is_file())]
    return sorted({f.name for f in files if not f.exists() or not f.stat().st_size})
