"""A new record: the text of a draft that lints, from what its author knows so far."""

from __future__ import annotations

import datetime
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from kvgate.diagnose.logtext import clean, strip_prefix
from kvgate.diagnose.signature import Signature
from kvgate.errors import InputError, Place
from kvgate.records import file, register, yaml
from kvgate.records.atomic import create_text
from kvgate.records.newrule import Trial
from kvgate.records.published import ADDRESS
from kvgate.records.record import read_record

__all__ = ["NewRecord", "create", "record_text", "refuse_used", "signature_of"]

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9 _./+()'-]*\Z")
# What differs from log to log, the longer kinds first: addresses and ids, numbers.
_VARIES = re.compile(
    r"(?P<word>\b0x[0-9a-fA-F]+\b|\b[0-9a-fA-F]{8,}\b|(?<![\w.])/[\w.-]+(?:/[\w.-]+)+)"
    r"|(?P<any><(?:token|address|url|host|path|user)>)"
    r"|(?<![\w.-])(?P<num>\d[\d,_]*\.\d+)(?!\w|\.\w)"
    r"|(?<![\w.-])(?P<int>\d+(?:[,_]\d+)*)(?!\w|\.\w)"
)


@dataclass(frozen=True, slots=True)
class NewRecord:
    """What is known of a gotcha when its record is begun.

    ``seen_on`` is the engine's version it was seen on, where the first one with it isn't known.
    ``sample`` is a line of somebody's log, ``signature`` the same with holes (made of the sample
    when it is left out), ``also`` other records that the line rightly points to. ``source`` is the
    https address where it was reported, ``at`` the version it speaks of, ``seen`` the day it was
    read. Texts of sections may use Markdown. ``rule`` goes with ``hits`` and ``misses``.
    """

    id: str
    title: str
    concepts: tuple[str, ...]
    severity: str
    seen: datetime.date
    engine: str = ""
    introduced: str = ""
    fixed: str = ""
    seen_on: str = ""
    sample: str = ""
    signature: str = ""
    also: tuple[str, ...] = ()
    source: str = ""
    says: str = ""
    at: str = ""
    symptom: str = ""
    cause: str = ""
    workaround: str = ""
    rule: str = ""
    hits: tuple[Trial, ...] = ()
    misses: tuple[Trial, ...] = ()


def record_text(new: NewRecord) -> str:
    """The Markdown of a draft record, which keeps to the schema.

    Raises InputError where a value doesn't: all of them are in the message.
    """
    try:
        text = f"---\n{_front_matter(new)}---\n\n{_body(new)}"
        text.encode("utf-8")
    except UnicodeEncodeError:
        # Bytes of a command line that the locale doesn't know arrive as half characters.
        hint = "write it in UTF-8, and run kvgate in a UTF-8 locale"
        raise InputError("a value holds bytes that are no text", hint=hint) from None
    found = read_record(text, f"{new.id}.md").found
    if found:
        faults = "; ".join(d.message for d in found)
        raise InputError(faults, hint=found[0].hint)
    return text


def create(folder: Path, new: NewRecord) -> Path:
    """Write a new record into a folder and its id into the folder's register.

    The record comes first: cut off between the two, a run leaves a record that lint finds without
    its line (KV139), and the same call again brings the line. Raises InputError where the id was
    ever used, where a value doesn't keep to the schema, or where the file can't be written; then
    nothing is written.
    """
    text = record_text(new)
    path = folder / f"{new.id}.md"
    refuse_used(folder, new.id)
    used = _used(path)
    there = file.read(path, folder) if os.path.lexists(path) else None
    if there is not None and there != text:
        used.hint = (
            f"choose another id; if a run was cut off here, add the line {new.id} to "
            f"{register.FILE} beside it, or remove the record and begin again"
        )
        raise used
    try:
        # Two authors at once can't overwrite each other.
        if there is None:
            create_text(path, text, newline="\n")
    except FileExistsError:
        raise used from None
    except OSError as error:
        why = error.strerror or str(error)
        hint = "" if folder.is_dir() else f"make the folder {folder.as_posix()} first"
        place = Place(path.as_posix())
        raise InputError(f"the record can't be written: {why}", hint=hint, place=place) from None
    try:
        mine = register.add_ids(folder / register.FILE, [new.id])
    except InputError:
        if there is None:
            path.unlink()
        raise
    if not mine:  # of several runs with one text, the id belongs to the one that registered it
        raise used
    return path


