"""The pieces of a shell word, and what a shell would make of some of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Part", "ansi_c", "brace_expansion", "variable", "windows_path"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ARGUMENT = re.compile(r"\d+(?=:?[-=])")  # a script's argument that has a default
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"")
_BRACES = re.compile(r"[{},]|\.\.")
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "0": "\0"}
_OPERATORS = (":-", ":=", ":?", ":+", "-", "=", "?", "+")


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a word.

    ``kind`` is "text", "variable" (its name in ``text``, what stands behind it in ``operator`` and
    ``operand``, all of it as it stands in ``written``), or "unresolved" (as it stands in ``text``).
    """

    kind: str
    text: str
    quoted: bool = False
    operator: str = ""
    operand: str = ""
    written: str = ""


def variable(inside: str, whole: str, quoted: bool) -> Part:
    """What stands between the braces of ``${…}``: a variable, or what kvgate doesn't work out."""
    m = _NAME.match(inside) or _ARGUMENT.match(inside)
    if not m:
        return Part("unresolved", whole, quoted)
    rest = inside[m.end() :]
    if not rest or rest in ("[@]", "[*]"):
        return Part("variable", m.group(), quoted, rest, "", whole)
    for operator in _OPERATORS:
        if rest.startswith(operator):
            return Part("variable", m.group(), quoted, operator, rest[len(operator) :], whole)
    return Part("unresolved", whole, quoted)


def windows_path(word: str, following: str) -> bool:
    """Whether the backslash after ``word`` is one of a path such as ``C:\\models``: a POSIX shell
    would eat it, but the person who wrote it runs another shell."""
    return bool(following[:1].isalnum() and re.match(r"(?:.*=)?(?:[A-Za-z]:|\.{1,2})\Z", word))


def brace_expansion(word: str) -> bool:
    """Whether a shell makes several words of this (``{a,b}``): unquoted JSON comes to grief so."""
    opened = several = False
    for match in _BRACES.finditer(_QUOTED.sub("", word)):
        sign = match.group()
        if sign == "{":
            opened, several = True, False
        elif sign == "}":
            if opened and several:
                return True
            opened = False
        else:
            several = True
    return False


def ansi_c(text: str) -> str:
    """The text of ``$'…'``."""
    return re.sub(r"\\(.)", lambda m: _ANSI.get(m.group(1), m.group()), text)
