"""One example: a prompt read as Python, with its name, and all that is wrong with it."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Set

from kvgate.claims.document import Example, character, located
from kvgate.claims.grammar import Refusal, refusals
from kvgate.claims.limits import Limits
from kvgate.claims.nesting import nests_too_deep
from kvgate.claims.prompts import Prompt
from kvgate.errors import Diagnostic, Place

__all__ = ["LONGEST_EXAMPLE", "is_blank", "read"]

LONGEST_EXAMPLE = 10_000
"""Characters of source in one example."""

_LIMITS = Limits()
_NAMED = re.compile(r"#\s*claims?\s*:\s*(.*)", re.IGNORECASE)
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
# Control characters, lone surrogates, and marks that show text in another order than it runs in.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_UNFINISHED = re.compile(r"never closed|EOF|unterminated")


def is_blank(prompt: Prompt) -> bool:
    """Whether there is no code at a prompt, a comment at most."""
    return all(not line.strip() or line.lstrip().startswith("#") for line in prompt.source)


def read(
    prompt: Prompt, place: Place, assigned: Set[str]
) -> tuple[Example | None, list[Diagnostic]]:
    """The example at a prompt, None where it is no expression or assignment, and its problems.

    ``place`` is the prompt's on the page; ``assigned`` are the names which the page has given
    values above.
    """
    source = "\n".join(prompt.source).rstrip()
    margins = tuple(prompt.margins)
    if is_blank(prompt):
        return None, _blank(prompt, place)
    if len(source) > LONGEST_EXAMPLE:
        most = f"{LONGEST_EXAMPLE:,}"
        return None, [Diagnostic("KV319", place, f"an example may not exceed {most} characters")]
    parsed = _parse(source, place, margins, shows_output=bool(prompt.want))
    if isinstance(parsed, Diagnostic):
        return None, [parsed]
    statement = parsed[0]
    found = refusals(statement, assigned, _LIMITS)
    for extra in parsed[1:]:
        hint = "give it a prompt of its own"
        found.append(Refusal(extra, "KV320", "an example is one statement", hint))
    problems = [_at(refusal, source, place, margins) for refusal in found]
    name, more = _name(source, statement, place, margins)
    problems += more
    if not isinstance(statement, (ast.Expr, ast.Assign)):
        return None, problems
    example = Example(
        name=name,
        source=source,
        want="\n".join(prompt.want),
        place=place,
        statement=statement,
        margins=margins,
        want_start=prompt.want_start,
        want_end=prompt.want_end,
        prefix=prompt.prefix,
    )
    return example, problems


def _blank(prompt: Prompt, place: Place) -> list[Diagnostic]:
    if any(_NAMED.search(line) for line in prompt.source):
        message = "this comment names nothing: there is no code at its prompt"
        return [Diagnostic("KV315", place, message, "write it behind the expression it names")]
    if prompt.want:
        message = "this prompt holds no code, so nothing checks the output below it"
        return [Diagnostic("KV311", place, message, "write the expression that gives the output")]
    return []


def _parse(
    source: str, place: Place, margins: tuple[int, ...], *, shows_output: bool
) -> list[ast.stmt] | Diagnostic:
    """The statements of an example (one at least), or what is wrong with its syntax."""
    unseen = _UNSEEN.search(source)
    if unseen:
        line = source.count("\n", 0, unseen.start()) + 1
        column = unseen.start() - (source.rfind("\n", 0, unseen.start()) + 1)
        return Diagnostic(
            "KV310",
            located(place, margins, line, column),
            f"there is an invisible character here, U+{ord(unseen[0]):04X}",
            "take it out; in a string write it as an escape",
        )
    if nests_too_deep(source):
        return Diagnostic("KV322", place, "this is nested too deeply")
    try:
        body = ast.parse(source).body
    except SyntaxError as error:
        message = f"not Python: {error.msg}"
        line, column = error.lineno or 1, (error.offset or 1) - 1
        hint = ""
        if len(margins) == 1 and shows_output and _UNFINISHED.search(error.msg):
            hint = "a line that continues the one above begins with ..."
        return Diagnostic("KV310", located(place, margins, line, column), message, hint)
    except (RecursionError, MemoryError):
        return Diagnostic("KV322", place, "this is nested too deeply")
    except ValueError as error:
        return Diagnostic("KV310", place, f"not Python: {error}")
    return body or Diagnostic("KV310", place, "not Python: there is no code here")


def _name(
    source: str, statement: ast.stmt, place: Place, margins: tuple[int, ...]
) -> tuple[str, list[Diagnostic]]:
    """The name in an example's comments, empty where there is none, and what is wrong with it."""
    names = _name_comments(source, statement)
    if not names:
        return "", []
    line, column, name = names[0]
    here = located(place, margins, line, column)
    if len(names) > 1:
        second = located(place, margins, names[1][0], names[1][1])
        return "", [Diagnostic("KV317", second, "an example has one name", "take one of them out")]
    if not _NAME.fullmatch(name):
        message = f"{name!r} is no name of a claim" if name else "the name of this claim is missing"
        hint = "lower case letters, digits and dashes, such as # claim: bytes-per-token"
        return "", [Diagnostic("KV317", here, message, hint)]
    if isinstance(statement, ast.Assign):
        message = f"claim {name!r} names an assignment, which yields nothing to cite"
        return name, [
            Diagnostic("KV315", here, message, "name the expression that shows the value")
        ]
    return name, []


def _name_comments(source: str, statement: ast.stmt) -> list[tuple[int, int, str]]:
    """The comments that name a claim: 1-based line, 0-based character, name."""
    if not _NAMED.search(source):
        return []
    lines = source.split("\n")
    if len(lines) == statement.end_lineno:
        tail = character(source, len(lines), statement.end_col_offset or 0)
        only = _NAMED.search(lines[-1], tail)
        if only and len(_NAMED.findall(source)) == 1:
            return [(len(lines), only.start(), only[1].strip())]  # behind the code: a comment
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError):
        return []
    return [
        (token.start[0], token.start[1] + match.start(), match[1].strip())
        for token in tokens
        if token.type == tokenize.COMMENT and (match := _NAMED.search(token.string))
    ]


def _at(refusal: Refusal, source: str, place: Place, margins: tuple[int, ...]) -> Diagnostic:
    node = refusal.node
    line, offset = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    start = located(place, margins, line, character(source, line, offset))
    end_line, end_offset = getattr(node, "end_lineno", None), getattr(node, "end_col_offset", None)
    end_column = 0
    if end_line == line and end_offset is not None:
        end_column = located(place, margins, line, character(source, line, end_offset)).column
    return Diagnostic(refusal.code, start, refusal.message, refusal.hint, end_column)
