"""Signatures for the box that a log is pasted into: each as an expression that a browser runs."""

from __future__ import annotations

import re
from typing import Any

from kvgate.diagnose.signature import HOLES, Signature
from kvgate.errors import InputError
from kvgate.site.addresses import Addresses
from kvgate.site.book import GONE, Book
from kvgate.site.record_page import path_of

__all__ = ["browser_segments", "signed"]

_SPECIAL = re.compile(r"[\\^$.*+?()\[\]{}|/]")


def signed(book: Book, addresses: Addresses) -> dict[str, Any]:
    """Every record that stands, with its signatures: where its page is, and how to find them."""
    records = []
    for record in book.records:
        if record.front.status in GONE:
            continue
        signatures = []
        for signature in record.front.signatures:
            try:
                segments = browser_segments(signature.text)
            except InputError:  # the linter says so
                continue
            weight = Signature(signature.text).weight
            signatures.append({"text": signature.text, "segments": segments, "weight": weight})
        records.append({
            "id": record.id,
            "title": record.title,
            "path": addresses.of(path_of(record.id)),
            "severity": record.front.severity,
            "signatures": signatures,
        })  # fmt: skip
    return {"records": records}


def browser_segments(text: str) -> list[str]:
    """A signature as JavaScript regular expressions, one for each run of parts between ``{*}``.

    In text with folded blanks each is looked for from where the one before it ended, so that the
    time stays linear as it does in `kvgate.diagnose`. Lines that were cut are for that. Raises
    InputError for a hole of an unknown kind.

    >>> browser_segments("a {int} b (of {*})")
    ['a (?=([0-9](?:[0-9,_]{0,30}[0-9])? b \\\\(of ))\\\\1', '\\\\)']
    """
    segments: list[list[tuple[str, str]]] = [[]]
    for part in Signature(text).parts:
        if part[0] == "*":
            segments.append([])
        else:
            segments[-1].append(part)
    return [_expression(parts) for parts in segments if parts]


def _expression(parts: list[tuple[str, str]]) -> str:
    """A hole with the text behind it is one atom: JavaScript has none, but it can look ahead."""
    written, atoms = "", 0
    for number, (kind, literal) in enumerate(parts):
        after = parts[number + 1][1] if number + 1 < len(parts) else None
        if kind == "text":
            if number == 0 or parts[number - 1][0] == "text":
                written += _SPECIAL.sub(r"\\\g<0>", literal)
        elif after is None:
            # Nothing ends a last word but a blank, so it is the whole word.
            written += HOLES[kind].removesuffix("?") if kind == "word" else HOLES[kind]
        else:
            atoms += 1
            quoted = _SPECIAL.sub(r"\\\g<0>", after)
            written += f"(?=({HOLES[kind]}{quoted}))\\{atoms}"
    return written
