"""What an author gave, what a log told and what was answered, put together as a new record."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import Any

import click

from kvgate.catalog.gpus import gpu
from kvgate.cli.newfacts import Facts, fitting
from kvgate.cli.newprompt import Asking, Check, prompt
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

    def ask(self, severities: Sequence[str], asking: Asking, *, rule: bool) -> None:
        """Ask at the terminal for what is missing; an empty answer leaves out what may be.

        An answer that can't stand is asked for again at once, so that no later one is lost.
        ``rule`` says whether a rule can be written here.
        """
        given = self.given
        self._question("title", "What happens, in a sentence", check=asking.title)
        if not self.id:
            self.id = prompt("Its id, for ever", self._id() or None, asking.id, show=True)
        self._question("severity", "How bad", choice=click.Choice(severities))
        if not given["concepts"]:
            text = f"{given['title']} {given['sample']}"
            likely = ", ".join(fitting(self.words.concepts, text)[:3])
            answer = prompt("Concepts of concepts.toml, with commas", likely or None,
                            lambda said: self._known(_listed(said)), show=True)  # fmt: skip
            given["concepts"] = _listed(answer)
        self._question(
            "engine", "The engine, with the version it was seen on", check=asking.engine,
            optional=True,
        )  # fmt: skip
        self._question(
            "source", "The https address where it was reported", check=asking.source, optional=True
        )
        if rule and not given["hits"] and not given["rule"]:
            self._ask_for_trials(asking)

    def _ask_for_trials(self, asking: Asking) -> None:
        """Ask for a hit and for what parts a miss from it; without both there is no rule."""
        given = self.given

        hit = prompt(
            "A command line that is hit (a blank: no rule)", self.told.command,
            lambda run: asking.trial(self._trial(run)), show=True,
        )  # fmt: skip
        if not hit:
            return
        self._question("gpu", "The GPU it was seen on", check=asking.gpu, optional=True)
        struck = self._trial(hit)
        ends = {name: str(given[name] or "") for name in ("introduced", "fixed")}

        def parted(miss: Trial) -> None:
            asking.parted(struck, miss, **ends)

        miss = prompt("A command line that is not hit", "", lambda run: parted(self._trial(run)))
        key = "misses"
        if not miss:
            miss = prompt(
                "Or a GPU, or a version such as vllm==0.22.0, where the first is none "
                "(nothing: no rule)", "",
                lambda other: parted(self._trial(hit, **_where(other))),
            )  # fmt: skip
            key = "miss_engine" if "==" in miss else "miss_gpu"
        if miss:
            given["hits"], given[key] = (hit,), (miss,)

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
        self._known(given["concepts"])
        if given["gpu"]:
            gpu(given["gpu"])
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

    def _trial(self, run: str, *, on: str = "", engine: str = "", because: str = "") -> Trial:
        spec = str(self.given["engine"] or "")
        return Trial(
            run, on or self.given["gpu"] or "", engine or (spec if "==" in spec else ""), because
        )

    def _misses(self, hits: Sequence[Trial]) -> tuple[Trial, ...]:
        given = self.given
        asked = [{"run": run} for run in given["misses"]]
        if hits:
            asked += [{"run": hits[0].run, "on": card} for card in given["miss_gpu"]]
            asked += [{"run": hits[0].run, "engine": spec} for spec in given["miss_engine"]]
        reasons = [*given["because"], *[""] * len(asked)]
        return tuple(
            self._trial(**one, because=why) for one, why in zip(asked, reasons, strict=False)
        )

    def _id(self) -> str:
        words = slug(self.given["title"] or "").encode("ascii", "ignore").decode()
        words = re.sub(r"[^a-z0-9]+", "-", words).strip("-")
        return words if len(words) <= _LONGEST_ID else words[: _LONGEST_ID + 1].rpartition("-")[0]

    def _known(self, concepts: Sequence[str]) -> None:
        for word in concepts:
            if word not in self.words:
                hint = f"{nearest(word, self.words.concepts)}; {self.words.path} lists all"
                raise InputError(f"unknown concept {word!r}", hint=hint)

    def _question(
        self, name: str, text: str, *, choice: click.Choice[str] | None = None,
        check: Check | None = None, optional: bool = False,
    ) -> None:  # fmt: skip
        if self.given[name]:
            return
        default = "" if optional else None
        if choice is not None:
            self.given[name] = click.prompt(text, default, type=choice, show_default=False)
        else:
            self.given[name] = prompt(text, default, check)


def _listed(words: str) -> tuple[str, ...]:
    return tuple(words.replace(",", " ").split())


def _where(other: str) -> dict[str, str]:
    return {"engine": other} if "==" in other else {"on": other}
