"""Records by the thousand, for measuring: each with three claims and five links."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

__all__ = ["CONFIG", "write"]

ROOT = Path(__file__).resolve().parents[1]

_RECORD = """\
---
schema_version: 1
id: generated-{n}
title: Generated record number {n} stops something at start
concepts: [{concept}, {second}]
severity: {severity}
affects:
  - engine: vllm
    introduced: "0.13.0"
signatures:
  - text: "generated failure {n} in layer {{int}} of the made up backend"
    sample: "ValueError: generated failure {n} in layer 12 of the made up backend"
sources:
  - id: somewhere
    url: https://example.org/{n}
    says: the thing was seen
    at: vllm 0.33.0
    seen: 2026-11-30
related:
  - {{type: see-also, id: generated-{next}}}
status: active
verified:
  - {{environment: generated, version: vllm 0.33.0, date: 2026-11-30}}
---

## Symptom

The engine stops[^somewhere]. It is told apart from [[generated-{a}]] by its number.

## Root cause

A layer keeps {kib}.0 KiB/token[^bytes], as in [[generated-{b}]] and [[generated-{c}|another one]].

## Workaround

Read [[generated-{d}]] first, then [[generated-{e}#root-cause]]. It takes {share} %[^share] of it
and {sum} B[^sum].

## Notes

Nothing else. {prose}

## Claims

```pycon
>>> {kib} * 1024 / KiB  # claim: bytes
{kib}.0
>>> [100 * k // 8 for k in range(8)][{k}]  # claim: share
{share}
>>> sum(k * k for k in range({k})) + {n}  # claim: sum
{sum}
```
"""
CONFIG = """\
site_name: bench
docs_dir: {docs}
site_dir: {site}
theme: {{name: material, font: false}}
nav: [{{Home: index.md}}]
not_in_nav: "*"
validation: {{omitted_files: ignore}}
plugins: [{plugin}]
markdown_extensions: [abbr, admonition, attr_list, def_list, footnotes, md_in_html, tables, toc,
  pymdownx.details, pymdownx.highlight, pymdownx.inlinehilite, pymdownx.superfences]
"""
"""The site that shows them: a configuration of MkDocs with the places to fill in."""

_LINKS = {"a": 1, "b": 7, "c": 31, "d": 57, "e": 90}
_SEVERITIES = ("blocks-start", "fails-later", "silently-wrong", "slower", "surprise")
_PROSE = "A sentence of ordinary length that says what an engineer reads on such a page. " * 12


def write(folder: Path, count: int) -> None:
    """Write ``count`` records, their vocabulary and register into an empty ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = folder / "concepts.toml"
    shutil.copy(ROOT / "gotchas" / "concepts.toml", vocabulary)
    groups = tomllib.loads(vocabulary.read_text(encoding="utf-8")).values()
    concepts = [name for group in groups for name in group]
    for n in range(count):
        k = n % 8
        links = {
            name: (n + step) % count for name, step in zip("abcde", (1, 7, 31, 57, 90), strict=True)
        }
        text = _RECORD.format(
            n=n, k=k, next=(n + 1) % count, severity=_SEVERITIES[n % 5], kib=4 + k,
            # Squares are spread unevenly, as records are over concepts.
            concept=concepts[n * n % len(concepts)], second=concepts[(n * n + 1) % len(concepts)],
            share=100 * k // 8, sum=sum(i * i for i in range(k)) + n, prose=_PROSE, **links,
        )  # fmt: skip
        (folder / f"generated-{n}.md").write_text(text, encoding="utf-8")
    (folder / "ids.txt").write_text(
        "".join(f"generated-{n}\n" for n in range(count)), encoding="utf-8"
    )
