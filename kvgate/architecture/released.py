"""The catalogue's models by name."""

from __future__ import annotations

from functools import cache

from kvgate.architecture.model import Architecture

__all__ = ["model"]


@cache
def model(name: str) -> Architecture:
    """The architecture of a released model, from the catalogue.

    Gives layers with widths in elements and heads of the whole model. Source: the config.json that
    the catalogue entry names.

    ``name`` is the Hugging Face id; case does not matter, and the organisation may be left out
    where that is not ambiguous. Raises InputError for an id that is not in the catalogue, with the
    nearest ids; a re-quantised or fine-tuned repository is never taken for its base.

    >>> model("google/gemma-4-31B-it").head_sizes()
    {256: 50, 512: 10}
    """
    from kvgate.architecture.serial import load
    from kvgate.catalog import models

    found = models.find(name)
    return load(models.entry(found)["architecture"])
