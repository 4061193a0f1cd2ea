"""The address of kvgate's own site, for what leads there: schemas, pages of codes."""

from __future__ import annotations

__all__ = ["SITE"]

SITE = "https://kvgate.github.io/kvgate/"
"""As ``site_url`` in mkdocs.yml has it."""
