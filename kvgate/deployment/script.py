"""Shell text into commands whose variables are filled in from the text itself.

Assignments, exports, arrays and ``${NAME:-default}`` are followed where they stand outside of
branches and loops; what depends on a branch, the machine or another program stays unresolved.
Nothing is run.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from kvgate.deployment.expansion import Part
from kvgate.deployment.problems import problem
from kvgate.deployment.shell import Heredoc, RawWord, Simple, lex
from kvgate.errors import Diagnostic, InputError, Place

__all__ = ["Command", "Script", "Word", "read_script"]

_ASSIGN = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=")
_LONGEST_WORD = 1 << 20
_MOST_VARIABLES = 2000
_DECLARE = {"export", "declare", "typeset", "local", "readonly", "set", "setx"}
_OPEN = {"if", "for", "while", "until", "case", "select"}
_CLOSE = {"fi", "done", "esac"}
_SKIP = {"then", "else", "elif", "do", "{", "}", "!", "time", "function", "if", "while", "until"}


@dataclass(frozen=True, slots=True)
class Word:
    """One word as the engine would get it.

    ``unresolved`` holds the expansions that kvgate doesn't work out; they stand in ``text`` as they
    were written. ``block`` says that the text starts on the line below (a YAML block scalar).
    """

    text: str
    place: Place
    unresolved: tuple[str, ...] = ()
    block: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its words, the variables it starts with, and what is in its environment."""

    words: tuple[Word, ...]
    env: Mapping[str, Word]
    heredocs: tuple[Heredoc, ...] = ()


@dataclass(frozen=True, slots=True)
class Script:
    """The commands of a text in order, the files it writes with heredocs, what was found."""

    commands: tuple[Command, ...]
    files: Mapping[str, Heredoc]
    problems: tuple[Diagnostic, ...]
    used: frozenset[str] = frozenset()


def read_script(
    text: str,
    origin: Place,
    *,
    block: bool = False,
    one: bool = False,
    env: Mapping[str, Word] | None = None,
) -> Script:
    """The commands of a shell text.

    ``env`` is the environment it starts in (a container's, a Dockerfile's); ``block`` and ``one``
    are as for ``shell.lex``. Raises InputError for
    text that no shell would read, or that expands beyond bounds.
    """
    reader = _Reader(origin, env or {}, budget=2 * _LONGEST_WORD + len(text))
    return reader.read(lex(text, origin, block=block, one=one))


@dataclass(slots=True)
class _Variable:
    """A shell variable: its words (several for an array), or None where a branch may set it."""

    words: tuple[Word, ...] | None
    array: bool = False


