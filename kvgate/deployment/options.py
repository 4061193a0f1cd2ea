"""Words behind an engine's name into settings, as that engine's own parser would take them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kvgate.catalog.flags import Flag, FlagTable
from kvgate.deployment.model import Given
from kvgate.deployment.problems import problem
from kvgate.deployment.script import Word
from kvgate.deployment.style import Style
from kvgate.deployment.unknown import Unknown, unknown_flag, was_flag
from kvgate.deployment.values import read_choice, read_open, read_value
from kvgate.errors import Diagnostic, InputError, Place

__all__ = ["Options", "read_options"]

_MOST_UNKNOWN = 100
_NEGATIVE = re.compile(r"-\d+\Z|-\d*\.\d+\Z")
_REPO = re.compile(r"[\w.-]+/[\w.-]+\Z|/[\w./-]+\Z|\.{0,2}/")


@dataclass(frozen=True, slots=True)
class Options:
    """What the words set, the words that belong to no flag, and what was found.

    ``hidden`` holds words that may stand for any flags at all (``$EXTRA_ARGS``).
    """

    given: tuple[Given, ...]
    positionals: tuple[Word, ...]
    problems: tuple[Diagnostic, ...]
    hidden: tuple[str, ...]


def read_options(
    words: Sequence[Word], tables: Sequence[FlagTable], *, origin: str = "command line"
) -> Options:
    """Settings from words. ``tables`` are asked in order; the first is the engine's own.

    Raises InputError for more than 100 different flags that the engine doesn't have.
    """
    reader = _Reader(tuple(words), tuple(tables), origin, Style.of(tables[0].engine))
    return reader.read()


@dataclass(slots=True)
class _Reader:
    words: tuple[Word, ...]
    tables: tuple[FlagTable, ...]
    origin: str
    style: Style
    at: int = 0
    given: list[Given] = field(default_factory=list)
    positionals: list[Word] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    dotted: dict[str, tuple[Flag, str, Place, dict[str, Any]]] = field(default_factory=dict)
    last: dict[str, Given] = field(default_factory=dict)
    prefixes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unknown: dict[str, Unknown] = field(default_factory=dict)

    @property
    def engine(self) -> str:
        return self.tables[0].engine

    def read(self) -> Options:
        while self.at < len(self.words):
            word = self.words[self.at]
            self.at += 1
            if word.text == "--":
                self.positionals.extend(self.words[self.at :])
                break
            if self._is_flag(word):
                self._flag(word)
            elif word.unresolved and (self.positionals or not word.text.startswith("$")):
                self._hide(word)
            else:
                self.positionals.append(word)
        for flag, written, place, value in self.dotted.values():
            if flag.choices and self._complete(flag):
                self._problem("KV404", place, f"{written} takes one of its choices, no keys")
            self._add(flag, written, value, json.dumps(value), place)
        return Options(
            tuple(self.given), tuple(self.positionals), tuple(self.problems), tuple(self.hidden)
        )

    def _is_flag(self, word: Word) -> bool:
        text = word.text
        return bool(
            len(text) > 1
            and text[0] == "-"
            and not _NEGATIVE.match(text)
            and (" " not in text or text.startswith("--") or self._exact(text.split("=")[0]))
        )

    def _hide(self, word: Word) -> None:
        self.hidden.append(word.text)
        self._problem(
            "KV406",
            word.place,
            f"{word.text} was not expanded: any flag may stand behind it",
            "write what it holds, or set it in the same text",
        )

    # -- one flag

    def _flag(self, word: Word) -> None:
        name, equals, value = word.text.partition("=")
        if " " in name:
            self._two_in_one(word)
            return
        if self.style.dotted and "." in name.rstrip("."):
            self._dotted(name, value if equals else None, word)
            return
        flag, spelling, attached = self._find(name, word)
        if flag is None:
            if spelling:
                self._unknown(spelling, word, value if equals else None)
            return
        if attached is not None:
            value, equals = attached, "="
        if equals and not self.style.equals:
            self._problem(
                "KV409",
                word.place,
                f"{self.engine} takes no {name}=…",
                f"write {name} {value}",
            )
        unresolved = word.unresolved
        if flag.nargs == 0 and equals and self.style.equals:
            meant = flag.meant(spelling, value)
            hint = f"write {meant}" if meant else f"leave {spelling} away"
            self._problem("KV409", word.place, f"{spelling} takes no value", hint)
            spelling = meant or spelling
        texts, places_unresolved, missing = self._values(flag, value if equals else None, spelling)
        if missing:
            self._problem("KV409", word.place, f"{spelling} needs a value")
            return
        self._set(flag, spelling, texts, word.place, (*unresolved, *places_unresolved))

    def _two_in_one(self, word: Word) -> None:
        """A list item such as ``--max-model-len 4096``: the engine gets it as one word."""
        name, _, value = word.text.partition(" ")
        flag, spelling, _ = self._find(name, word)
        if flag is None or flag.nargs == 0:
            self.positionals.append(word)
            return
        self._problem(
            "KV416",
            word.place,
            f"{word.text!r} is one word: the engine knows no flag of that name",
            f"make two list items of it, or write {name}={value.strip()}",
        )
        self._set(flag, spelling, (value.strip(),), word.place, word.unresolved)

    def _set(
        self,
        flag: Flag,
        spelling: str,
        texts: tuple[str, ...],
        place: Place,
        unresolved: tuple[str, ...],
    ) -> None:
        raw = " ".join(texts)
        if unresolved and all(piece.startswith("{") for piece in unresolved):
            self._problem(
                "KV405",
                place,
                f"the shell takes the braces and quotes of this {spelling} apart",
                "put the whole JSON in single quotes",
            )
        elif unresolved:
            self._problem(
                "KV406",
                place,
                f"the value of {spelling} was not expanded: {', '.join(unresolved)[:120]}",
                "write the value, or set the variable in the same text",
            )
            self._keep(Given(spelling, flag.dest, None, raw, place, self.origin, unresolved=True))
            return
        if flag.nargs == 0:
            value: Any = spelling not in flag.negatives
        else:
            try:
                value = read_value(flag, texts, engine=self.engine)
            except InputError as error:
                if self._complete(flag):
                    self._problem("KV405", place, f"{spelling}: {error.message}", error.hint)
                value = raw
        if why := read_choice(flag, value):
            shown = ", ".join(map(str, value)) if isinstance(value, tuple) else value
            if self._complete(flag):
                self._problem("KV404", place, f"{spelling} does not take {shown!r}", why)
            else:
                self._problem("KV411", place, f"kvgate knows no {shown!r} for {spelling}", why)
        self._add(flag, spelling, value, raw, place)

    def _add(self, flag: Flag, spelling: str, value: Any, raw: str, place: Place) -> None:
        before = self.last.get(flag.dest)
        if before is not None and before.value != value and not before.unresolved:
            self._problem(
                "KV408",
                place,
                f"{spelling} overrides the {before.written} {before.text}".rstrip()
                + f" given at {before.place.line}:{before.place.column}",
                "the last one counts; take one of them away",
            )
        own = self.tables[0]
        if flag.deprecated and (own.complete or not own.note):
            why = "" if flag.deprecated == "deprecated" else f": {flag.deprecated}"
            self._problem("KV403", place, f"{spelling} is deprecated{why}")
        self._keep(Given(spelling, flag.dest, value, raw, place, self.origin))

    def _keep(self, given: Given) -> None:
        self.given.append(given)
        if given.dest:
            self.last[given.dest] = given

    def _complete(self, flag: Flag) -> bool:
        return self.tables[0].complete and self.tables[0].find(flag.name) is flag

    # -- names

    def _find(self, name: str, word: Word) -> tuple[Flag | None, str, str | None]:
        """The flag of a name, its full spelling, and a value attached without ``=`` (``-qawq``).

        No flag and a spelling mean that it is unknown; neither means that it was reported."""
        if self.style.dotted and name.startswith("-O") and not name.startswith("--"):
            flag = self._exact("--optimization-level") or self._exact("-O")
            if flag is not None:
                return flag, "-O", name[2:] or None
        plain = name.replace("_", "-") if self.style.underscores and name[:2] == "--" else name
        flag = self._exact(plain)
        if flag is not None:
            return flag, plain, None
        if self.style.abbreviations and (found := self._abbreviated(plain, word)) is not None:
            return (*found, None)
        if self.style.abbreviations and name[:2] != "--" and len(name) > 2:
            flag = self._exact(name[:2])
            if flag is not None and flag.nargs != 0:
                return flag, name[:2], name[2:]
        return None, name, None

    def _exact(self, name: str) -> Flag | None:
        return next((flag for table in self.tables if (flag := table.find(name))), None)

    def _abbreviated(self, prefix: str, word: Word) -> tuple[Flag | None, str] | None:
        # Abbreviations of the engine's own flags only: what a wrapper takes is not all known.
        names = self.prefixes.get(prefix)
        if names is None:
            names = self.prefixes[prefix] = self.tables[0].starting(prefix)
        flags = {id(f): f for n in names if (f := self._exact(n)) is not None}
        if not names:
            return None
        if len(names) > 1 and was_flag(self.engine, prefix):
            return None  # told as removed, which helps more than the several it now begins
        if len(flags) == 1 and len({n in next(iter(flags.values())).negatives for n in names}) == 1:
            return next(iter(flags.values())), names[0]
        shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
        self._problem(
            "KV412", word.place, f"{prefix} could be any of {shown}", "write the name in full"
        )
        self._skip_value()
        return None, ""

    # -- values

    def _values(
        self, flag: Flag, attached: str | None, spelling: str
    ) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
        """The texts behind a flag, what in them is unresolved, and whether one is missing."""
        if flag.nargs == 0:
            return (), (), False
        if attached is not None:
            return (attached,), (), False
        if flag.nargs in ("+", "*"):
            taken = []
            while self.at < len(self.words) and not self._is_flag(self.words[self.at]):
                taken.append(self.words[self.at])
                self.at += 1
            missing = not taken and flag.nargs == "+"
            unresolved = tuple(u for w in taken for u in w.unresolved)
            return tuple(w.text for w in taken), unresolved, missing
        following = self.words[self.at] if self.at < len(self.words) else None
        if flag.nargs == "?":
            wanted = following is not None and (
                following.text in flag.choices if flag.choices else not self._is_flag(following)
            )
            if following is None or not wanted:
                return (), (), False
        if following is None or (self._is_flag(following) and not self._may_be_value(following)):
            return (), (), True
        self.at += 1
        return (following.text,), following.unresolved, False

    def _may_be_value(self, word: Word) -> bool:
        return self.style.greedy and self._exact(word.text) is None

    def _skip_value(self) -> None:
        if self.at < len(self.words) and not self._is_flag(self.words[self.at]):
            self.at += 1

    # -- what isn't plain

    def _dotted(self, name: str, value: str | None, word: Word) -> None:
        """``--attention-config.backend X`` and ``-ac.backend=X``: keys of a JSON value."""
        appends = name.endswith("+")
        base, *keys = name.removesuffix("+").split(".")
        flag, spelling, _ = self._find(base, word)
        unresolved = word.unresolved
        if value is None:
            if self.at >= len(self.words):
                self._problem("KV409", word.place, f"{name} needs a value")
                return
            value, more = self.words[self.at].text, self.words[self.at].unresolved
            unresolved = (*unresolved, *more)
            self.at += 1
        if flag is None:
            if spelling:
                self._unknown(spelling, word, value)
            return
        if unresolved:
            self._set(flag, spelling, (value,), word.place, unresolved)
            return
        read: Any = value.split(",") if appends else _dotted_value(value)
        _, _, _, tree = self.dotted.setdefault(flag.dest, (flag, spelling, word.place, {}))
        for key in keys[:-1]:
            inner = tree.setdefault(key, {})
            if not isinstance(inner, dict):
                tree[key] = inner = {}
            tree = inner
        last = keys[-1]
        if appends and isinstance(tree.get(last), list):
            tree[last] += read
        else:
            if last in tree:
                self._problem("KV408", word.place, f"{name} is given twice; the last one counts")
            tree[last] = read

    def _unknown(self, name: str, word: Word, value: str | None) -> None:
        found = self.unknown.get(name)
        if found is None:
            found = self.unknown[name] = unknown_flag(name, self.tables, word.place)
            self.problems.append(found.problem)
        if len(self.unknown) > _MOST_UNKNOWN:
            raise InputError(
                f"more than {_MOST_UNKNOWN} of these flags are unknown to {self.engine}",
                hint="is this its command line?",
                place=word.place,
            )
        texts: tuple[str, ...] = () if value is None else (value,)
        unresolved = word.unresolved
        flag = found.flag
        if flag is not None and flag.nargs != 0 and value is None:
            texts, more, missing = self._values(flag, None, name)
            unresolved = (*unresolved, *more)
            texts = () if missing else texts
        elif flag is None and value is None and self.at < len(self.words):
            following = self.words[self.at]
            model = not self.positionals and _REPO.match(following.text)
            if not self._is_flag(following) and not model:
                texts, unresolved = (following.text,), (*unresolved, *following.unresolved)
                self.at += 1
        raw = " ".join(texts)
        read: Any = raw if texts else True
        if flag is not None and not unresolved:
            try:
                read = read_value(flag, texts, engine=self.engine) if flag.nargs != 0 else True
            except (InputError, IndexError):
                read = raw
        elif texts and not unresolved:
            try:
                read = read_open(raw)
            except InputError:
                read = raw
        dest = found.dest if not unresolved else ""
        self._keep(
            Given(name, dest, read, raw, word.place, self.origin, bool(unresolved), refused=True)
        )

    def _problem(self, code: str, place: Place, message: str, hint: str = "") -> None:
        self.problems.append(problem(code, place, message, hint))


def _dotted_value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return read_open(text, "_size")
    except InputError:
        return text
