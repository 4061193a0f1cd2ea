"""The records as rules and logs are held against them: names, rules and signatures, no prose."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

from kvgate.diagnose.suspect import Suspect
from kvgate.errors import InputError
from kvgate.rules import Case

__all__ = ["Head", "Known"]


@dataclass(frozen=True, slots=True)
class Head:
    """One record that still holds. ``rule`` is "" without one; ``symptom`` is Markdown."""

    id: str
    title: str
    severity: str
    rule: str
    signatures: tuple[str, ...]
    engines: frozenset[str]
    symptom: str
    gpus: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Known:
    """The heads of the records that hold, as check and diagnose need them."""

    heads: tuple[Head, ...]

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """The records that have a rule."""
        return tuple(Case(h.id, h.severity, h.title, h.rule) for h in self.heads if h.rule)

    @cached_property
    def signatures(self) -> list[tuple[str, str]]:
        """(record id, signature text), all of them."""
        return [(h.id, text) for h in self.heads for text in h.signatures]

    @cached_property
    def texts(self) -> dict[str, str]:
        """Each record's title and symptom."""
        return {h.id: f"{h.title}\n{h.symptom}" for h in self.heads}

    @cached_property
    def suspects(self) -> dict[str, Suspect]:
        """Each record's rule, engines and GPU generations."""
        return {h.id: Suspect(h.rule, h.engines, h.gpus) for h in self.heads}

    @cached_property
    def by_id(self) -> Mapping[str, Head]:
        """The heads by their records' ids."""
        return {h.id: h for h in self.heads}

    def to_json(self) -> dict[str, Any]:
        """The heads as plain data, which `from_json` reads."""
        return {
            "heads": [
                {**asdict(h), "engines": sorted(h.engines), "gpus": sorted(h.gpus)}
                for h in self.heads
            ]
        }

    @classmethod
    def from_json(cls, text: str) -> Known:
        """The heads of a text that `to_json` made. Raises InputError for any other text."""
        try:
            rows = json.loads(text)["heads"]
            return cls(tuple(_head(row) for row in rows))
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"these are no heads of records: {error!r}", code="KV003") from None


def _head(row: Mapping[str, Any]) -> Head:
    values: dict[str, Any] = {field.name: row[field.name] for field in fields(Head)}
    values["signatures"] = tuple(row["signatures"])
    values["engines"] = frozenset(row["engines"])
    values["gpus"] = frozenset(row["gpus"])
    return Head(**values)
