"""From a config to an `Architecture`: find the text part, read it, check what is left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvgate.architecture.model import Architecture
from kvgate.architecture.parts import ADDED, Part
from kvgate.errors import InputError

__all__ = ["parse"]


def parse(
    config: Mapping[str, Any],
    *,
    id: str,  # noqa: A002 - the field that it fills is called so
    hf_quant_config: Mapping[str, Any] | None = None,
) -> Architecture:
    """The architecture that a Hugging Face ``config.json`` describes, or Mistral's ``params.json``.

    ``id`` names the model in messages and in the result; ``hf_quant_config`` is the file of that
    name beside the config, if there is one.

    Raises InputError for a ``model_type`` or layer type that kvgate does not know (with the nearest
    known), for a key that this family's reader does not act on but that would change what a layer
    keeps, and for values that are missing, of the wrong type or out of range: all at once.
    """
    from kvgate.architecture.config import Config
    from kvgate.architecture.counting import count
    from kvgate.architecture.draft import draft
    from kvgate.architecture.facts import facts
    from kvgate.architecture.guard import leftover
    from kvgate.architecture.layout import group
    from kvgate.architecture.params import from_params, is_params
    from kvgate.architecture.table import TYPES
    from kvgate.architecture.wrappers import unwrap

    if not isinstance(config, Mapping):
        raise InputError(
            f"{id}: a config is a JSON object, not {type(config).__name__}",
            hint="pass the config.json of a Hugging Face model",
        )
    if is_params(config):
        config = from_params(config, id=id)
    inside = unwrap(config, name=id)
    family = TYPES[inside.model_type]
    defaults = {**(family.nested if inside.defaults else {}), **family.defaults}
    text = Config(inside.text, path=inside.path, defaults=defaults)
    text.ignore(*family.ignores)
    layout = family.read(text)
    drafts = draft(text, family, layout) if not text.problems else None
    known = facts(text, config, inside, family, hf_quant_config)
    if not text.problems:
        leftover(text)
    if text.problems:
        several = f"{len(text.problems)} problems: " if len(text.problems) > 1 else ""
        raise InputError(
            f"{id}: {several}{'; '.join(text.problems)}",
            hint=_hint(text.problems, inside.model_type),
        )
    groups = group(layout)
    parts, not_counted = count(
        config,
        inside.text,
        groups,
        drafts.groups if drafts else (),
        model_type=inside.model_type,
        defaults=defaults,
        num_layers=len(layout),
        tied=known["tie_word_embeddings"],
        hf_quant_config=hf_quant_config,
    )
    return Architecture(
        id=id,
        model_type=inside.model_type,
        groups=groups,
        num_layers=len(layout),
        draft=drafts,
        notes=family.notes,
        parameters=_own(parts, len(layout)),
        parts=parts,
        not_counted=not_counted,
        **known,
    )


def _hint(problems: list[str], model_type: str) -> str:
    if any("not acted on" in problem for problem in problems):
        return (
            f"model_type {model_type}; where the model really ignores the key, set it to null in a "
            "copy of the config"
        )
    return f"model_type {model_type}"


def _own(parts: tuple[Part, ...], layers: int) -> int | None:
    """Parameters of the model's own layers, drafts left out; None where nothing was counted."""
    if not parts:
        return None
    return sum(
        part.each * (sum(index < layers for index in part.layers) if part.layers else 1)
        for part in parts
        if part.role not in ADDED
    )
