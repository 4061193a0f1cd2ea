"""The front matter of a record: strict pydantic models.

The models say what one record may look like on its own. What needs the other records, the
vocabulary or the body (concepts, links, samples, footnotes) is the linter's.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from kvgate.records.fields import (
    Component,
    Date,
    EngineSpec,
    GpuKind,
    GpuName,
    Id,
    Line,
    LinkName,
    Name,
    Relation,
    RelativePath,
    Severity,
    Status,
    Text,
    Title,
    Url,
    VersionText,
    distinct,
    fault,
)
from kvgate.records.versions import Range, parse_version

__all__ = [
    "Affects",
    "Deployment",
    "FrontMatter",
    "Hit",
    "Miss",
    "On",
    "Related",
    "Signature",
    "Source",
    "Verified",
]


class _Strict(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True
    )


class Affects(_Strict):
    """A range of versions of one engine or library in which the gotcha bites."""

    engine: Component
    """The engine, or the library it stands on."""
    introduced: VersionText | None = None
    """The first version with it; left out when it was always there."""
    fixed: VersionText | None = None
    """The first version without it."""
    last_affected: VersionText | None = None
    """The last version with it, where no fixed one is known."""

    @property
    def range(self) -> Range:
        """The range as a value that answers ``version in range``."""
        return Range(self.engine, self.introduced, self.fixed, self.last_affected)

    @model_validator(mode="after")
    def _ends_fit(self) -> Affects:
        if self.fixed is not None and self.last_affected is not None:
            raise fault(
                "KV126", "fixed and last_affected exclude each other", "keep fixed when it is known"
            )
        if self.introduced is None:
            return self
        begin = parse_version(self.introduced)
        if self.fixed is not None and parse_version(self.fixed) <= begin:
            raise fault("KV137", f"fixed {self.fixed} is not after introduced {self.introduced}")
        if self.last_affected is not None and parse_version(self.last_affected) < begin:
            raise fault(
                "KV137",
                f"last_affected {self.last_affected} is before introduced {self.introduced}",
            )
        return self


class Signature(_Strict):
    """The text of an error or log line that points to the record."""

    text: Line
    """The line, with a hole for what varies: {*} any text, {int} a number, {word} one word."""
    sample: Line
    """A real line that the text must match."""
    also: Annotated[tuple[Id, ...], *distinct()] = ()
    """Other records whose signatures match the sample as well, and rightly so."""


class On(_Strict):
    """What a deployment runs on, where its command line doesn't say so."""

    gpu: GpuName | None = None
    """A GPU of the catalogue, by name or alias."""
    engine: EngineSpec | None = None
    """The engine and its version, such as vllm==0.33.0."""
    model: Text | None = None
    """The model, where the command line names a folder."""
    kv_cache_memory: Annotated[float, Field(gt=0, strict=False, allow_inf_nan=False)] | None = None
    """GiB for the KV cache of one GPU, where a log told it."""


class Deployment(_Strict):
    """A deployment that tests the record's rule: a command line, or a file beside the record."""

    run: Line | None = None
    """The command line."""
    file: RelativePath | None = None
    """A compose file, manifest or values file; a path below the records' folder."""
    on: On = On()
    """What it runs on."""

    @model_validator(mode="after")
    def _one_of(self) -> Deployment:
        if (self.run is None) == (self.file is None):
            raise fault("KV126", "give either run or file", "run is a command line, file a path")
        return self


class Hit(Deployment):
    """A deployment that the rule must report."""

    because: Text | None = None
    """Why it is hit, where that isn't plain."""


class Miss(Deployment):
    """A deployment that the rule must leave alone."""

    because: Text
    """Why it is not hit."""


class Source(_Strict):
    """Where something was read or measured that no claim can compute."""

    id: Name
    """The name that footnotes use."""
    url: Url
    """Where it stands, https only."""
    says: Text
    """What it says, in our own words."""
    at: Text
    """The version or commit it speaks of."""
    seen: Date
    """The day it was read."""


class Related(_Strict):
    """A typed link to another record."""

    type: Relation
    """prerequisite (read first), caused-by, see-also, superseded-by."""
    id: Id
    """The other record."""


class Verified(_Strict):
    """A place where the record was found to hold."""

    environment: Text
    """The machine, or the program that was asked."""
    version: Text
    """The versions in it."""
    date: Date
    """The day."""


class FrontMatter(_Strict):
    """A gotcha record of kvgate: what happens, to whom, and how one can tell."""

    schema_version: Literal[1]
    """The version of this schema."""
    id: Id
    """The record's permanent name: the file's name, never changed and never reused."""
    title: Title
    """What happens, in a sentence."""
    concepts: Annotated[tuple[Text, ...], *distinct(1, 16)]
    """What it is about: words of the vocabulary, the most telling first."""
    severity: Severity
    """What it does to a deployment."""
    affects: tuple[Affects, ...] = ()
    """The versions it bites; none when it is tied to no engine."""
    gpus: Annotated[tuple[GpuKind, ...], *distinct()] = ()
    """The GPU generations it bites (sm_90, gfx942); none when it is tied to no generation."""
    signatures: tuple[Signature, ...] = ()
    """Error and log lines that point here."""
    rule: Name | None = None
    """The function that decides from a deployment whether the record applies."""
    hits: tuple[Hit, ...] = ()
    """Deployments that the rule must report."""
    misses: tuple[Miss, ...] = ()
    """Deployments that the rule must leave alone."""
    sources: tuple[Source, ...] = ()
    """Where it was read or measured."""
    related: Annotated[tuple[Related, ...], *distinct()] = ()
    """Typed links to other records."""
    fix: Text | None = None
    """What to do, in a sentence, for those who read no more than that."""
    status: Status
    """draft, active, superseded or withdrawn."""
    reason: Text | None = None
    """Why it is superseded or withdrawn."""
    aliases: Annotated[tuple[LinkName, ...], *distinct()] = ()
    """Former ids and other names; links to them arrive here."""
    verified: tuple[Verified, ...] = ()
    """Where and when it was found to hold."""

    @property
    def successors(self) -> tuple[str, ...]:
        """The ids of the records that this one is superseded by."""
        return tuple(r.id for r in self.related if r.type == "superseded-by")

    @property
    def ranges(self) -> tuple[Range, ...]:
        """The version ranges, as values."""
        return tuple(a.range for a in self.affects)
