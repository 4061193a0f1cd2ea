"""Running claims: each example of a page in order, its value compared with the one on the page."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from kvgate.claims.difference import difference
from kvgate.claims.document import Document, Example
from kvgate.claims.examples import read
from kvgate.claims.grammar import bound_names
from kvgate.claims.interpreter import NOTHING, Interpreter
from kvgate.claims.limits import Budget, Limits, Stop
from kvgate.claims.printing import show
from kvgate.claims.prompts import Prompt
from kvgate.claims.reason import reason
from kvgate.claims.report import Report, Result
from kvgate.errors import Diagnostic, InputError, Place

__all__ = ["evaluate", "run"]

_REFUSED = "InputError: "
_EXPRESSION = "<expression>"


def run(
    document: Document, namespace: Mapping[str, object], limits: Limits | None = None
) -> Report:
    """Run a page's examples in order, in one set of names, and compare each value with the page.

    ``namespace`` holds the functions and constants on offer (`default_namespace`); it is not
    changed. A value must equal the page's text; where that has several lines, white space counts as
    one space. An example whose expected output is ``InputError: message`` passes when a function
    refuses its input with just that message. Where the document is not `runnable`, nothing runs.

    Raises nothing for what stands on a page: all of it is in the report.
    """
    if not document.runnable:
        results = tuple(Result(example, "not-run", "", False) for example in document.examples)
        return Report(document, results, 0)
    budget = Budget(limits)
    page = _Page(Interpreter(namespace, budget), budget)
    results = tuple(page.result(example) for example in document.examples)
    return Report(document, results, budget.limits.page_steps - budget.left)


def evaluate(
    expression: str, namespace: Mapping[str, object], budget: Budget | None = None
) -> tuple[object, str]:
    """The value of one expression and the text that a page would show for it.

    For a claim whose inputs a reader changes. ``namespace`` may hold values that a page assigned
    besides functions. Raises InputError, at its line and column of ``<expression>``, for anything
    that a claim may not have, that cannot be computed or that exceeds ``budget``.

    >>> evaluate("2 * KiB", {"KiB": 1024})
    (2048, '2048')
    """
    budget = budget or Budget()
    lines = expression.strip().replace("\r\n", "\n").split("\n")
    prompt = Prompt(1, 1, "", "", lines, [1] * len(lines), 0, 0)
    example, problems = read(prompt, Place(_EXPRESSION), namespace.keys())
    if problems:
        first = problems[0]
        raise InputError(first.message, hint=first.hint, place=first.place)
    if example is None or not isinstance(example.statement, ast.Expr):
        raise InputError("this is no expression", place=Place(_EXPRESSION))
    budget.begin()
    try:
        value = Interpreter(namespace, budget).execute(example.statement)
        return value, _text(value, budget)
    except Stop as stop:
        place = example.place_of(stop.node) if stop.node else example.place
        raise InputError(stop.message, hint=stop.hint, place=place) from None


class _Page:
    """The run of one page: its interpreter, and the names that could not be computed."""

    def __init__(self, interpreter: Interpreter, budget: Budget) -> None:
        self._interpreter = interpreter
        self._budget = budget
        self._lost: dict[str, int] = {}

    def result(self, example: Example) -> Result:
        self._budget.begin()
        lost = self._first_lost(example)
        if lost:
            return self._error(example, lost)
        try:
            value = self._interpreter.execute(example.statement)
            shows = value is not NOTHING and value is not None
            got = _text(value, self._budget) if shows else None
        except Stop as stop:
            if stop.error and example.want.startswith(_REFUSED):
                return self._compared(example, _REFUSED + stop.error.message)
            return self._error(example, _stopped(example, stop))
        for name in _bound(example):
            self._lost.pop(name, None)
        return self._compared(example, got)

    def _compared(self, example: Example, got: str | None) -> Result:
        want = example.want
        if got is None and not want:
            return self._without_output(example)
        if got is None:
            what, hint = "None", "claim `... is None`, which gives True"
            if _bound(example):
                what, hint = "an assignment", "write the name at a prompt of its own"
            message = f"the page shows {want:.200}, but {what} shows nothing"
            problem = Diagnostic("KV330", example.place, message, hint)
            return Result(example, "failed", "", True, problem)
        if same(want, got):
            return Result(example, "passed", got, True)
        return Result(example, "failed", got, True, _moved(example, got))

    def _without_output(self, example: Example) -> Result:
        if not example.name:
            return Result(example, "passed", "", False)
        message = f"claim {example.name!r} yields None, which shows nothing to cite"
        hint = "claim `... is None`, which gives True"
        problem = Diagnostic("KV315", example.place, message, hint)
        return Result(example, "failed", "", False, problem)

    def _error(self, example: Example, problem: Diagnostic) -> Result:
        for name in _bound(example):
            self._lost.setdefault(name, example.line)
            self._interpreter.names.pop(name, None)
        return Result(example, "error", "", False, problem)

    def _first_lost(self, example: Example) -> Diagnostic | None:
        if not self._lost:
            return None
        for node in ast.walk(example.statement.value):
            if isinstance(node, ast.Name) and node.id in self._lost:
                line = self._lost[node.id]
                message = f"{node.id!r} has no value: line {line} could not be computed"
                return Diagnostic("KV334", example.place_of(node), message, "mend that line first")
        return None


def _text(value: object, budget: Budget) -> str:
    """The printed value. Raises Stop, and nothing else, where it has none."""
    try:
        return show(value, budget)
    except Stop:
        raise
    except RecursionError:
        raise Stop("KV332", "this value nests too deep to be printed") from None
    except Exception as error:  # a type of kvgate prints itself, and may fail at it
        raise Stop("KV331", reason(error)) from error


def same(want: str, got: str) -> bool:
    """Whether a value's text is the expected one; white space is one space where that has lines."""
    if "\n" in want:
        return want.split() == got.split()
    return want == got


def _bound(example: Example) -> list[str]:
    if isinstance(example.statement, ast.Assign):
        return [name for target in example.statement.targets for name in bound_names(target)]
    return []


def _stopped(example: Example, stop: Stop) -> Diagnostic:
    place = example.place_of(stop.node) if stop.node else example.place
    message, hint = stop.message, stop.hint
    if stop.error:
        message = f"{_REFUSED}{stop.error.message}"
        if example.want.startswith("Traceback"):
            hint = "to claim that this is refused, write the InputError: line alone as the output"
    return Diagnostic(stop.code, place, message, hint)


def _moved(example: Example, got: str) -> Diagnostic:
    what = f"claim {example.name!r}: " if example.name else ""
    if not example.want:
        message = f"{what}the page shows no output, and this gives {got:.200}"
        return Diagnostic("KV330", example.place, message, "write the output on the line below")
    message = f"{what}{difference(example.want, got)}"
    return Diagnostic("KV330", example.place, message, "kvgate claims --fix writes the new output")