def refuse_used(folder: Path, record_id: str) -> None:
    """Raise InputError where the folder's register holds this id already."""
    if record_id in register.read_register(folder / register.FILE):
        raise _used(folder / f"{record_id}.md")


def _used(path: Path) -> InputError:
    return InputError(
        f"the id {path.stem!r} was used before",
        hint="an id belongs to one record for ever; choose another",
        place=Place(path.as_posix()),
    )


def signature_of(line: str) -> str:
    """A log line as a signature: without prefix and colours, with holes for numbers and paths.

    >>> signature_of("ERROR 11-30 12:00:01 [core.py:7] KV cache needs 3.5 GiB, 2 blocks left")
    'KV cache needs {num} GiB, {int} blocks left'
    """
    text = strip_prefix(clean(line))
    parts, at = [], 0
    for found in _VARIES.finditer(text):
        # What `redact` took out may have had blanks in it.
        hole = "*" if found.lastgroup == "any" else found.lastgroup
        parts += [_literal(text[at : found.start()]), f"{{{hole}}}"]
        at = found.end()
    made = "".join([*parts, _literal(text[at:])])
    # A hole that can't stand for what it was made of would leave a signature that never matches.
    return made if Signature(made).find(text) else _literal(text)


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _front_matter(new: NewRecord) -> str:
    lines = [
        # Editors with the YAML language server check the keys as they are typed.
        f"# yaml-language-server: $schema={ADDRESS}",
        "schema_version: 1",
        f"id: {_scalar(new.id)}",
        f"title: {_scalar(new.title)}",
        f"concepts: [{', '.join(map(_scalar, new.concepts))}]",
        f"severity: {_scalar(new.severity)}",
    ]
    if new.engine:
        lines += ["affects:", f"  - engine: {_scalar(new.engine)}"]
        lines += [f"    introduced: {json.dumps(new.introduced)}"] if new.introduced else []
        if new.seen_on and not new.introduced:
            lines += [f"    introduced: {json.dumps(new.seen_on)}  # seen there; was it older?"]
        lines += [f"    fixed: {json.dumps(new.fixed)}"] if new.fixed else []
    if new.sample:
        sample = clean(new.sample)
        lines += [
            "signatures:",
            f"  - text: {_quoted(new.signature or signature_of(sample))}",
            f"    sample: {_quoted(sample)}",
            *([f"    also: [{', '.join(new.also)}]"] if new.also else []),
        ]
    if new.rule:
        lines.append(f"rule: {_scalar(new.rule)}")
        for key, trials in (("hits", new.hits), ("misses", new.misses)):
            lines += [f"{key}:", *(line for trial in trials for line in _trial(trial))]
    if new.source:
        lines += [
            "sources:",
            "  - id: report",
            f"    url: {_scalar(new.source)}",
            f"    says: {_scalar(new.says or 'it was reported here')}",
            f"    at: {_scalar(new.at or 'no version given')}",
            f"    seen: {new.seen.isoformat()}",
        ]
    return "\n".join([*lines, "status: draft", ""])


def _trial(trial: Trial) -> list[str]:
    on = [f"gpu: {_scalar(trial.gpu)}"] if trial.gpu else []
    on += [f"engine: {_scalar(trial.engine)}"] if trial.engine else []
    lines = [f"  - run: {_scalar(trial.run)}"]
    lines += [f"    on: {{{', '.join(on)}}}"] if on else []
    return lines + ([f"    because: {_scalar(trial.because)}"] if trial.because else [])


def _body(new: NewRecord) -> str:
    symptom = new.symptom or "Say what somebody sees, and when."
    if new.source:
        symptom = f"{symptom.rstrip()}[^report]"
    sections = (
        ("Symptom", symptom),
        ("Root cause", new.cause or "Say why it happens, in the engine's own terms."),
        ("Workaround", new.workaround or "Say what to do, and for which versions."),
        ("Notes", f"Drafted on {new.seen.isoformat()}."),
    )
    return "\n\n".join(f"## {title}\n\n{text.strip()}" for title, text in sections) + "\n"


def _scalar(text: str) -> str:
    """A text as YAML that is read back as the same text, without quotes where it needs none."""
    if _PLAIN.match(text) and text == text.strip():
        node, found = yaml.parse(f"x: {text}", "")
        if not found and node is not None and node.value() == {"x": text}:
            return text
    return _quoted(text)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
