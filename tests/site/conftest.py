"""A knowledge base of somebody else's, built once: own folder, own concepts, no theme overrides."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from lxml import html
from lxml.html import HtmlElement

ROOT = Path(__file__).resolve().parents[2]
SITE_URL = "https://kb.example/deep/path/"

CONFIG = """\
site_name: A base of ours
site_description: What we learned
site_url: {url}
repo_url: https://github.com/us/base
edit_uri: edit/trunk/handbook/
docs_dir: handbook
use_directory_urls: {directories}
theme: {{name: material, font: false, features: [content.action.edit, content.footnote.tooltips]}}
plugins:
  - kvgate: {{records: records}}
markdown_extensions: [abbr, admonition, attr_list, def_list, footnotes, md_in_html, tables,
  pymdownx.details, pymdownx.highlight, pymdownx.inlinehilite, pymdownx.superfences,
  {{toc: {{permalink: true}}}}, {{pymdownx.tabbed: {{alternate_style: true}}}}]
validation: {{omitted_files: warn, absolute_links: warn, unrecognized_links: warn, anchors: warn}}
{nav}
"""
NAV = "nav: [{Home: index.md}, {Gotchas: gotchas/index.md}, {Guide: guide.md}]"

CONCEPTS = """\
[ours]
lost-packets = "Packets that don't arrive."
slow-disks = "Disks that are | slower than <b>thought</b>."
never-used = "A concept that no record has."
"""

RECORD = """\
---
schema_version: 1
id: {id}
title: {title}
concepts: {concepts}
severity: {severity}
affects:
  - engine: vllm
    introduced: "0.13.0"
    fixed: "0.22.0"
{front}
status: {status}
verified:
  - {{environment: one machine, version: vllm 0.19.1, date: 2026-11-29}}
---

## Symptom

The engine stops after 12 s[^report], **for good**. {symptom}

## Root cause

A token takes 4.0 KiB[^per-token]. {cause}

## Workaround

{workaround}

## Notes

{notes}

## Claims

```pycon
>>> heads = 4
>>> heads * 1024 / KiB  # claim: per-token
4.0
```
"""
SOURCES = """\
sources:
  - id: report
    url: https://example.org/issues/1_a_(b)
    says: the pool is *too small* for <the> context_of_it
    at: vllm 0.19.1
    seen: 2026-11-30
"""


def record(
    id_: str, title: str = "", *, front: str = "", severity: str = "slower", status: str = "active",
    concepts: str = "[lost-packets]", symptom: str = "", cause: str = "",
    workaround: str = "Wait.", notes: str = "Nothing else.",
) -> str:  # fmt: skip
    """The text of a record with every section."""
    shown = json.dumps(title or f"What is known as {id_}", ensure_ascii=False)
    return RECORD.format(
        id=id_, title=shown, front=SOURCES + front.rstrip("\n"),
        severity=severity, status=status, concepts=concepts, symptom=symptom, cause=cause,
        workaround=workaround, notes=notes,
    )  # fmt: skip


BASIC = """\
fix: Ask for less.
gpus: [sm_90, gfx942]
signatures:
  - text: "The pool holds {int} tokens, and <b>the model</b> asks for {*} of them."
    sample: "ValueError: The pool holds 1024 tokens, and <b>the model</b> asks for 9 of them."
rule: made_up_rule
hits:
  - run: >-
      vllm serve org/model --max-model-len 131072 --hf-overrides '{"a": 1}'
    on: {gpu: H100, engine: vllm==0.19.1}
misses:
  - run: vllm serve org/model
    on: {gpu: H100, engine: vllm==0.33.0}
    because: the version has the <fix>
aliases: [old-name, The Pool]
related:
  - {type: prerequisite, id: second-step}
  - {type: see-also, id: gone-by}
