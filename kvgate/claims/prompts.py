"""Interactive sessions: the prompts of one fence with the output below each, as doctest reads them.

``>>>`` starts an example and ``...`` lines right below continue it. Its output runs to the next
blank line, the next prompt or the end of the fence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from kvgate.claims.fences import Fence

__all__ = ["Fault", "Prompt", "prompts"]

_RAW = re.compile(r"[^\r\n]*")
_SOURCE, _WANT, _DONE = "source", "want", "done"


@dataclass(slots=True)
class Prompt:
    """One prompt with its continuation lines and its output.

    ``line`` counts from the first line of the text, ``column`` is that of the ``>>>``, ``margins``
    are the 1-based columns at which the code of each source line starts. ``want_start`` and
    ``want_end`` enclose the lines of output in the text, both after the source where there is none.
    """

    line: int
    column: int
    indent: str
    prefix: str
    source: list[str]
    margins: list[int]
    want_start: int
    want_end: int
    want: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Fault:
    """What is malformed: a code of this floor, the line and column, and the words for it."""

    code: str
    line: int
    column: int
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a fence: its code without the fence's indentation, and where it stands."""

    number: int
    code: str
    code_start: int
    start: int
    end: int

    @property
    def content(self) -> str:
        return self.code.lstrip(" ")

    @property
    def indent(self) -> str:
        return self.code[: len(self.code) - len(self.content)]

    @property
    def column(self) -> int:
        """The 1-based column of the first character that is not indentation."""
        return self.code_start - self.start + len(self.indent) + 1

    def fault(self, code: str, message: str, hint: str) -> Fault:
        return Fault(code, self.number, self.column, message, hint)


def prompts(text: str, fence: Fence) -> tuple[list[Prompt], list[Fault]]:
    """The prompts of a fence in order, and what is malformed in it."""
    found: list[Prompt] = []
    faults: list[Fault] = []
    state, stray = _DONE, False
    for line in _lines(text, fence):
        content = line.content
        if content.startswith(">>>"):
            state, stray = _SOURCE, False
            faults += _spaceless(line)
            found.append(_prompt(text, line))
        elif state == _SOURCE and content.startswith("..."):
            faults += _misaligned(line, found[-1].indent, "continuation line") or _spaceless(line)
            found[-1].source.append(_source(content))
            found[-1].margins.append(line.column + _mark(content))
            found[-1].want_start = found[-1].want_end = line.end
        elif not content.strip():
            state = _DONE
        elif state == _DONE:
            faults += [] if stray else [_stray(line)]
            stray = True
        else:
            faults += _misaligned(line, found[-1].indent, "output")
            if state == _SOURCE:
                found[-1].want_start = line.start
            state = _WANT
            found[-1].want.append(line.code.removeprefix(found[-1].indent).rstrip())
            found[-1].want_end = line.end
    return found, faults


def _lines(text: str, fence: Fence) -> Iterator[_Line]:
    at = fence.body_start
    for line in fence.lines(text):
        raw = _RAW.match(text, at)
        end = raw.end() if raw else at
        yield _Line(line.line, line.text, line.start, at, end)
        at = end + (2 if text.startswith("\r\n", end) else 1)


def _prompt(text: str, line: _Line) -> Prompt:
    content = line.content
    shown = text.find(">>>", line.code_start)
    return Prompt(
        line=line.number,
        column=line.column,
        indent=line.indent,
        prefix=text[line.start : shown],
        source=[_source(content)],
        margins=[line.column + _mark(content)],
        want_start=line.end,
        want_end=line.end,
    )


def _mark(content: str) -> int:
    """The width of a prompt: three characters and the space after them."""
    return 4 if content[3:4] in ("", " ") else 3


def _source(content: str) -> str:
    return content[_mark(content) :]


def _spaceless(line: _Line) -> list[Fault]:
    mark = line.content[:3]
    if _mark(line.content) == 4:
        return []
    hint = f"write {mark}, a space, then the code"
    return [line.fault("KV318", f"the prompt {mark} is not followed by a space", hint)]


def _misaligned(line: _Line, indent: str, what: str) -> list[Fault]:
    right = line.code.startswith(indent) if what == "output" else line.indent == indent
    if right:
        return []
    hint = "begin it in the column of the >>> above"
    return [line.fault("KV318", f"this {what} is not indented like its prompt", hint)]


def _stray(line: _Line) -> Fault:
    if line.content.startswith("..."):
        hint = "a continuation line follows its >>> line directly"
    else:
        hint = "write the >>> line that gives it right above, or move it out of the fence"
    return line.fault("KV311", "this output has no prompt above it, so nothing checks it", hint)
