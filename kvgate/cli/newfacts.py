"""What a log tells of a gotcha that nobody has written down yet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kvgate.errors import InputError, Place

__all__ = ["Facts", "facts", "fitting", "known_as", "read_log"]

_LARGEST = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Facts:
    """What was read: empty where the log doesn't say.

    ``sample`` is the failing line without hosts, paths and tokens; ``spec`` such as
    ``vllm==0.33.0``; ``gpu`` a name of the catalogue; ``command`` a command line that stands for
    the deployment.
    """

    sample: str = ""
    engine: str = ""
    version: str = ""
    gpu: str = ""
    command: str = ""

    @property
    def spec(self) -> str:
        """The engine with its version; empty where one of them isn't known."""
        return f"{self.engine}=={self.version}" if self.engine and self.version else ""

    def told(self) -> list[str]:
        """What was read, in lines for the person who pasted it."""
        named = (
            ("the failing line", self.sample),
            ("engine", self.spec or self.engine),
            ("GPU", self.gpu),
            ("command", self.command),
        )
        return [f"{name}: {value}" for name, value in named if value]


def read_log(name: str) -> str:
    """The text of a log; ``-`` reads standard input to its end. Raises InputError."""
    import sys

    from kvgate.diagnose.logtext import decode

    if name == "-":
        return decode(sys.stdin.buffer.read(_LARGEST))
    path = Path(name)
    try:
        with path.open("rb") as stream:
            return decode(stream.read(_LARGEST))
    except OSError as error:
        raise InputError(
            f"the log can't be read: {error.strerror or error}",
            hint="name a file, or - to paste it",
            place=Place(name),
            code="KV002",
        ) from None


def facts(text: str) -> Facts:
    """What a log says of its failure and of its deployment, redacted.

    Raises InputError where no line of it speaks of an error.
    """
    from kvgate.catalog.gpus import gpu
    from kvgate.diagnose.context import context
    from kvgate.diagnose.culprit import culprit
    from kvgate.diagnose.redact import redact
    from kvgate.records.versions import parse_version

    sample = culprit(text)
    if not sample:
        raise InputError(
            "no line of this log speaks of an error",
            hint="give the line that shows it: --sample '<the line>'",
        )
    said = context(text)
    card = version = ""
    try:
        card = gpu(said.gpu).name if said.gpu else ""
        version = str(parse_version(said.version)) if said.version else ""
    except InputError:
        pass  # a log may name what no catalogue has; then its author is asked
    return Facts(sample, said.engine, version, card, redact(said.line))


def known_as(text: str) -> tuple[str, ...]:
    """The records that explain a log already, best first."""
    from kvgate.diagnose import diagnose
    from kvgate.records.heads import known as records

    known = records()
    found = diagnose([text], known.signatures, known.texts, known.suspects).matches
    return tuple(match.id for match in found)


def fitting(words: Iterable[str], text: str) -> tuple[str, ...]:
    """The words of the vocabulary all of whose parts stand in a text."""
    folded = text.casefold()
    return tuple(w for w in words if all(part in folded for part in w.split("-")))
