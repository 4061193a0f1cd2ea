"""What an author gave, what a log told and what was answered, put together as a new record."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import Any

import click

from kvgate.cli.newfacts import Facts, fitting
from kvgate.errors import InputError, nearest
from kvgate.records.new import NewRecord
from kvgate.records.newrule import Trial
from kvgate.records.slugs import slug
from kvgate.records.vocabulary import Vocabulary

__all__ = ["Draft"]

_LONGEST_ID = 60


class Draft:
    """A record in the making. What was given goes before what the log told."""

    def __init__(
        self, record_id: str, given: Mapping[str, Any], told: Facts, words: Vocabulary
    ) -> None:
        self.id = record_id
        self.given = dict(given)
        self.told = told
        self.words = words
        self.given["sample"] = given["sample"] or told.sample
        self.given["gpu"] = given["gpu"] or told.gpu
        self.given["engine"] = given["engine"] or told.spec or told.engine

    @property
    def theme(self) -> str:
        """The module that a new rule goes into: as given, else the first concept's name."""
        return str(self.given["theme"] or self.given["concepts"][0].replace("-", "_"))

    def ask(self, severities: Sequence[str]) -> None:
        """Ask at the terminal for what is missing; an empty answer leaves out what may be."""
        self._question("title", "What happens, in a sentence")
        if not self.id:
            self.id = click.prompt("Its id, for ever", self._id())
        self._question("severity", "How bad", choice=click.Choice(severities))
        if not self.given["concepts"]:
            text = f"{self.given['title']} {self.given['sample']}"
            likely = ", ".join(fitting(self.words.concepts, text)[:3])
            answer = click.prompt("Concepts of concepts.toml, with commas", likely or None)
            self.given["concepts"] = tuple(answer.replace(",", " ").split())
        self._question("engine", "The engine, with the version it was seen on", optional=True)
        self._question("source", "The https address where it was reported", optional=True)
        if self.given["hits"] or self.given["rule"]:
            return
        hit = click.prompt(
            "A command line that is hit (nothing: no rule)", self.told.command, show_default=True
        )
        if not hit.strip():
            return
        self.given["hits"] = (hit.strip(),)
        self._question("gpu", "The GPU it was seen on", optional=True)
        miss = click.prompt("A command line that is not hit", "", show_default=False).strip()
        if miss:
            self.given["misses"] = (miss,)
        else:
            other = click.prompt("Or a GPU or a version where this one isn't").strip()
            key = "miss_engine" if "==" in other else "miss_gpu"
            self.given[key] = (other,)

    def finished(self, today: datetime.date) -> NewRecord:
        """The record. Raises InputError that names everything that is missing or unknown."""
        given = self.given
        self.id = self.id or self._id()
        missing = [f"--{n}" for n in ("title", "severity") if not given[n]]
        missing += ["--concept"] if not given["concepts"] else []
        if missing:
            raise InputError(
                f"a new record needs {', '.join(missing)}",
                hint='kvgate new --title "What happens" --severity surprise --concept mla',
            )
        for word in given["concepts"]:
            if word not in self.words:
                hint = f"{nearest(word, self.words.concepts)}; {self.words.path} lists all"
                raise InputError(f"unknown concept {word!r}", hint=hint)
        engine, _, version = str(given["engine"] or "").partition("==")
        hits = tuple(self._trial(run) for run in given["hits"])
        misses = self._misses(hits)
        if misses and not hits:
            raise InputError("a miss without a hit", hint="give the command line that is: --hit")
        if given["rule"] and not hits:
            raise InputError("a rule without a hit", hint="give the command line it reports: --hit")
        if hits and not misses:
            raise InputError(
                "a rule needs a deployment that it leaves alone",
                hint="give --miss 'vllm serve …', --miss-gpu H100 or --miss-engine vllm==0.22.0",
            )
        rule = given["rule"] or re.sub(r"\W", "_", self.id)
        if hits and not (rule.isidentifier() and rule == rule.casefold()):
            raise InputError(
                f"{rule!r} is no name for a rule", hint="give one: --rule small_words_like_these"
            )
        texts = {n: given[n] for n in ("sample", "source", "says", "at", "introduced", "fixed")}
        return NewRecord(
            id=self.id,
            title=given["title"],
            concepts=tuple(given["concepts"]),
            severity=given["severity"],
            seen=today,
            engine=engine,
            seen_on=version if not given["introduced"] else "",
            rule=rule if hits else "",
            hits=hits,
            misses=misses,
            **{name: value for name, value in texts.items() if value},
        )

    def _trial(self, run: str, *, gpu: str = "", engine: str = "", because: str = "") -> Trial:
        spec = str(self.given["engine"] or "")
        return Trial(
            run, gpu or self.given["gpu"] or "", engine or (spec if "==" in spec else ""), because
        )

    def _misses(self, hits: Sequence[Trial]) -> tuple[Trial, ...]:
        given = self.given
        asked = [{"run": run} for run in given["misses"]]
        if hits:
            asked += [{"run": hits[0].run, "gpu": card} for card in given["miss_gpu"]]
            asked += [{"run": hits[0].run, "engine": spec} for spec in given["miss_engine"]]
        reasons = [*given["because"], *[""] * len(asked)]
        return tuple(
            self._trial(**one, because=why) for one, why in zip(asked, reasons, strict=False)
        )

    def _id(self) -> str:
        words = slug(self.given["title"] or "").encode("ascii", "ignore").decode()
        words = re.sub(r"[^a-z0-9]+", "-", words).strip("-")
        return words if len(words) <= _LONGEST_ID else words[: _LONGEST_ID + 1].rpartition("-")[0]

    def _question(
        self, name: str, text: str, *, choice: click.Choice[str] | None = None,
        optional: bool = False,
    ) -> None:  # fmt: skip
        if self.given[name]:
            return
        default = "" if optional else None
        self.given[name] = click.prompt(text, default, type=choice, show_default=False)
