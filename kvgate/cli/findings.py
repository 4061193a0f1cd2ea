"""Findings in each of the forms that `--format` names: text, json, sarif, github."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from kvgate import __version__
from kvgate.errors import Diagnostic
from kvgate.records.address import SITE

__all__ = ["FORMATS", "Format", "as_github", "as_json", "as_sarif", "as_text", "render"]

Format = Literal["text", "json", "sarif", "github"]
FORMATS: tuple[Format, ...] = ("text", "json", "sarif", "github")


def render(findings: Sequence[Diagnostic], form: Format) -> str:
    """All findings in one form; empty text for no findings as text."""
    match form:
        case "json":
            return as_json(findings)
        case "sarif":
            return as_sarif(findings)
        case "github":
            return as_github(findings)
        case _:
            return as_text(findings)


def as_text(findings: Iterable[Diagnostic]) -> str:
    """``path:line:col: KV123 message``, each with its hint on the next line."""
    return "\n".join(str(f) for f in findings)


def as_json(findings: Iterable[Diagnostic]) -> str:
    """A document with ``schema_version`` and one object a finding."""
    rows = [
        {
            "code": f.code,
            "path": f.place.path,
            "line": f.place.line,
            "column": f.place.column,
            "message": f.message,
            "hint": f.hint,
        }
        for f in findings
    ]
    return json.dumps({"schema_version": 1, "findings": rows}, ensure_ascii=False, indent=2)


def as_github(findings: Iterable[Diagnostic]) -> str:
    """Workflow commands that GitHub shows as annotations on the lines."""
    lines = []
    for f in findings:
        text = f"{f.message} {f'({f.hint})' if f.hint else ''}".strip()
        where = f"file={_property(f.place.path)},line={f.place.line},col={f.place.column}"
        lines.append(f"::error {where},title={f.code}::{_data(text)}")
    return "\n".join(lines)


def as_sarif(findings: Iterable[Diagnostic]) -> str:
    """A SARIF 2.1.0 log with one run."""
    found = list(findings)
    results: list[dict[str, Any]] = [
        {
            "ruleId": f.code,
            "level": "error",
            "message": {"text": _unlinked(f"{f.message}{f' Hint: {f.hint}' if f.hint else ''}")},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": _uri(f.place.path)},
                        "region": {"startLine": f.place.line, "startColumn": f.place.column},
                    }
                }
            ],
        }
        for f in found
    ]
    driver = {
        "name": "kvgate",
        "semanticVersion": __version__,
        "rules": [_rule(code) for code in sorted({f.code for f in found})],
    }
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(log, ensure_ascii=False, indent=2)


def _rule(name: str) -> dict[str, Any]:
    """A rule of SARIF: a code with its title and its page; a record's id stands for itself."""
    from kvgate.records.codes import codes

    code = codes().get(name)
    if code is None:
        return {"id": name, "helpUri": f"{SITE}gotchas/{name}/"}
    text = f"{code.title[:1].upper()}{code.title[1:]}."
    return {"id": name, "shortDescription": {"text": text}, "helpUri": code.page}


def _uri(path: str) -> str:
    """The path as a URI reference: a ``#``, a blank or a ``%`` of a name is none of the address."""
    # A pure path has no as_uri from Python 3.19 on, and warns from 3.14 on.
    pure = Path(path)
    if pure.is_absolute():
        return pure.as_uri()
    quoted = quote(pure.as_posix(), errors="surrogateescape")
    # A first part with a colon would be a scheme.
    return f"./{quoted}" if ":" in path.partition("/")[0] else quoted


def _unlinked(text: str) -> str:
    """The text without the links that SARIF's plain text has: ``[words](address)``."""
    return re.sub(r"\[(?=[^\]]*\]\()", r"\\[", text)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
