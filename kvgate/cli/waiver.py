"""Waivers: findings that somebody accepted, each with a reason and a last day."""

from __future__ import annotations

import datetime
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kvgate.errors import Diagnostic, InputError, Place
from kvgate.rules.judge import Judged

__all__ = ["Waiver", "Waivers", "read_waivers"]

_KEYS = {"id", "reason", "until"}


@dataclass(frozen=True, slots=True)
class Waiver:
    """``id`` of a record or a code, accepted for ``reason`` up to and including ``until``."""

    id: str
    reason: str
    until: datetime.date
    place: Place


@dataclass
class Waivers:
    """The waivers of a file, and which of them were needed."""

    today: datetime.date
    waivers: tuple[Waiver, ...] = ()
    _used: set[str] = field(default_factory=set)

    def apply(self, found: tuple[Judged, ...]) -> tuple[Judged, ...]:
        """The findings that no waiver in force accepts."""
        accepted = {w.id for w in self.waivers if w.until >= self.today}
        self._used |= {f.id for f in found} & {w.id for w in self.waivers}
        return tuple(f for f in found if f.id not in accepted)

    def unused(self) -> tuple[Diagnostic, ...]:
        """A finding for each waiver that expired or that nothing needed."""
        found = []
        for waiver in self.waivers:
            if waiver.until < self.today:
                message = f"the waiver for {waiver.id} expired on {waiver.until}"
                found.append(Diagnostic("KV440", waiver.place, message, "renew or remove it"))
            elif waiver.id not in self._used:
                message = f"the waiver for {waiver.id} accepted nothing"
                found.append(Diagnostic("KV441", waiver.place, message, "remove it"))
        return tuple(found)


def read_waivers(path: str | None) -> Waivers:
    """The waivers of a TOML file with ``[[waiver]]`` tables of id, reason and until.

    Raises InputError for anything else in it: a mistyped waiver must not accept nothing silently.
    """
    # A waiver's last day is measured by this machine's day.
    today = datetime.datetime.now(tz=datetime.UTC).date()
    if path is None:
        return Waivers(today)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        data = tomllib.loads(text)
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}", place=Place(path), code="KV002"
        ) from None
    except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, too long or too deep
        raise InputError(f"is not TOML: {error}", place=Place(path), code="KV003") from None
    entries = data.get("waiver", [])
    lines = [n for n, line in enumerate(text.split("\n"), 1) if line.strip() == "[[waiver]]"]
    if set(data) - {"waiver"} or not isinstance(entries, list):
        raise InputError(
            "holds more than [[waiver]] tables", place=Place(path), code="KV003",
            hint='[[waiver]]\nid = "…"\nreason = "…"\nuntil = 2026-12-31',
        )  # fmt: skip
    places = [Place(path, lines[i] if i < len(lines) else 1) for i in range(len(entries))]
    return Waivers(today, tuple(_waiver(e, p) for e, p in zip(entries, places, strict=True)))


def _waiver(entry: Any, place: Place) -> Waiver:
    keys = set(entry) if isinstance(entry, dict) else set()
    until = entry.get("until") if isinstance(entry, dict) else None
    texts = [entry.get(k) for k in ("id", "reason")] if isinstance(entry, dict) else []
    good = keys == _KEYS and all(isinstance(t, str) and t.strip() for t in texts)
    if not good or type(until) is not datetime.date:
        raise InputError(
            "a waiver has an id, a reason and a last day", place=place, code="KV003",
            hint='id = "…", reason = "…", until = 2026-12-31',
        )  # fmt: skip
    return Waiver(entry["id"], entry["reason"], until, place)
