"""Shell text into words, with where each stands. Nothing is ever run, read or looked up.

What a shell would expand stays a part of its word: variables for ``script`` to resolve from the
assignments in the same text, and everything else (command substitution, globs, arithmetic) as what
it is, unresolved.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from kvgate.deployment.expansion import Part, ansi_c, brace_expansion, variable, windows_path
from kvgate.errors import InputError, Place

__all__ = ["Heredoc", "RawWord", "Simple", "lex"]

_LONGEST = 2**20
_BLANK = " \t\r\f\v\x00\ufeff"
_PLAIN = re.compile(r"[^\s'\"\\$`;&|<>()#^%*?{}\x00\ufeff\u00a0]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=\Z")
_PERCENT = re.compile(r"%([A-Za-z_][A-Za-z0-9_]*)%")
_REDIRECT = re.compile(r"(?:\d*|&)(?:>>|>\||>&|<&|<>|>|<)(?:&?\d+\b|&-|-(?=\s|$))?")
_OPERATOR = re.compile(r"&&|\|\||\|&|;;|[;&|()\n]")
_CONTINUED = re.compile(r"[\^`][ \t]*\r?\n")
_DOUBLE_STOP = re.compile(r"[\"\\$`]")


@dataclass(frozen=True, slots=True)
class RawWord:
    """A word before its variables are filled in. ``array`` holds the elements of ``NAME=(…)``."""

    parts: tuple[Part, ...]
    place: Place
    array: tuple[RawWord, ...] | None = None

    @property
    def literal(self) -> str:
        """The text, where all of it stands there as it is; "" otherwise."""
        if any(part.kind != "text" for part in self.parts):
            return ""
        return "".join(part.text for part in self.parts)


@dataclass(frozen=True, slots=True)
class Heredoc:
    """The lines given to a command by ``<<EOF``."""

    text: str
    place: Place


@dataclass(slots=True)
class Simple:
    """One simple command: its words, the files it writes to, and what is given to it."""

    words: list[RawWord] = field(default_factory=list)
    targets: list[RawWord] = field(default_factory=list)
    heredocs: list[Heredoc] = field(default_factory=list)
    stray_backslash: list[Place] = field(default_factory=list)


def lex(text: str, origin: Place, *, block: bool = False, one: bool = False) -> tuple[Simple, ...]:
    """The simple commands of a shell text, in order.

    ``origin`` is where the text starts; ``block`` says that its first line is the one below
    (a YAML block scalar); ``one`` that line ends separate words only, as docker compose splits a
    command. Raises InputError for a quote, a parenthesis or a brace that never
    closes, and for a text of more than 1 MiB.
    """
    if len(text) > _LONGEST:
        raise InputError("this is too long for a command or a script (over 1 MiB)", place=origin)
    return _Lexer(text, origin, block, one).run()


class _Lexer:
    def __init__(self, text: str, origin: Place, block: bool, one: bool) -> None:
        self.text = text
        self.at = 0
        self.origin = origin
        self.below = 1 if block else 0
        self.one = one
        self.lines = [0, *(m.end() for m in re.finditer("\n", text))]
        self.commands: list[Simple] = []
        self.current = Simple()
        self.pending: list[tuple[str, bool, Simple]] = []

    def run(self) -> tuple[Simple, ...]:
        text, end = self.text, len(self.text)
        while self.at < end:
            char = text[self.at]
            if char in _BLANK or char == "\u00a0" or (char == "\n" and self.one):
                self.at += 1
            elif char == "\\" and self._continuation():
                pass
            elif char in "^`" and (m := _CONTINUED.match(text, self.at)):
                self.at = m.end()
            elif char == "#":
                self.at = self._line_end()
            elif char in "\n;&|()" and not text.startswith("&>", self.at):
                self._operator()
            elif text.startswith("<<", self.at) and not text.startswith("<<<", self.at):
                self._heredoc()
            elif text.startswith("<<<", self.at):
                self.at += 3
                self._skip_blank()
                self._word()
            elif (m := _REDIRECT.match(text, self.at)) and m.end() > self.at:
                self._redirect(m)
            else:
                word = self._word()
                if word is not None:
                    self.current.words.append(word)
        self._end_command()
        if self.pending:
            mark = self.pending[0][0]
            raise InputError(
                f"the text after <<{mark} never ends",
                hint=f"close it with a line {mark}",
                place=self.origin,
            )
        return tuple(self.commands)

    # -- where

    def place(self, at: int) -> Place:
        line = bisect_right(self.lines, at) - 1
        if line == 0 and not self.below:
            return Place(self.origin.path, self.origin.line, self.origin.column + at)
        column = at - self.lines[line] + 1
        if self.below:
            column += max(self.origin.column - 1, 0)
        return Place(self.origin.path, self.origin.line + line + self.below, column)

    def _line_end(self) -> int:
        end = self.text.find("\n", self.at)
        return len(self.text) if end < 0 else end

    def _skip_blank(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in _BLANK:
            self.at += 1

    # -- between words

    def _continuation(self) -> bool:
        """Step over a backslash at the end of a line; one with blanks behind it is noted."""
        text, at = self.text, self.at + 1
        while at < len(text) and text[at] in " \t\r":
            at += 1
        if at < len(text) and text[at] != "\n":
            return False
        if at == len(text) and at > self.at + 1 and text[at - 1] in " \t":
            return False
        if text[self.at + 1 : at].strip("\r"):
            self.current.stray_backslash.append(self.place(self.at))
        self.at = min(at + 1, len(text))
        return True

    def _operator(self) -> None:
        match = _OPERATOR.match(self.text, self.at)
        step = match.end() if match else self.at + 1
        newline = self.text[self.at] == "\n"
        self.at = step
        self._end_command()
        if newline and self.pending:
            self._heredoc_bodies()

    def _end_command(self) -> None:
        if self.current.words or self.current.targets:
            self.commands.append(self.current)
            self.current = Simple()

    def _redirect(self, match: re.Match[str]) -> None:
        self.at = match.end()
        if match.group()[-1] not in "<>|":
            return
        self._skip_blank()
        if self.at < len(self.text) and self.text[self.at] not in "\n;&|()":
            target = self._word()
            if target is not None and ">" in match.group():
                self.current.targets.append(target)

    def _heredoc(self) -> None:
        self.at += 2
        dash = self.text.startswith("-", self.at)
        self.at += dash
        self._skip_blank()
        word = self._word() if self.at < len(self.text) else None
        mark = "".join(part.text for part in word.parts) if word else ""
        if not mark:
            raise InputError("<< needs the word that ends its text", place=self.place(self.at - 1))
        self.pending.append((mark, dash, self.current))

    def _heredoc_bodies(self) -> None:
        for mark, dash, command in self.pending:
            start, at = self.at, self.at
            while True:
                if at >= len(self.text):
                    place = self.place(max(start - 1, 0))
                    raise InputError(
                        f"the text after <<{mark} never ends",
                        hint=f"close it with a line {mark}",
                        place=place,
                    )
                end = self.text.find("\n", at)
                end = len(self.text) if end < 0 else end
                line = self.text[at:end].rstrip("\r")
                if (line.lstrip("\t") if dash else line).strip() == mark:
                    break
                at = end + 1
            body = self.text[start:at]
            if dash:
                body = re.sub(r"(?m)^\t+", "", body)
            command.heredocs.append(Heredoc(body, self.place(start)))
            self.at = min(end + 1, len(self.text))
        self.pending = []

    # -- words

    def _word(self) -> RawWord | None:
        text, start = self.text, self.at
        parts: list[Part] = []
        brace = -1
        while self.at < len(text):
            char = text[self.at]
            if char in _BLANK or char in "\n;&|<>)\u00a0" or (char == "(" and not parts):
                break
            if m := _PLAIN.match(text, self.at):
                parts.append(Part("text", m.group()))
                self.at = m.end()
            elif char == "'":
                parts.append(Part("text", self._single(), quoted=True))
            elif char == '"':
                self._double(parts)
            elif char == "\\":
                if self.at + 1 < len(text) and text[self.at + 1] == "\n":
                    self.at += 2
                elif text.startswith("\r\n", self.at + 1):
                    self.at += 3
                elif parts and windows_path(parts[0].text, text[self.at + 1 : self.at + 2]):
                    parts.append(Part("text", "\\"))
                    self.at += 1
                else:
                    parts.append(Part("text", text[self.at + 1 : self.at + 2], quoted=True))
                    self.at += 2
            elif char in "$`%":
                self._expansion(parts, quoted=False)
            elif char == "(":
                if len(parts) == 1 and _ASSIGN.match(parts[0].text):
                    return RawWord(tuple(parts), self.place(start), self._array())
                break
            elif char in "*?":
                parts.append(Part("unresolved", char))
                self.at += 1
            else:
                brace = self.at if char == "{" and brace < 0 else brace
                parts.append(Part("text", char))
                self.at += 1
        if self.at == start:
            self.at += 1
            return None
        if brace >= 0 and (spread := brace_expansion(text[brace : self.at])):
            parts = [Part("unresolved", text[start : self.at] if spread else "")]
        return RawWord(tuple(parts), self.place(start))

    def _array(self) -> tuple[RawWord, ...]:
        opened = self.place(self.at)
        self.at += 1
        elements: list[RawWord] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == ")":
                self.at += 1
                return tuple(elements)
            if char in _BLANK or char == "\n":
                self.at += 1
            elif char == "#":
                self.at = self._line_end()
            elif char == "\\" and self._continuation():
                pass
            elif (word := self._word()) is not None:
                elements.append(word)
        raise InputError("this parenthesis never closes", place=opened)

    def _single(self) -> str:
        start = self.at
        end = self.text.find("'", start + 1)
        if end < 0:
            raise InputError(
                "this quote never closes",
                hint="is the command cut off, or a ' missing?",
                place=self.place(start),
            )
        self.at = end + 1
        return self.text[start + 1 : end]

    def _double(self, parts: list[Part]) -> None:
        text, start = self.text, self.at
        self.at += 1
        empty = True
        while True:
            m = _DOUBLE_STOP.search(text, self.at)
            if m is None:
                raise InputError(
                    "this quote never closes",
                    hint='is the command cut off, or a " missing?',
                    place=self.place(start),
                )
            if m.start() > self.at:
                parts.append(Part("text", text[self.at : m.start()], quoted=True))
                empty = False
            self.at = m.start()
            if m.group() == '"':
                self.at += 1
                break
            if m.group() == "\\":
                follow = text[self.at + 1 : self.at + 2]
                kept = follow if follow in tuple('"\\$`') else "\\" + follow
                if follow != "\n":
                    parts.append(Part("text", kept, quoted=True))
                    empty = False
                self.at += 2
            else:
                self._expansion(parts, quoted=True)
                empty = False
        if empty:
            parts.append(Part("text", "", quoted=True))

    def _expansion(self, parts: list[Part], *, quoted: bool) -> None:
        text, at = self.text, self.at
        if text[at] == "%":
            m = _PERCENT.match(text, at)
            if m and not quoted:
                parts.append(Part("variable", m.group(1), written=m.group()))
                self.at = m.end()
            else:
                parts.append(Part("text", "%", quoted))
                self.at += 1
        elif text[at] == "`":
            end = text.find("`", at + 1)
            if end < 0:
                raise InputError("this backtick never closes", place=self.place(at))
            parts.append(Part("unresolved", text[at : end + 1], quoted))
            self.at = end + 1
        elif text.startswith("$(", at):
            self.at = self._closing(at + 1, "(", ")")
            parts.append(Part("unresolved", text[at : self.at], quoted))
        elif text.startswith("${", at):
            self.at = self._closing(at + 1, "{", "}")
            parts.append(variable(text[at + 2 : self.at - 1], text[at : self.at], quoted))
        elif text.startswith("$'", at) and not quoted:
            self.at += 1
            parts.append(Part("text", ansi_c(self._single()), quoted=True))
        elif m := _NAME.match(text, at + 1):
            name, self.at = m.group(), m.end()
            if name == "env" and text.startswith(":", self.at):
                inner = _NAME.match(text, self.at + 1)
                if inner:
                    name, self.at = inner.group(), inner.end()
            parts.append(Part("variable", name, quoted, written=text[at : self.at]))
        elif text[at + 1 : at + 2] in tuple("0123456789@*#?$!-"):
            parts.append(Part("unresolved", text[at : at + 2], quoted))
            self.at += 2
        else:
            parts.append(Part("text", "$", quoted))
            self.at += 1

    def _closing(self, at: int, opening: str, closing: str) -> int:
        """The offset behind the bracket that closes the one at ``at``, quotes skipped."""
        text, depth, start = self.text, 0, at
        stop = re.compile(f"[{re.escape(opening + closing)}'\"\\\\]")
        while m := stop.search(text, at):
            at = m.end()
            if m.group() == opening:
                depth += 1
            elif m.group() == closing:
                depth -= 1
                if depth == 0:
                    return at
            elif m.group() == "\\":
                at += 1
            elif (end := text.find(m.group(), at)) >= 0:
                at = end + 1
        raise InputError(f"this {opening} never closes", place=self.place(start))
