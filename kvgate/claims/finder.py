"""Finding the claims of a page: its pycon fences, their examples, and what is wrong with them."""

from __future__ import annotations

import ast
import re
import warnings

from kvgate.claims.document import Document, Example
from kvgate.claims.examples import is_blank, read
from kvgate.claims.fences import Fence, fences
from kvgate.claims.grammar import bound_names
from kvgate.claims.prompts import prompts
from kvgate.errors import Diagnostic, Place

__all__ = ["MOST_EXAMPLES", "find"]

MOST_EXAMPLES = 5_000
"""Examples of one page."""

_PROMPT = re.compile(r" *>>> *\S")
_MEANT_TO_RUN = frozenset({"", "doctest", "ipython", "ipython3"})


def find(text: str, *, path: str, first_line: int = 1) -> Document:
    """The claims of a Markdown text.

    Examples stand in ``pycon`` fences and are read as doctest reads them: ``>>>`` and ``...``, then
    the expected output up to a blank line, the next prompt or the end of the fence. A trailing
    ``# claim: name`` on any line of an example names it (lower case letters, digits, dashes).
    ``path`` stands in the places; ``first_line`` is the page line of the text's first line.

    Nothing runs here. Every problem is in ``Document.problems``: bad syntax, constructs that claims
    don't have, output without prompt, names given twice and more, each with a code of `CODES`.
    """
    search = _Search(text, path, first_line - 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an odd escape in a string is a matter of taste
        for fence in fences(text):
            search.read(fence)
    problems = sorted(search.problems, key=lambda found: (found.place.line, found.place.column))
    return Document(path, tuple(search.examples), tuple(problems))


class _Search:
    """What one `find` has seen so far."""

    def __init__(self, text: str, path: str, lines_above: int) -> None:
        self.examples: list[Example] = []
        self.problems: list[Diagnostic] = []
        self._text = text
        self._path = path
        self._above = lines_above
        self._assigned: set[str] = set()
        self._lines_of_names: dict[str, int] = {}
        self._seen = 0

    def read(self, fence: Fence) -> None:
        """Take in one fence."""
        if not fence.closed:
            self._report(
                "KV313",
                self._place(fence.line, fence.indent + 1),
                "this fence is never closed, so all that follows is part of it",
                f"close it with a line of {fence.marker} at the same indentation",
            )
        if _language(fence) == "pycon":
            self._session(fence)
        else:
            self._other(fence)

    def _session(self, fence: Fence) -> None:
        found, faults = prompts(self._text, fence)
        for fault in faults:
            place = self._place(fault.line, fault.column)
            self._report(fault.code, place, fault.message, fault.hint)
        start = self._place(fence.line, fence.indent + 1)
        if all(is_blank(prompt) for prompt in found):
            message = "this pycon fence holds no example, so nothing in it is checked"
            self._report("KV312", start, message, "begin a line with >>> and a space")
        self._seen += len(found)
        if self._seen > MOST_EXAMPLES:
            message = f"a page may not have more than {MOST_EXAMPLES:,} examples"
            self._report("KV319", start, message, "split the page")
            return
        for prompt in found:
            place = self._place(prompt.line, prompt.column)
            example, problems = read(prompt, place, self._assigned)
            self.problems += problems
            if example:
                self._add(example)

    def _add(self, example: Example) -> None:
        for target in _targets(example):
            self._assigned.update(bound_names(target))
        first = self._lines_of_names.setdefault(example.name, example.line)
        if example.name and first != example.line:
            message = f"claim {example.name!r} stands on line {first} already"
            self._report("KV316", example.place, message, "give each claim a name of its own")
        self.examples.append(example)

    def _other(self, fence: Fence) -> None:
        """A fence in another language: the reader must not take prompts in it for checked ones."""
        language = _language(fence)
        if language not in _MEANT_TO_RUN and (language[:2] != "py" or language == "pytb"):
            return
        for line in fence.lines(self._text):
            if _PROMPT.match(line.text):
                column = fence.indent + len(line.text) - len(line.text.lstrip()) + 1
                what = f"a {language} fence" if language else "a fence without a language"
                message = f"this example does not run: it stands in {what}"
                place = self._place(line.line, column)
                self._report("KV314", place, message, "write pycon after the opening marker")
                return

    def _place(self, line: int, column: int) -> Place:
        return Place(self._path, line + self._above, column)

    def _report(self, code: str, place: Place, message: str, hint: str) -> None:
        self.problems.append(Diagnostic(code, place, message, hint))


def _targets(example: Example) -> list[ast.expr]:
    return example.statement.targets if isinstance(example.statement, ast.Assign) else []


def _language(fence: Fence) -> str:
    """The fence's language; in ``{#id .pycon}`` it is the first class."""
    if fence.info.startswith("{"):
        for word in fence.info.strip("{}").split():
            if word.startswith("."):
                return word[1:].lower()
    return fence.language