@dataclass(slots=True)
class _Reader:
    origin: Place
    env: Mapping[str, Word]
    variables: dict[str, _Variable] = field(default_factory=dict)
    exported: dict[str, Word] = field(default_factory=dict)
    problems: list[Diagnostic] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    files: dict[str, Heredoc] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    depth: int = 0
    export_all: bool = False
    snapshot: dict[str, Word] | None = None
    changed: bool = False
    budget: int = 2 * _LONGEST_WORD

    def read(self, simples: tuple[Simple, ...]) -> Script:
        if len(self.env) > _MOST_VARIABLES:
            raise InputError("more environment variables than kvgate follows", place=self.origin)
        self.exported.update(self.env)
        self.variables.update({name: _Variable((word,)) for name, word in self.env.items()})
        for simple in simples:
            self._stray(simple)
            self._command(simple)
        return Script(
            tuple(self.commands),
            MappingProxyType(self.files),
            tuple(self.problems),
            frozenset(self.used),
        )

    def _stray(self, simple: Simple) -> None:
        for place in simple.stray_backslash:
            self.problems.append(
                problem(
                    "KV418",
                    place,
                    "a blank follows this backslash, so the shell ends the command here",
                    "take the blank away; kvgate reads on as if the line went on",
                )
            )

    def _command(self, simple: Simple) -> None:
        raw = list(simple.words)
        while raw and (reserved := raw[0].literal) in _SKIP | _CLOSE | _OPEN:
            self.depth = max(0, self.depth + (reserved in _OPEN) - (reserved in _CLOSE))
            raw.pop(0)
            if reserved in ("for", "case", "select", "function"):
                if raw and reserved == "for":
                    self.variables[raw[0].literal] = _Variable(None)
                raw = []
        prefix: dict[str, Word] = {}
        while raw and (m := _assignment(raw[0])):
            name, value = self._assign(raw.pop(0), m)
            if value is not None:
                prefix[name] = value
        for target in simple.targets:
            name = self._join(target).text
            if simple.heredocs and name:
                self.files[name] = simple.heredocs[-1]
        if not raw:
            for name, word in prefix.items():
                if self.export_all or name in self.exported:
                    self._export(name, word)
            return
        self._forget(prefix)
        if raw[0].literal in _DECLARE and self._declare(raw):
            return
        if self._powershell(raw):
            return
        words = tuple(word for item in raw for word in self._expand(item))
        if not words:
            return
        if words[0].text == "unset":
            for word in words[1:]:
                self.variables.pop(word.text, None)
                self.exported.pop(word.text, None)
        if words[0].text == "tee" and simple.heredocs:
            self.files.update({w.text: simple.heredocs[-1] for w in words[1:] if w.text[:1] != "-"})
        self.commands.append(Command(words, self._environment(prefix), tuple(simple.heredocs)))

    def _environment(self, prefix: Mapping[str, Word]) -> Mapping[str, Word]:
        """What is exported now, shared by the commands between two changes of it."""
        if self.snapshot is None or len(self.snapshot) != len(self.exported) or self.changed:
            self.snapshot, self.changed = dict(self.exported), False
        return MappingProxyType(ChainMap(dict(prefix), self.snapshot) if prefix else self.snapshot)

    def _export(self, name: str, word: Word) -> None:
        self.exported[name] = word
        self.changed = True
        if len(self.exported) > _MOST_VARIABLES:
            raise InputError("more environment variables than kvgate follows", place=word.place)

    def _declare(self, raw: list[RawWord]) -> bool:
        """``export A=1``, ``declare -x A``, and cmd.exe's ``set A=1``."""
        keyword = raw[0].literal
        if keyword == "set" and any(w.literal in ("-a", "-o", "allexport") for w in raw[1:]):
            self.export_all |= any(w.literal in ("-a", "allexport") for w in raw[1:])
            return True
        exports = keyword in ("export", "set", "setx") or any(w.literal == "-x" for w in raw[1:])
        for word in raw[1:]:
            name, value = word.literal, None
            if m := _assignment(word):
                name, value = self._assign(word, m)
            elif name in self.variables and (known := self.variables[name].words):
                value = known[0]
            if exports and value is not None:
                self._export(name, value)
        return True

    def _powershell(self, raw: list[RawWord]) -> bool:
        """``$env:NAME = "value"``."""
        first = raw[0].parts[0]
        if first.kind != "variable" or not first.written.startswith("$env:"):
            return False
        rest = [*raw[0].parts[1:], *(part for word in raw[1:] for part in word.parts)]
        if not rest or not rest[0].text.startswith("="):
            return False
        rest[0] = Part("text", rest[0].text[1:], rest[0].quoted)
        self._export(first.text, self._join(RawWord(tuple(rest), raw[0].place)))
        return True

    def _assign(self, raw: RawWord, m: re.Match[str]) -> tuple[str, Word | None]:
        name, adds = m.group(1), bool(m.group(2))
        before = self.variables.get(name)
        if raw.array is not None:
            words = tuple(word for item in raw.array for word in self._expand(item))
            if adds and before is not None:
                words = (before.words or ()) + words
            known = None if before is not None and before.words is None else words
            self.variables[name] = _Variable(None if self.depth else known, array=True)
            return name, None
        first = Part("text", raw.parts[0].text[m.end() :], raw.parts[0].quoted)
        value = self._join(RawWord((first, *raw.parts[1:]), raw.place))
        if adds and before is not None and before.words:
            old = before.words[0]
            text = old.text + value.text
            value = Word(text, raw.place, old.unresolved + value.unresolved)
        self._spend(len(value.text), raw.place)
        self.variables[name] = _Variable(None if self.depth else (value,))
        return name, value

    def _forget(self, prefix: Mapping[str, Word]) -> None:
        """Variables in front of a command are that command's alone."""
        for name in prefix:
            outer = self.exported.get(name)
            if outer is None:
                self.variables.pop(name, None)
            else:
                self.variables[name] = _Variable((outer,))

    # -- expansion

    def _expand(self, raw: RawWord) -> tuple[Word, ...]:
        """The words that one written word becomes: several for arrays and unquoted variables."""
        only = raw.parts[0] if len(raw.parts) == 1 else None
        if only is not None and only.kind == "variable":
            variable = self.variables.get(only.text)
            if variable is not None and variable.words is not None:
                self.used.add(only.text)
                if variable.array and only.operator in ("[@]", "[*]"):
                    self._spend(sum(len(w.text) + 64 for w in variable.words), raw.place)
                    return variable.words
                if not only.quoted and not only.operator:
                    return self._split(variable.words[0] if variable.words else None)
            elif not only.quoted and only.operator in (":-", "-", ":=", "=") and variable is None:
                return self._split(self._join(raw))
        if all(part.kind == "text" and not part.quoted and not part.text for part in raw.parts):
            return ()
        return (self._join(raw),)

    def _split(self, word: Word | None) -> tuple[Word, ...]:
        if word is None:
            return ()
        if word.unresolved:
            return (word,)
        self._spend(len(word.text), word.place)
        return tuple(Word(text, word.place) for text in word.text.split())

    def _join(self, raw: RawWord) -> Word:
        text, unresolved = [], []
        for part in raw.parts:
            if part.kind == "text":
                text.append(part.text)
            elif part.kind == "unresolved":
                text.append(part.text)
                unresolved.append(part.text)
            else:
                piece, missing = self._value(part, raw.place)
                text.append(piece)
                unresolved.extend(missing)
        joined = "".join(text)
        self._spend(len(joined), raw.place)
        return Word(joined, raw.place, tuple(unresolved))

    def _value(self, part: Part, place: Place) -> tuple[str, tuple[str, ...]]:
        self.used.add(part.text)
        variable = self.variables.get(part.text)
        written = part.written
        if variable is not None:
            if variable.words is None:
                return written, (written,)
            if part.operator in (":+", "+"):
                return part.operand, ()
            if variable.words:
                word = variable.words[0]
                if len(variable.words) > 1 and part.operator in ("[@]", "[*]"):
                    missing = tuple(m for w in variable.words for m in w.unresolved)
                    return " ".join(w.text for w in variable.words), missing
                return word.text, word.unresolved
            return "", ()
        if part.operator in (":-", "-", ":=", "="):
            if "$" in part.operand or "`" in part.operand:
                return written, (written,)
            self.problems.append(
                problem(
                    "KV415",
                    place,
                    f"{part.text} is not set here; its default {part.operand!r} is used",
                    "give the value in the text if it will be another one",
                )
            )
            return part.operand.strip("\"'"), ()
        return written, (written,)

    def _spend(self, length: int, place: Place) -> None:
        """Bound what variables that contain variables can grow to."""
        self.budget -= length
        if self.budget < 0 or length > _LONGEST_WORD:
            raise InputError("the variables of this script expand without bounds", place=place)


def _assignment(raw: RawWord) -> re.Match[str] | None:
    if not raw.parts or raw.parts[0].kind != "text" or raw.parts[0].quoted:
        return None
    return _ASSIGN.match(raw.parts[0].text)