"""


def sample_records() -> dict[str, str]:
    """Records by file name: a chain of prerequisites, relations of each kind, clashing headings."""
    return {
        "pool-too-small.md": record(
            "pool-too-small",
            "The pool is <too small> & the `engine` stops: *always*",
            front=BASIC, severity="blocks-start", concepts="[lost-packets, slow-disks]",
            symptom="See [the notes](#notes) and [[second-step#root-cause]].",
        ),
        "second-step.md": record(
            "second-step", front="related: [{type: prerequisite, id: first-step}]\n",
            cause="It is told apart from [[pool-too-small|the pool]] by its log. And then some.",
            notes="### Related\n\nOwn words.\n\n### Am I affected?\n\nWho knows.\n\n"
            "### Überblick\n\nAlso [[#überblick]].",
        ),
        "first-step.md": record(
            "first-step", workaround="Nothing helps, unless `[[pool-too-small]]` is code."
        ),
        "gone-by.md": record(
            "gone-by", status="superseded",
            front="reason: It was two things at once.\n"
            "related: [{type: superseded-by, id: pool-too-small}]\n",
        ),
        "never-true.md": (
            "---\nschema_version: 1\nid: never-true\ntitle: A gotcha that turned out to be none\n"
            "concepts: [slow-disks]\nseverity: surprise\nstatus: withdrawn\n"
            "reason: Nobody could see it again.\n---\n"
        ),
    }  # fmt: skip


def write_base(
    folder: Path, records: dict[str, str], *, directories: str = "true", url: str = SITE_URL,
    nav: str = NAV, guide: str = "",
) -> Path:  # fmt: skip
    """Write a knowledge base into a folder and return it."""
    (folder / "records").mkdir(parents=True)
    (folder / "handbook").mkdir()
    for name, text in records.items():
        (folder / "records" / name).write_text(text, encoding="utf-8")
    (folder / "records" / "concepts.toml").write_text(CONCEPTS, encoding="utf-8")
    config = CONFIG.format(directories=directories, url=url or '""', nav=nav)
    (folder / "mkdocs.yml").write_text(config, encoding="utf-8")
    (folder / "handbook" / "index.md").write_text("# Home\n\nWelcome.\n", encoding="utf-8")
    (folder / "handbook" / "guide.md").write_text(
        guide
        or "# Guide\n\nRead [[pool-too-small]] or [[The Pool#notes|its notes]].\n\n"
        "<!-- kvgate: worst 2 -->\n",
        encoding="utf-8",
    )
    return folder


def build(folder: Path, *options: str, target: str = "site") -> subprocess.CompletedProcess[str]:
    """Run mkdocs in a folder; what it printed is in ``stderr``."""
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", target, *options]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "NO_COLOR": "1"}
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env=env, timeout=300
    )


@dataclass
class Built:
    """A built site: its folder, and its pages as trees."""

    folder: Path
    log: str = ""

    @cached_property
    def pages(self) -> dict[str, HtmlElement]:
        """Every HTML page by its path below the site."""
        return {
            path.relative_to(self.folder).as_posix(): html.fromstring(path.read_bytes())
            for path in sorted(self.folder.rglob("*.html"))
        }

    def page(self, path: str) -> HtmlElement:
        """One page."""
        return self.pages[path]

    def article(self, path: str) -> HtmlElement:
        """The part of a page that is its own."""
        return self.page(path).find(".//article")

    def text(self, path: str) -> str:
        """A file's text."""
        return (self.folder / path).read_text(encoding="utf-8")

    def target(self, page: str, address: str) -> tuple[str, str]:
        """The file and the anchor that an address on a page leads to."""
        parts = urlsplit(address)
        base = self.folder.joinpath(page).parent
        path = (base / unquote(parts.path)).resolve() if parts.path else self.folder / page
        if parts.path.endswith("/") or parts.path in (".", "..") or path.is_dir():
            path = path / "index.html"
        return path.relative_to(self.folder.resolve()).as_posix(), unquote(parts.fragment)


@pytest.fixture(scope="session")
def base_site(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The sample base, built strictly."""
    folder = write_base(tmp_path_factory.mktemp("base"), sample_records())
    done = build(folder, "--strict")
    assert done.returncode == 0, done.stderr
    return Built(folder / "site", done.stderr)


@pytest.fixture(scope="session")
def flat_site(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The sample base as files without folders, with no address of its own and no navigation."""
    folder = write_base(
        tmp_path_factory.mktemp("flat"), sample_records(), directories="false", url="", nav=""
    )
    done = build(folder, "--strict")
    assert done.returncode == 0, done.stderr
    return Built(folder / "site", done.stderr)


@pytest.fixture(scope="session")
def own_site(site_folder: Path) -> Built:
    """This repository's own site; that it builds strictly is what `make build` says."""
    return Built(site_folder, "")


@pytest.fixture
def base(tmp_path: Path) -> Callable[..., Path]:
    """Write a base with these records into an empty folder."""

    def made(records: dict[str, str], **options: str) -> Path:
        return write_base(tmp_path / "base", records, nav=options.pop("nav", NAV), **options)

    return made


@pytest.fixture
def mkdocs() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run mkdocs in a folder."""
    return build


@pytest.fixture
def text() -> Callable[..., str]:
    """The text of a record with every section."""
    return record
