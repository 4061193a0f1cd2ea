"""Questions at the terminal, whose answers are judged as they are given."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from kvgate.cli.newfiles import trial_plan
from kvgate.errors import InputError
from kvgate.records.new import NewRecord, record_text, refuse_used
from kvgate.records.newrule import Trial
from kvgate.rules.decisive import decisive

__all__ = ["Asking", "Check", "prompt"]

Check = Callable[[str], None]
"""Raises InputError where an answer can't stand."""


class Asking:
    """What an answer must be, for a record that is to stand in ``folder`` from ``today`` on.

    Every answer is put into a record that is otherwise sound, so that the schema judges it here as
    it judges the whole in the end.
    """

    def __init__(self, folder: Path, today: datetime.date) -> None:
        self._folder = folder
        self._today = today

    def title(self, text: str) -> None:
        """A title. Raises InputError."""
        self._stands(title=text)

    def id(self, text: str) -> None:
        """An id that was never used. Raises InputError."""
        self._stands(id=text)
        refuse_used(self._folder, text)

    def engine(self, text: str) -> None:
        """An engine, or one with its version. Raises InputError."""
        name, _, version = text.partition("==")
        self._stands(engine=name, seen_on=version)

    def source(self, text: str) -> None:
        """An https address. Raises InputError."""
        self._stands(source=text)

    def gpu(self, text: str) -> None:
        """A GPU of the catalogue. Raises InputError."""
        from kvgate.catalog.gpus import gpu

        gpu(text)

    def trial(self, trial: Trial) -> None:
        """A deployment that starts one engine. Raises InputError."""
        trial_plan(trial)

    def parted(self, hit: Trial, miss: Trial, *, introduced: str = "", fixed: str = "") -> None:
        """A deployment that something parts from the hit. Raises InputError."""
        decisive([trial_plan(hit)], [trial_plan(miss)], introduced=introduced, fixed=fixed)

    def _stands(self, **changed: Any) -> None:
        sound = {"id": "a-sound-id", "title": "Something happens, in a sentence"}
        record_text(
            NewRecord(concepts=("mla",), severity="surprise", seen=self._today, **sound | changed)
        )


def prompt(
    text: str, default: str | None, check: Check | None = None, *, show: bool = False
) -> str:
    """Ask until an answer stands; an empty one is the default, and a blank one is nothing."""

    def judged(said: str) -> str:
        answer = said.strip()
        if answer and check is not None:
            try:
                check(answer)
            except InputError as error:
                raise click.UsageError(
                    f"{error.message} ({error.hint})" if error.hint else error.message
                ) from None
        elif not answer and default is None:
            raise click.UsageError("it can't be left out")
        return answer

    said: str = click.prompt(text, default, value_proc=judged, show_default=show and bool(default))
    return said
